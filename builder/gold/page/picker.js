"use strict";
// Choosing spans: by dragging, by tapping the first and the last character, or by keys. Needs text.js; `item` and `show` are page.js's.
let picker = null;

function open(kind, span) {
  const one = item.candidate;
  if (kind === "correct" && !one) return;
  const label = item.label || {};
  picker = { kind, letters: graphemes(item.text), cursor: 0, anchor: 0, tapped: false, drag: null,
    aspect: kind === "correct" ? label.aspect || one.aspect_spans : null, opinion: kind === "correct" ? label.opinion || one.opinion_spans : null,
    polarity: kind === "correct" ? label.polarity || one.polarity : null };
  if (span) pick([span]); else if (kind === "correct") pick(picker.aspect);
  show();
}
// What was selected stays: only a missing triplet begins with nothing else.
function add_instead() { const span = chosen(); if (picker.kind === "correct") open("missing", span); }
// Select the first piece of what is there; Tab goes from the aspect to the opinion and back.
function pick(spans) {
  if (!spans) return;
  const [start, end] = spans[0], at = (point) => Math.max(0, picker.letters.findIndex((l) => l.end > point));
  picker.anchor = at(start); picker.cursor = at(end - 1); picker.tapped = false;
}
const chosen = () => { const [from, to] = selection(); return [picker.letters[from].start, picker.letters[to - 1].end]; };
const holds = (spans) => { const [start, end] = chosen(); return (spans || []).some(([s, e]) => s === start && e === end); };
function other() { pick(holds(picker.aspect) ? picker.opinion || picker.aspect : picker.aspect || picker.opinion); }
const selection = () => { const [a, b] = [picker.anchor, picker.cursor].sort((x, y) => x - y); return [a, b + 1]; };
// Shift+arrow moves the far end; a cursor alone selects the character it stands before.
function showPicker() {
  const p = picker, [from, to] = selection();
  $("title").textContent = p.kind === "correct" ? "修正這個候選 Correct this candidate" : "補上漏掉的三元組 Add a missing triplet";
  $("instead").hidden = p.kind !== "correct";
  $("letters").replaceChildren(...p.letters.map((l, i) => {
    const name = [inside(p.aspect, l.start) && "a", inside(p.opinion, l.start) && "o"].filter(Boolean).join(" ");
    const node = element(name ? "mark" : "span", l.text, name);
    node.dataset.at = i;
    if (from <= i && i < to) node.classList.add("sel");
    if (i === p.cursor) node.classList.add("cur");
    return node;
  }));
  draw($("bows"), $("letters"), p.aspect && p.opinion ? [{ aspect: p.aspect, opinion: p.opinion, polarity: p.polarity, strong: true }] : []);
  const shown = (spans, name) => spans ? element("mark", words(spans, item.text), name) : element("b", "？");
  const now = holds(p.aspect) ? "＝現在的對象 the aspect now" : holds(p.opinion) ? "＝現在的意見 the opinion now" : "按 A 設為對象，按 O 設為意見 press A: aspect, O: opinion";
  $("chosen").replaceChildren("選到 selected: ", element("b", words([chosen()], item.text), "sel"), " ", now);
  $("picked").replaceChildren("對象 aspect ", shown(p.aspect, "a"), "　意見 opinion ", shown(p.opinion, "o"), "　", element("b", p.polarity ? named(p.polarity) : "正負面？ polarity?"));
  $("verdict").textContent = p.kind === "correct" ? "存成 saved as: " + verdict() : "";
  const cursor = $("letters").querySelector(".cur"); if (cursor && !p.drag) cursor.scrollIntoView({ block: "nearest" });
}
const overlap = (first, second) => first.some(([s, e]) => second.some(([t, f]) => s < f && t < e));
// Moved borders still name the same thing; another aspect or opinion means that the candidate's pair was wrong (paper, section 3.3.2).
function verdict() {
  const one = item.candidate;
  if (!overlap(picker.aspect, one.aspect_spans) || !overlap(picker.opinion, one.opinion_spans)) return "NX";
  return picker.polarity === one.polarity ? "YY" : "YN";
}
function take(name, more) {
  const span = chosen();
  const kept = more && picker[name] ? picker[name].filter(([s, e]) => e <= span[0] || span[1] <= s) : [];
  picker[name] = [...kept, span].sort((x, y) => x[0] - y[0]);
  picker.anchor = picker.cursor; picker.tapped = false;
}
function move(to, extend) { picker.cursor = Math.max(0, Math.min(to, picker.letters.length - 1)); if (!extend) picker.anchor = picker.cursor; picker.tapped = false; }
// As in any editor: an arrow without Shift first goes to that end of what is selected.
function step(by, extend) {
  const [from, to] = selection();
  move(extend || to - from === 1 ? picker.cursor + by : by < 0 ? from : to - 1, extend);
}

const letter_at = (event) => { const node = document.elementFromPoint(event.clientX, event.clientY); return node && $("letters").contains(node) && node.dataset.at ? Number(node.dataset.at) : null; };
$("letters").addEventListener("pointerdown", (event) => {
  const at = letter_at(event);
  if (at === null || !event.isPrimary) return;
  event.preventDefault(); $("letters").setPointerCapture(event.pointerId);
  picker.drag = { from: at, moved: false };
});
$("letters").addEventListener("pointermove", (event) => {
  const at = picker && picker.drag ? letter_at(event) : null;
  if (at === null || (at === picker.drag.from && !picker.drag.moved)) return;
  picker.drag.moved = true; picker.tapped = false;
  picker.anchor = picker.drag.from; picker.cursor = at; show();
});
$("letters").addEventListener("pointerup", () => {
  const p = picker, drag = p && p.drag;
  if (!drag) return;
  p.drag = null;
  if (!drag.moved) { if (p.tapped) { p.cursor = drag.from; p.tapped = false; } else { p.anchor = p.cursor = drag.from; p.tapped = true; } }
  show();
});
$("letters").addEventListener("pointercancel", () => { if (picker) picker.drag = null; });
