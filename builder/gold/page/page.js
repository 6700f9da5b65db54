"use strict";
// Offsets are code points, as in the database; what moves and is drawn are graphemes, so that an emoji of several code points stays whole.
// Reviews are hostile input: nodes are made with textContent only.
const KEY = document.querySelector("meta[name=key]").content;
const CHINESE = { POS: "正面", NEG: "負面", NEU: "中性" }, ENGLISH = { POS: "positive", NEG: "negative", NEU: "neutral" };
const named = (polarity) => `${CHINESE[polarity]} ${ENGLISH[polarity]}`;
const CHUNK = 100;
const $ = (id) => document.getElementById(id);
const items = new Map();
const undo = [];
let head = null, place = 0, item = null, picker = null, busy = Promise.resolve();

async function call(path, body) {
  const options = { headers: { "X-Key": KEY } };
  if (body) { options.method = "POST"; options.headers["Content-Type"] = "application/json"; options.body = JSON.stringify(body); }
  let answer;
  try { answer = await fetch(path, options); } catch { throw new Error("沒有存到：伺服器停了。 Not saved: the server has stopped; start `builder annotate serve` again."); }
  const told = (answer.headers.get("content-type") || "").startsWith("application/json") ? await answer.json() : { error: await answer.text() };
  if (!answer.ok) throw new Error("沒有存到 Not saved: " + told.error);
  return told;
}
async function fetched(start) {
  const from = Math.max(0, start - start % CHUNK);
  for (const one of await call(`/api/items?start=${from}&count=${CHUNK}`)) if (!items.has(one.place)) items.set(one.place, one);
}
async function go(to) {
  place = Math.max(0, Math.min(to, head.total - 1));
  if (!items.has(place)) await fetched(place);
  item = items.get(place);
  show();
  const ahead = place + 20;
  if (ahead < head.total && !items.has(ahead)) fetched(ahead).catch(() => {});
}

const graphemes = (() => {
  const cutter = self.Intl && Intl.Segmenter ? new Intl.Segmenter("zh", { granularity: "grapheme" }) : null;
  return (text) => {
    const out = []; let at = 0;
    for (const part of cutter ? Array.from(cutter.segment(text), (one) => one.segment) : Array.from(text)) {
      const size = Array.from(part).length; out.push({ text: part, start: at, end: at + size }); at += size;
    }
    return out;
  };
})();
const inside = (spans, at) => (spans || []).some(([start, end]) => start <= at && at < end);
const words = (spans, text) => { const chars = Array.from(text); return spans.map(([s, e]) => chars.slice(s, e).join("")).join("…"); };
function element(tag, text, name) { const node = document.createElement(tag); node.textContent = text; if (name) node.className = name; return node; }
function marked(text, aspect, opinion) {
  const box = document.createDocumentFragment(); let run = "", kind = null;
  const flush = () => { if (run) box.append(kind ? element("mark", run, kind) : document.createTextNode(run)); run = ""; };
  Array.from(text).forEach((char, at) => {
    const now = [inside(aspect, at) && "a", inside(opinion, at) && "o"].filter(Boolean).join(" ");
    if (now !== kind) { flush(); kind = now; }
    run += char;
  });
  flush();
  return box;
}

function show() {
  $("fill").style.width = (head.total ? 100 * head.done / head.total : 100) + "%";
  $("bar").setAttribute("aria-valuemax", head.total); $("bar").setAttribute("aria-valuenow", head.done);
  $("count").textContent = `${head.done.toLocaleString()} / ${head.total.toLocaleString()} (${head.total ? Math.floor(100 * head.done / head.total) : 100}%)` + (head.done === head.total ? " 完成 done" : "");
  $("who").textContent = `${head.annotator} · pool ${head.pool}`;
  $("work").hidden = !!picker || !item; $("picker").hidden = !picker;
  if (!item) return;
  if (picker) { showPicker(); return; }
  const one = item.candidate, label = item.label;
  $("where").textContent = `#${place + 1} · ${item.key}` + (item.of > 1 ? ` · 這則評論的第 ${item.nth} / ${item.of} 個 ${item.nth} of ${item.of} in this review` : "");
  const aspect = one && ((label && label.aspect) || one.aspect_spans), opinion = one && ((label && label.opinion) || one.opinion_spans);
  $("text").replaceChildren(marked(item.text, aspect, opinion));
  asked(one, label, aspect, opinion);
  $("said").textContent = item.said ? "他們說 they said: " + item.said : "";
  $("labels").hidden = !one; $("none").hidden = !!one;
  for (const button of document.querySelectorAll("#more button")) button.hidden = !offered(button.dataset.key);
  for (const button of document.querySelectorAll("#labels button")) button.setAttribute("aria-pressed", String(!!label && label.label === button.querySelector("b").textContent));
  $("none").firstElementChild.setAttribute("aria-pressed", String(item.checked));
  $("missing").replaceChildren(...item.missing.map((t) => element("li", `＋ (${t.aspect}, ${t.opinion}, ${named(t.polarity)})`)));
  const first = $("text").querySelector("mark"); if (first && $("text").scrollHeight > $("text").clientHeight) first.scrollIntoView({ block: "center" });
}

