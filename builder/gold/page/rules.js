"use strict";
// Rules, their examples, and what an edited one changes. Texts are hostile input: nodes are made with textContent only.
const PAUSE = 400, LOOK = 200; // milliseconds: after the last key until the examples run; between two looks at the progress
const KINDS = { changed: "變 changed", lost: "少 lost", added: "多 added" };
const TEMPLATE = `[my-rule]
kind = "refuse"
order = 440
about = "Opinions that judge nothing in these reviews."
patterns = ["CURRENT&WEAK"]
words = { WEAK = ["還行"] }
miss = ["餐點還行 → 餐點|還行|POS"]
`;
let rules = [], name = "", saved = "", isMine = false, shown = null, latest = 0, timer = 0;

async function ask(path, body) { // the answer, or null where the rule cannot be used: then the fault is shown
  const answer = await call(path, body);
  fault(answer.fault || "", answer.line);
  return answer.fault ? null : answer;
}
function fault(message, line) {
  $("fault").hidden = !message; $("fault").textContent = message;
  $("text").setAttribute("aria-invalid", String(Boolean(message)));
  $("examples").classList.toggle("old", Boolean(message)); $("well").hidden = Boolean(message);
  $("save").disabled = $("compare").disabled = Boolean(message);
  if (message && line) { // where to look, without taking the caret away
    const box = $("text"), height = parseFloat(getComputedStyle(box).lineHeight);
    const top = (line - 1) * height; if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 2 * height) box.scrollTop = Math.max(0, top - 3 * height);
  }
}
function drawList() {
  const wanted = $("filter").value.trim().toLowerCase();
  const matching = rules.filter((rule) => !wanted || `${rule.name} ${rule.kind} ${rule.about}`.toLowerCase().includes(wanted));
  $("list").replaceChildren(...matching.map((rule) => {
    const item = document.createElement("li"), button = element("button", rule.name, rule.counts ? "" : "away");
    if (rule.name === name) item.setAttribute("aria-current", "true");
    button.type = "button"; button.title = rule.about;
    if (rule.edited) button.append(" ", element("span", "● 我的 mine", "mine"));
    button.append(element("small", rule.kind + (rule.off ? " · 關掉了 switched off" : rule.counts ? "" : " · 不在此慣例 not in force")));
    button.addEventListener("click", () => attempt(() => open(rule.name)));
    item.append(button); return item;
  }));
}
async function load() { $("list").replaceChildren(element("li", "讀取規則 reading the rules …", "en")); ({ rules } = await call("/api/list_rules", {}).then((answer) => { if (answer.fault) throw new Error(answer.fault); return answer; })); drawList(); }
function put(text, origin) {
  $("text").value = saved = text; $("text").rows = Math.min(26, text.split("\n").length + 1); $("about").textContent = ""; $("name").textContent = visible(name || "新規則 new rule"); $("origin").textContent = visible(origin);
  $("none").hidden = true; $("gone").textContent = ""; $("rule").hidden = false; $("changes").hidden = true; $("status").textContent = "";
  $("text").scrollTop = 0; $("drop").hidden = !isMine; mark(); drawList();
}
async function open(wanted) {
  if (isChanged() && !confirm("改過的還沒存，要丟掉嗎？ Leave without saving?")) return;
  const rule = await ask("/api/open_rule", { name: wanted });
  if (!rule) return;
  name = rule.name; isMine = rule.edited;
  put(rule.text, `${rule.kind} · ${rule.edited ? "我的 mine, in the working directory" : rule.origin}`); examples(rule); classes(rule);
  if (innerWidth < 704) $("rule").scrollIntoView();
}
const isChanged = () => !$("rule").hidden && $("text").value !== saved;
function mark() {
  $("undo").disabled = !isChanged();
  $("off").textContent = /^enabled = false$/m.test($("text").value) ? "打開 switch on" : "關掉 switch off";
}
function pair(text, name) { const [aspect, opinion, polarity] = Array.isArray(text) ? text : text.split("|"); return element("span", `${aspect} ${opinion} ${polarity}`, `pair ${polarity}${name ? " " + name : ""}`); }
function listed(pairs) { const out = []; pairs.forEach((node, at) => out.push(...(at ? ["、", node] : [node]))); return out; }
function examples(answer) {
  $("about").textContent = visible(answer.about);
  const wrong = answer.examples.filter((example) => !example.well).length;
  $("well").textContent = answer.examples.length ? (wrong ? `${wrong} / ${answer.examples.length} 不對 do not hold` : `${answer.examples.length} 都對 all hold`) : "沒有 none";
  $("examples").replaceChildren(...answer.examples.map((example) => {
    const item = element("li", "", example.well ? "well" : "wrong"), due = element("p", ""), made = element("p", "");
    due.append(element("small", `${example.well ? "✓" : "✗"} ${example.must ? "要有 must find" : "不要有 must not find"} `), ...(example.due.length ? listed(example.due.map((text) => pair(text))) : ["什麼都不要 anything"]));
    made.append(element("small", "現在 now "), ...(example.made.length ? listed(example.made.map((text, at) => { const node = pair(text); node.title = example.by[at] || ""; return node; })) : ["—"]));
    const text = element("p", example.text); text.lang = "zh"; item.append(text, due, made); return item;
  }));
}
function classes(answer) {
  $("classed").hidden = !answer.classes.length;
  $("classes").replaceChildren(...answer.classes.flatMap(([name, words]) => [element("dt", name), element("dd", words.join(" "))]));
}
async function run() { // the examples with the text as it is; a later edit overtakes
  const number = ++latest, answer = await call("/api/try_rule", { text: $("text").value });
  if (number !== latest) return;
  fault(answer.fault || "", answer.line);
  if (!answer.fault) { examples(answer); classes(answer); }
}
async function compare() {
  $("compare").disabled = true; $("running").hidden = false; $("done").style.width = "0";
  const looking = setInterval(async () => {
    const { doing, done, of } = await call("/api/progress");
    if (doing) { $("status").textContent = `${doing}: ${done.toLocaleString()} / ${of.toLocaleString()}`; $("done").style.width = (of ? 100 * done / of : 0) + "%"; $("running").setAttribute("aria-valuenow", done); $("running").setAttribute("aria-valuemax", of); }
  }, LOOK);
  try {
    const answer = await ask("/api/compare", { text: $("text").value });
    $("status").textContent = "";
    if (answer) { shown = answer; draw(null); }
  } finally { clearInterval(looking); $("running").hidden = true; $("compare").disabled = !$("fault").hidden; }
}
function draw(kind) {
  const counts = shown.counts, total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  $("changes").hidden = false; $("changes").classList.remove("old");
  const read = shown.reviews.toLocaleString();
  $("summary").textContent = total ? `${read} 則評論 reviews: ${shown.before.toLocaleString()} → ${shown.after.toLocaleString()} triplets`
    : !shown.counting ? `這條規則在慣例 ${shown.convention} 不算數。 This rule does not count in the convention ${shown.convention}.`
      : shown.off ? `規則關掉以後，${read} 則評論裡什麼都沒變：別的規則也找得到。 Nothing changes in these ${read} reviews with the rule off: others find what it finds.`
        : `${read} 則評論裡什麼都沒變。 Nothing changes in these ${read} reviews.`;
  $("kinds").replaceChildren(...Object.keys(KINDS).filter((name) => counts[name]).map((name) => {
    const button = element("button", `${KINDS[name]} ${counts[name].toLocaleString()}`); button.type = "button"; button.setAttribute("aria-pressed", String(kind === name));
    button.addEventListener("click", () => draw(kind === name ? null : name)); return button;
  }));
  const items = shown.rows.flatMap(({ key, changes }) => changes.filter((change) => !kind || change.kind === kind).map((change) => {
    const item = element("li", "", change.kind), head = element("p", ""), text = element("p", "");
    if (change.before) head.append(pair(change.before, "gone"));
    if (change.before && change.after) head.append(" → ");
    if (change.after) head.append(pair(change.after));
    head.append(" ", element("small", `${KINDS[change.kind]} · ${key}`)); text.lang = "zh"; text.append(marked(change.text, change.aspect, change.opinion));
    item.append(head, text); return item;
  }));
  if (!kind && total > items.length) items.push(element("li", `… ${(total - items.length).toLocaleString()} 個沒列出 more are not listed`));
  $("reviews").replaceChildren(...items);
}
async function save() {
  const answer = await ask("/api/save_rule", { text: $("text").value });
  if (!answer) return;
  saved = $("text").value; await load(); await open(answer.name);
  $("status").textContent = `存好了 saved: ${answer.file} · builder resume`;
}
async function drop() {
  if (!confirm("刪掉我的這一份？ Delete your copy of this rule?")) return;
  const answer = await ask("/api/drop_rule", { name });
  if (!answer) return;
  saved = $("text").value; await load();
  if (answer.left) await open(answer.name); else { name = ""; $("rule").hidden = true; $("none").hidden = false; drawList(); }
  $(answer.left ? "status" : "gone").textContent = `刪掉了 deleted: ${visible(answer.name)} · builder resume`;
}
function switchOff() { // one line under the heading
  const text = $("text").value;
  $("text").value = /^enabled = false$/m.test(text) ? text.replace(/^enabled = false\n?/m, "") : text.replace(/^(\[[^\n]*\]\n)/m, "$1enabled = false\n");
  edited();
}
function edited() { mark(); $("changes").classList.add("old"); clearTimeout(timer); timer = setTimeout(() => attempt(run), PAUSE); }
$("filter").addEventListener("input", drawList);
$("text").addEventListener("input", edited);
$("text").addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key === "s") { event.preventDefault(); if (!$("save").disabled) attempt(save); } });
$("compare").addEventListener("click", () => attempt(compare));
$("save").addEventListener("click", () => attempt(save));
$("off").addEventListener("click", switchOff);
$("undo").addEventListener("click", () => { $("text").value = saved; edited(); });
$("drop").addEventListener("click", () => attempt(drop));
$("new").addEventListener("click", () => attempt(async () => {
  if (isChanged() && !confirm("改過的還沒存，要丟掉嗎？ Leave without saving?")) return;
  name = ""; isMine = false; put(TEMPLATE, "改標題當名字 the heading is its name"); await run();
}));
addEventListener("beforeunload", (event) => { if (isChanged()) event.preventDefault(); });
attempt(async () => { await load(); document.body.dataset.ready = "1"; });
