"use strict";
const $ = (id) => document.getElementById(id);
function complain(text) { $("error").textContent = text; $("error").hidden = false; }
$("sign").addEventListener("submit", async (event) => {
  event.preventDefault();
  const body = JSON.stringify({ name: $("name").value, password: $("password").value });
  try {
    const answer = await fetch("/api/sign_in", { method: "POST", headers: { "Content-Type": "application/json" }, body });
    if (answer.ok) { location.reload(); return; }
    complain((await answer.json()).error);
  } catch { complain("伺服器停了。 The server has stopped."); }
  $("password").select();
});
document.body.dataset.ready = "1";