// What is asked; once corrected, what the correction says instead, so that no question names what is no longer marked.
function asked(one, label, aspect, opinion) {
  const q = $("question"), note = $("correction"); q.replaceChildren(); note.textContent = "";
  if (!one) { const more = item.of > 1; q.append(more ? "這則評論還有漏掉的三元組嗎？" : "沒有人提出三元組。有漏掉的嗎？", element("span", more ? "Is another triplet missing in this review?" : "Nobody proposed a triplet here. Is one missing?", "en")); return; }
  if (label && (label.aspect || label.opinion || label.polarity)) {
    const right = label.polarity || one.polarity;
    q.append("修正成 ", element("mark", words(opinion, item.text), "o"), " 描述 ", element("mark", words(aspect, item.text), "a"), "，", element("b", CHINESE[right]), "。", element("span", `Corrected to (${words(aspect, item.text)}, ${words(opinion, item.text)}, ${ENGLISH[right]}), saved as ${label.label}.`, "en"));
    note.textContent = `原本的候選 proposed: (${one.aspect}, ${one.opinion}, ${named(one.polarity)})。 再按 1 2 3 就是回答原本的候選。 1 2 3 answer for the proposal instead.`;
    return;
  }
  q.append("「", element("mark", one.opinion, "o"), "」在描述「", element("mark", one.aspect, "a"), "」嗎？是", element("b", CHINESE[one.polarity]), "的描述嗎？", element("span", `Does “${one.opinion}” describe “${one.aspect}”? As ${ENGLISH[one.polarity]}?`, "en"));
  if (label && label.label === null) note.textContent = "不確定 unsure";
}
// A review without a candidate has nothing to correct or to be unsure of, and a decision is no "unsure".
const offered = (key) => !((key === "c" || key === "0") && !(item && item.candidate)) && !(key === "0" && head.mode === "adjudicate");

async function answer(at, body) {
  const told = await call("/api/answer", { place: at, ...body });
  const now = told.item;
  for (let p = at - now.nth + 1; p < at - now.nth + 1 + now.of; p++) if (items.has(p)) { const other = items.get(p); other.missing = now.missing; other.checked = now.checked; }
  items.set(at, now); head.done = told.done;
  if (at === place) item = now;
  return now;
}
async function label(said) {
  if (!item.candidate) return;
  const at = place, before = item.label;
  await answer(at, { op: "label", ...said });
  undo.push({ at, body: before ? { op: "label", ...before } : { op: "clear" } });
  if (at + 1 < head.total) await go(at + 1); else show();
}
async function check() {
  if (item.candidate || item.checked) return item.candidate ? undefined : go(place + 1);
  const at = place;
  await answer(at, { op: "check" }); undo.push({ at, body: { op: "uncheck" } });
  if (at + 1 < head.total) await go(at + 1); else show();
}
async function back() {
  const last = undo.pop();
  if (!last) return;
  try { await go(last.at); await answer(last.at, last.body); } catch (error) { undo.push(last); throw error; }
  show();
}
async function nextOpen() { const now = await call("/api/head"); head.done = now.done; await go(now.next); }

