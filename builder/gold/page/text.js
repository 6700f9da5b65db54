"use strict";
// Calls, text, marks and lines. Offsets are code points, as in the database; what moves and is drawn are graphemes, so that an emoji of several
// code points stays whole. Reviews are hostile input: nodes are made with textContent only.
const CHINESE = { POS: "正面", NEG: "負面", NEU: "中性" }, ENGLISH = { POS: "positive", NEG: "negative", NEU: "neutral" };
const named = (polarity) => `${CHINESE[polarity]} ${ENGLISH[polarity]}`;
const $ = (id) => document.getElementById(id);

const KEY = document.querySelector("meta[name=key]").content;
let unsaved = ""; // what an error begins with on a page that stores every answer
async function call(path, body) {
  const options = { headers: { "X-Key": KEY } };
  if (body) { options.method = "POST"; options.headers["Content-Type"] = "application/json"; options.body = JSON.stringify(body); }
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Error(unsaved + "伺服器停了。 The server has stopped; start the command again."); }
  const content = (answer.headers.get("content-type") || "").startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (answer.status === 401) location.reload();
  if (!answer.ok) throw new Error(unsaved + content.error);
  return content;
}
// What goes wrong stands on the page. `pressed` counts what was done.
async function attempt(work) {
  $("error").hidden = true;
  try { await work(); } catch (error) { $("error").textContent = error.message; $("error").hidden = false; }
  document.body.dataset.pressed = String(Number(document.body.dataset.pressed || 0) + 1);
}
let busy = Promise.resolve();
function queue(work) { busy = busy.then(work); } // one after the other

// Characters that would reorder or hide what a reader sees become signs, one for one, so that offsets hold (as in builder/core/markup.py).
const HIDDEN = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const visible = (text) => String(text).replace(HIDDEN, (char) => char < " " ? String.fromCharCode(0x2400 + char.charCodeAt(0)) : "\u2426");

const graphemes = (() => {
  const cutter = self.Intl && Intl.Segmenter ? new Intl.Segmenter("zh", { granularity: "grapheme" }) : null;
  return (text) => {
    const out = []; let at = 0;
    for (const part of cutter ? Array.from(cutter.segment(text), (piece) => piece.segment) : Array.from(text)) {
      const size = Array.from(part).length; out.push({ text: part, start: at, end: at + size }); at += size;
    }
    return out;
  };
})();
const inside = (spans, at) => (spans || []).some(([start, end]) => start <= at && at < end);
const words = (spans, text) => { const chars = Array.from(text); return spans.map(([s, e]) => chars.slice(s, e).join("")).join("…"); };
function element(tag, text, name) { const node = document.createElement(tag); node.textContent = visible(text); if (name) node.className = name; return node; }
function marked(text, aspect, opinion) {
  const box = document.createDocumentFragment(); let run = "", kind = null;
  const flush = () => { if (run) box.append(kind ? element("mark", run, kind) : document.createTextNode(visible(run))); run = ""; };
  Array.from(text).forEach((char, at) => {
    const now = [inside(aspect, at) && "a", inside(opinion, at) && "o"].filter(Boolean).join(" ");
    if (now !== kind) { flush(); kind = now; }
    run += char;
  });
  flush();
  return box;
}

// Where a span of code points stands on the screen: the first of its rectangles.
function place_of(box, [start, end]) {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), range = document.createRange();
  let at = 0, begun = false;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const chars = Array.from(node.data), units = (count) => chars.slice(0, count).join("").length;
    if (!begun && start < at + chars.length) { range.setStart(node, units(start - at)); begun = true; }
    if (begun && end <= at + chars.length) { range.setEnd(node, units(end - at)); return range.getClientRects()[0]; }
    at += chars.length;
  }
  return undefined;
}
// A line from every aspect to its opinion, in the colour of its polarity; that of the current candidate is the strong one.
function draw(svg, box, links) {
  const frame = svg.parentElement, corner = frame.getBoundingClientRect();
  svg.setAttribute("width", frame.scrollWidth); svg.setAttribute("height", 0);
  svg.setAttribute("height", frame.scrollHeight);
  svg.replaceChildren(...links.flatMap(({ aspect, opinion, polarity, strong }) => {
    const from = place_of(box, aspect[0]), to = place_of(box, opinion[0]);
    if (!from || !to) return [];
    const x = (rect) => rect.left + rect.width / 2 - corner.left + frame.scrollLeft - frame.clientLeft;
    const y = (rect) => rect.top - corner.top + frame.scrollTop - frame.clientTop + 3;
    const [x1, y1, x2, y2] = [x(from), y(from), x(to), y(to)];
    const lift = Math.min(15, 7 + Math.abs(x2 - x1) / 18);
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    path.setAttribute("d", `M${x1},${y1} C${x1},${y1 - lift} ${x2},${y2 - lift} ${x2},${y2}`);
    path.setAttribute("class", `${polarity || "NEU"}${strong ? " strong" : ""}`);
    const end = document.createElementNS("http://www.w3.org/2000/svg", "path");
    end.setAttribute("d", `M${x2 - 4},${y2 - 5} L${x2},${y2 + 1} L${x2 + 4},${y2 - 5} Z`);
    end.setAttribute("class", `${polarity || "NEU"} end${strong ? " strong" : ""}`);
    return [path, end];
  }));
}
// What is selected with the mouse in a box, as code points; null for nothing. What lies beside the box is left out.
function selected(box) {
  const chosen = getSelection();
  if (!chosen || chosen.isCollapsed || !chosen.rangeCount) return null;
  const range = chosen.getRangeAt(0).cloneRange(), whole = document.createRange(), before = document.createRange();
  if (!range.intersectsNode(box)) return null;
  whole.selectNodeContents(box); before.selectNodeContents(box);
  if (!box.contains(range.startContainer)) range.setStart(whole.startContainer, whole.startOffset);
  if (!box.contains(range.endContainer)) range.setEnd(whole.endContainer, whole.endOffset);
  before.setEnd(range.startContainer, range.startOffset);
  const start = Array.from(before.toString()).length, size = Array.from(range.toString()).length;
  return size ? [start, start + size] : null;
}
