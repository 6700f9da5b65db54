// Every page: / goes to the search, the arrows go to what stands before and behind.
"use strict";
(() => {
  const search = document.querySelector("section input[type=search]") || document.getElementById("search");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable], .CodeMirror, .cm-editor")) return;
    if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
      search.select();
    }
    const rel = { ArrowLeft: "prev", ArrowRight: "next" }[event.key], link = rel && document.querySelector(`a[rel=${rel}]`);
    if (link) link.click();
  });
})();