function open(kind) {
  const one = item.candidate;
  if (kind === "correct" && !one) return;
  const label = item.label || {};
  picker = { kind, letters: graphemes(item.text), cursor: 0, anchor: 0, tapped: false,
    aspect: kind === "correct" ? label.aspect || one.aspect_spans : null, opinion: kind === "correct" ? label.opinion || one.opinion_spans : null,
    polarity: kind === "correct" ? label.polarity || one.polarity : null };
  if (kind === "correct") pick(picker.aspect);
  show();
}
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
  $("letters").replaceChildren(...p.letters.map((l, i) => {
    const name = [inside(p.aspect, l.start) && "a", inside(p.opinion, l.start) && "o"].filter(Boolean).join(" ");
    const node = element(name ? "mark" : "span", l.text, name);
    if (from <= i && i < to) node.classList.add("sel");
    if (i === p.cursor) node.classList.add("cur");
    node.addEventListener("click", () => { if (p.tapped) { p.cursor = i; p.tapped = false; } else { p.anchor = p.cursor = i; p.tapped = true; } show(); });
    return node;
  }));
  const told = (spans, name) => spans ? element("mark", words(spans, item.text), name) : element("b", "？");
  const now = holds(p.aspect) ? "＝現在的對象 the aspect now" : holds(p.opinion) ? "＝現在的意見 the opinion now" : "按 A 設為對象，按 O 設為意見 press A: aspect, O: opinion";
  $("chosen").replaceChildren("選到 selected: ", element("b", words([chosen()], item.text), "sel"), " ", now);
  $("picked").replaceChildren("對象 aspect ", told(p.aspect, "a"), "　意見 opinion ", told(p.opinion, "o"), "　", element("b", p.polarity ? named(p.polarity) : "正負面？ polarity?"));
  $("verdict").textContent = p.kind === "correct" ? "存成 saved as: " + verdict() : "";
  const cursor = $("letters").querySelector(".cur"); if (cursor) cursor.scrollIntoView({ block: "nearest" });
}
const overlap = (one, two) => one.some(([s, e]) => two.some(([t, f]) => s < f && t < e));
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
async function save() {
  const p = picker;
  if (!p.aspect || !p.opinion || !p.polarity) throw new Error("還缺：對象 (A)、意見 (O)、正負面 (1 2 3)。 Choose an aspect, an opinion and a polarity first.");
  if (p.kind === "correct") {
    const said = { label: verdict(), aspect: p.aspect, opinion: p.opinion, polarity: p.polarity };
    picker = null;
    try { await label(said); } catch (error) { picker = p; throw error; }
  } else {
    const at = place, before = new Set(item.missing.map((t) => t.id));
    const now = await answer(at, { op: "add", aspect: p.aspect, opinion: p.opinion, polarity: p.polarity });
    const fresh = now.missing.find((t) => !before.has(t.id));
    if (fresh) undo.push({ at, body: { op: "remove", id: fresh.id } });
    picker = null; show();
  }
}

const WORK = {
  1: () => label({ label: "YY" }), 2: () => label({ label: "YN" }), 3: () => label({ label: "NX" }), 0: () => label({ label: null }),
  Enter: check, u: back, c: () => open("correct"), m: () => open("missing"), n: nextOpen,
  ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1),
};
function move(to, extend) { picker.cursor = Math.max(0, Math.min(to, picker.letters.length - 1)); if (!extend) picker.anchor = picker.cursor; picker.tapped = false; }
// As in any editor: an arrow without Shift first goes to that end of what is selected.
function step(by, extend) {
  const [from, to] = selection();
  move(extend || to - from === 1 ? picker.cursor + by : by < 0 ? from : to - 1, extend);
}
const PICK = {
  a: () => take("aspect"), o: () => take("opinion"), "Shift+a": () => take("aspect", true), "Shift+o": () => take("opinion", true),
  1: () => { picker.polarity = "POS"; }, 2: () => { picker.polarity = "NEG"; }, 3: () => { picker.polarity = "NEU"; },
  Enter: save, Escape: () => { picker = null; }, Tab: other,
  ArrowLeft: (shift) => step(-1, shift), ArrowRight: (shift) => step(1, shift),
  Home: (shift) => move(0, shift), End: (shift) => move(Infinity, shift),
};
// A letter by its key and Shift alone: Caps Lock changes nothing.
const keyed = (key, shift) => !/^[a-z]$/i.test(key) ? key : (picker && shift && (key.toLowerCase() === "a" || key.toLowerCase() === "o") ? "Shift+" : "") + key.toLowerCase();
const action = (key) => (picker ? PICK[key] : offered(key) ? WORK[key] : null);
// One after the other: a key pressed while an answer is being stored waits for it.
function press(key, shift) {
  busy = busy.then(async () => {
    const run = item && action(keyed(key, shift));
    if (!run) return;
    $("error").hidden = true;
    try { await run(shift); if (picker) show(); else if (!$("picker").hidden) show(); } catch (error) { $("error").textContent = error.message; $("error").hidden = false; }
    document.body.dataset.pressed = String(Number(document.body.dataset.pressed || 0) + 1);
  });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
  if ((picker ? PICK : WORK)[keyed(event.key, event.shiftKey)]) { event.preventDefault(); press(event.key, event.shiftKey); }
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-key]");
  if (button) { button.blur(); press(button.dataset.key, "shift" in button.dataset); }
});
(async () => {
  try {
    head = await call("/api/head");
    if (head.mode === "adjudicate") document.title = "裁決 · Adjudicate";
    if (head.total) await go(head.next); else { show(); $("error").textContent = "這裡沒有要標的。 There is nothing to do here."; $("error").hidden = false; }
    document.body.dataset.ready = "1";
  } catch (error) { $("error").textContent = error.message; $("error").hidden = false; }
})();
