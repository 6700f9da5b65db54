"use strict";
// Proposed words with their sentences. Sentences are hostile input: nodes are made with textContent only.
let rows = [], classes = [], ownClasses = [], roles = [], at = 0;

// 【…】 stands around the word, which a review may write in the other script; reviews have such brackets of their own too.
function sentence(text, word) {
  const line = document.createElement("p"), letters = Array.from(word), alike = ([, other]) => Array.from(other).filter((char, n) => char === letters[n]).length;
  const brackets = [...text.matchAll(/【([^【】]+)】/gu)].filter(([, other]) => Array.from(other).length === letters.length);
  const quoted = brackets.sort((first, second) => alike(second) - alike(first))[0];
  const at = text.indexOf(word);
  if (!quoted && at < 0) line.append(visible(text));
  else if (!quoted) line.append(visible(text.slice(0, at)), element("mark", word, "o"), visible(text.slice(at + word.length)));
  else line.append(visible(text.slice(0, quoted.index)), element("mark", quoted[1], "o"), visible(text.slice(quoted.index + quoted[0].length)));
  return line;
}
function meaning(row) {
  const field = document.createElement(row.kind === "aspect" ? "input" : "select");
  if (row.kind === "aspect") field.setAttribute("list", "known");
  else field.replaceChildren(...["POS", "NEG", "NEU"].map((name) => element("option", name)));
  field.value = row.meaning; field.setAttribute("aria-label", row.kind === "aspect" ? "class" : "polarity");
  field.addEventListener("change", () => perform(() => answer(row.place, row.answer, field.value)));
  return field;
}
function drawn(row) {
  const item = document.createElement("li"), head = document.createElement("div"), buttons = document.createElement("span");
  item.id = `w${row.place}`; item.lang = "zh";
  head.append(element("b", row.word), element("small", row.kind === "aspect" ? "對象 aspect" : "意見 opinion"), meaning(row), element("small", `${row.reviews} 則 reviews · ${Math.round(100 * row.confidence)}%`), buttons);
  for (const [value, label] of [["yes", "收 take"], ["no", "不收 refuse"]]) {
    const button = element("button", label); button.setAttribute("aria-pressed", String(row.answer === value));
    button.addEventListener("click", () => { at = row.place; perform(() => answer(row.place, row.answer === value ? "" : value, row.meaning)); });
    buttons.append(button);
  }
  item.append(head, sentence(row.sentence, row.word));
  return item;
}
function mark() {
  document.querySelectorAll("#words [aria-current]").forEach((item) => item.removeAttribute("aria-current"));
  const item = $(`w${at}`); if (item) { item.setAttribute("aria-current", "true"); item.scrollIntoView({ block: "nearest" }); }
  const done = rows.filter((row) => row.answer).length;
  $("fill").style.width = (rows.length ? 100 * done / rows.length : 100) + "%";
  $("count").textContent = `${done} / ${rows.length}`;
}
async function answer(place, said, value) {
  rows[place] = await call("/api/answer", { place, answer: said, meaning: value });
  $(`w${place}`).replaceWith(drawn(rows[place])); mark();
}
function showClasses() {
  $("known").replaceChildren(...classes.map((name) => { const option = document.createElement("option"); option.value = name; return option; }));
  $("own").replaceChildren(...ownClasses.map((own) => {
    const item = document.createElement("li"), name = document.createElement("input"), role = document.createElement("select");
    name.value = own.name; name.setAttribute("aria-label", "name of the class");
    role.replaceChildren(...roles.map((one) => element("option", one))); role.value = own.role; role.disabled = own.known;
    role.setAttribute("aria-label", "role of the class");
    const save = () => perform(() => changeClass(own.name, name.value, role.value));
    name.addEventListener("change", save); role.addEventListener("change", save);
    const members = rows.filter((row) => row.kind === "aspect" && row.meaning === own.name);
    const shown = members.slice(0, 8).map((row) => row.word).join("、") + (members.length > 8 ? " …" : "");
    item.append(name, role, element("small", `${members.length} · ${shown}`));
    return item;
  }));
}
function show(content) {
  ({ rows, classes, own_classes: ownClasses, roles } = content);
  showClasses(); $("words").replaceChildren(...rows.map(drawn));
}
async function changeClass(name, fresh, role) { show(await call("/api/class", { name, new: fresh, role })); mark(); }
async function take() { const taken = await call("/api/take", {}); $("done").textContent = `詞庫多了 added: ${taken.opinions} 意見 opinions, ${taken.aspects} 對象 aspects.`; }
const perform = (run) => queue(() => attempt(run));
const move = (by) => { at = Math.max(0, Math.min(rows.length - 1, at + by)); mark(); };
const KEYS = {
  y: async () => { await answer(at, "yes", rows[at].meaning); move(1); }, n: async () => { await answer(at, "no", rows[at].meaning); move(1); },
  ArrowDown: async () => move(1), ArrowUp: async () => move(-1),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|SELECT/.test(event.target.tagName) || !rows.length) return;
  const run = KEYS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (run) { event.preventDefault(); perform(run); }
});
$("take").addEventListener("click", () => perform(take));
perform(async () => {
  show(await call("/api/words")); at = Math.max(0, rows.findIndex((row) => !row.answer)); mark();
  document.body.dataset.ready = "1";
});
