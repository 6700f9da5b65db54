"use strict";
// The page: what is asked, in order, what was answered, and the keys. Needs text.js and picker.js.
const CHUNK = 100;
const items = new Map(), drafts = new Map();
const undo = [];
let head = null, place = 0, item = null, lesson = null;

unsaved = "沒有存到 Not saved: ";
async function fetched(start) {
  const from = Math.max(0, start - start % CHUNK);
  for (const got of await call(`/api/items?start=${from}&count=${CHUNK}`)) if (!items.has(got.place)) items.set(got.place, got);
}
async function go(to) {
  place = Math.max(0, Math.min(to, head.total - 1));
  if (!items.has(place)) await fetched(place);
  item = items.get(place);
  const first = place - item.nth + 1, last = first + item.of - 1;
  for (const end of [first, last]) if (!items.has(end)) await fetched(end);
  show();
  const ahead = place + 20;
  if (ahead < head.total && !items.has(ahead)) fetched(ahead).catch(() => {});
}
// All places of the review: its candidates, and in an audit what is missing.
const siblings = () => Array.from({ length: item.of }, (_, n) => items.get(place - item.nth + 1 + n)).filter(Boolean);
const spans_of = ({ candidate, label }) => [(label && label.aspect) || candidate.aspect_spans, (label && label.opinion) || candidate.opinion_spans];

// The words of all triplets of the review, but for those that are wrong.
const all_spans = () => [0, 1].map((side) => [
  ...siblings().filter(({ candidate, label }) => candidate && !(label && label.label === "NX" && !label.aspect && !label.opinion)).flatMap((other) => spans_of(other)[side]),
  ...item.missing.flatMap((triplet) => [triplet.aspect_spans, triplet.opinion_spans][side]),
]);

function progress() {
  const share = head.total ? head.done / head.total : 1, left = head.total - head.done;
  $("fill").style.width = 100 * share + "%";
  $("bar").setAttribute("aria-valuemax", head.total); $("bar").setAttribute("aria-valuenow", head.done);
  $("count").textContent = `${head.done.toLocaleString()} / ${head.total.toLocaleString()} (${Math.floor(100 * share)}%)` + (left ? "" : " 完成 done");
  const minutes = head.per_hour && left ? Math.ceil(60 * left / head.per_hour) : 0;
  $("pace").textContent = head.per_hour ? `每小時 ${head.per_hour.toLocaleString()} 個 an hour` + (minutes ? ` · 還要 ${minutes} 分 min left` : "") : "";
  const others = Object.entries(head.team).filter(([name]) => name !== head.annotator).map(([name, count]) => ` · ${visible(name)} ${count.toLocaleString()}`);
  $("who").textContent = `${visible(head.annotator)}${others.length ? " " + head.done.toLocaleString() : ""}${others.join("")} · pool ${head.pool}`;
}
function show() {
  progress();
  $("work").hidden = !!picker || !item; $("picker").hidden = !picker;
  if (!item) return;
  if (picker) { showPicker(); return; }
  const { candidate, label } = item;
  $("where").textContent = `#${place + 1} · ${item.key}` + (item.of > 1 ? ` · 這則評論的第 ${item.nth} / ${item.of} 個 ${item.nth} of ${item.of} in this review` : "");
  const [aspect, opinion] = candidate ? spans_of(item) : all_spans();
  $("text").replaceChildren(marked(item.text, aspect, opinion));
  asked(candidate, label, aspect, opinion);
  $("said").textContent = item.said ? "他們說 they said: " + visible(item.said) : "";
  $("labels").hidden = !candidate; $("none").hidden = !!candidate;
  for (const button of document.querySelectorAll("#more button, #all button")) button.hidden = !offered(button.dataset.key);
  for (const button of document.querySelectorAll("#labels button")) button.setAttribute("aria-pressed", String(!!label && label.label === button.querySelector("b").textContent));
  $("none").firstElementChild.setAttribute("aria-pressed", String(item.checked));
  $("missing").replaceChildren(...item.missing.map(added));
  const written = drafts.get(place) ?? (label && label.note) ?? "";
  $("noted").textContent = written ? "備註 note: " + visible(written) + (drafts.has(place) ? "（和答案一起存 saved with your answer）" : "") : "";
  list(); teaching(); lines();
  const first = $("text").querySelector("mark"); if (first && $("shown").scrollHeight > $("shown").clientHeight) first.scrollIntoView({ block: "center" });
}
// A triplet that was added, with a button that takes it back.
function added(triplet) {
  const row = element("li", `＋ (${triplet.aspect}, ${triplet.opinion}, ${named(triplet.polarity)}) `), button = element("button", "✕");
  button.title = "刪掉 take it back"; button.setAttribute("aria-label", button.title);
  button.addEventListener("click", () => perform(() => () => withdraw(triplet)));
  row.append(button);
  return row;
}
// The candidates of the review, with what was answered.
function list() {
  const all = siblings().filter((other) => other.candidate);
  $("others").hidden = all.length < 2;
  $("others").replaceChildren(...all.map((other) => {
    const row = document.createElement("li"), button = document.createElement("button"), { candidate, label } = other;
    button.dataset.place = other.place;
    if (other.place === place) button.setAttribute("aria-current", "true");
    const [aspect, opinion] = spans_of(other);
    button.append(element("span", label ? label.label || "？" : "·", "badge " + (label ? label.label || "" : "")), element("span", words(aspect, item.text)), " → ", element("span", words(opinion, item.text)), " ", element("small", CHINESE[(label && label.polarity) || candidate.polarity]));
    row.append(button);
    return row;
  }));
}
function lines() {
  const links = siblings().filter((other) => other.candidate).map((other) => {
    const [aspect, opinion] = spans_of(other);
    return { aspect, opinion, polarity: (other.label && other.label.polarity) || other.candidate.polarity, strong: other.place === place };
  });
  const added = item.missing.map((t) => ({ aspect: t.aspect_spans, opinion: t.opinion_spans, polarity: t.polarity, strong: false }));
  draw($("lines"), $("text"), [...links.filter((link) => !link.strong), ...added, ...links.filter((link) => link.strong)]);
}

// What is asked; once corrected, what the correction says instead, so that no question names what is no longer marked.
function asked(candidate, label, aspect, opinion) {
  const q = $("question"), note = $("correction"); q.replaceChildren(); note.textContent = "";
  if (!candidate) { const more = item.of > 1; q.append(more ? "這則評論還有漏掉的三元組嗎？" : "沒有人提出三元組。有漏掉的嗎？", element("span", more ? "Is another triplet missing in this review?" : "Nobody proposed a triplet here. Is one missing?", "en")); return; }
  if (label && (label.aspect || label.opinion || label.polarity)) {
    const right = label.polarity || candidate.polarity;
    q.append("修正成 ", element("mark", words(opinion, item.text), "o"), " 描述 ", element("mark", words(aspect, item.text), "a"), "，", element("b", CHINESE[right]), "。", element("span", `Corrected to (${words(aspect, item.text)}, ${words(opinion, item.text)}, ${ENGLISH[right]}), saved as ${label.label}.`, "en"));
    note.textContent = visible(`原本的候選 proposed: (${candidate.aspect}, ${candidate.opinion}, ${named(candidate.polarity)})`) + "。 再按 1 2 3 就是回答原本的候選。 1 2 3 answer for the proposal instead.";
    return;
  }
  q.append("「", element("mark", candidate.opinion, "o"), "」在描述「", element("mark", candidate.aspect, "a"), "」嗎？是", element("b", CHINESE[candidate.polarity]), "的描述嗎？", element("span", `Does “${candidate.opinion}” describe “${candidate.aspect}”? As ${ENGLISH[candidate.polarity]}?`, "en"));
  if (label && label.label === null) note.textContent = "不確定 unsure";
}
// A review without a candidate has nothing to correct, to note or to be unsure of, and a decision is no "unsure".
const open_here = () => siblings().filter((other) => other.candidate && !other.label);
const offered = (key) => !(key === "y" && open_here().length < 2) && !("c0t".includes(key) && !(item && item.candidate)) && !(key === "0" && head.mode === "adjudicate") && !(key === "l" && !lesson);

async function answer(at, body) {
  const content = await call("/api/answer", { place: at, ...body });
  const now = content.item;
  for (let p = at - now.nth + 1; p < at - now.nth + 1 + now.of; p++) if (items.has(p)) { const other = items.get(p); other.missing = now.missing; other.checked = now.checked; }
  items.set(at, now); head.done = content.done; head.per_hour = content.per_hour;
  if (at === place) item = now;
  return now;
}
async function label(given) {
  if (!item.candidate) return;
  const at = place, before = item.label, note = drafts.get(at) ?? (before ? before.note : "");
  await answer(at, { op: "label", ...given, note });
  drafts.delete(at);
  undo.push({ at, body: before ? { op: "label", ...before } : { op: "clear" } });
  if (given.label === "NX" && !given.aspect) learn(at, { wrong: true });
  await onward(at + 1);
}
// The next place; behind the last one what was skipped comes back.
async function onward(to) {
  if (to < head.total) await go(to);
  else if (head.done < head.total) { await nextOpen(); $("done").textContent = "這些跳過了，還沒標。 These were skipped and are still open."; }
  else show();
}
// Whatever of the review has no answer yet is right.
async function accept() {
  const first = place - item.nth + 1, all = open_here();
  for (const other of all) await answer(other.place, { op: "label", label: "YY", note: drafts.get(other.place) ?? "" });
  undo.push({ at: place, many: all.map((other) => other.place) });
  const rest = siblings().find((other) => !other.candidate && !other.checked);
  await onward(rest ? rest.place : first + item.of);
}
async function check() {
  if (item.candidate || item.checked) return item.candidate ? undefined : go(place + 1);
  const at = place;
  await answer(at, { op: "check" }); undo.push({ at, body: { op: "uncheck" } });
  await onward(at + 1);
}
async function back() {
  const last = undo.pop();
  if (!last) return;
  try {
    await go(last.at);
    if (last.many) for (const at of last.many) await answer(at, { op: "clear" }); else await answer(last.at, last.body);
  } catch (error) { undo.push(last); throw error; }
  show();
}
async function withdraw(triplet) {
  const at = place;
  await answer(at, { op: "remove", id: triplet.id });
  undo.push({ at, body: { op: "add", aspect: triplet.aspect_spans, opinion: triplet.opinion_spans, polarity: triplet.polarity } });
  show();
}
async function nextOpen() { const now = await call("/api/head"); head = now; await go(now.next); }
async function save() {
  const p = picker;
  if (!p.aspect || !p.opinion || !p.polarity) throw new Error("還缺：對象 (A)、意見 (O)、正負面 (1 2 3)。 Choose an aspect, an opinion and a polarity first.");
  const at = place, due = { aspect: p.aspect, opinion: p.opinion, polarity: p.polarity };
  if (p.kind === "correct") {
    const given = { label: verdict(), ...due };
    picker = null;
    try { await label(given); } catch (error) { picker = p; throw error; }
  } else {
    const before = new Set(item.missing.map((t) => t.id));
    const now = await answer(at, { op: "add", ...due });
    const fresh = now.missing.find((t) => !before.has(t.id));
    if (fresh) undo.push({ at, body: { op: "remove", id: fresh.id } });
    picker = null; show();
  }
  learn(at, due);
}

// What the lexicon could learn from an answer. It is tried out while the next one is being asked, and nothing waits for it.
function learn(at, due) {
  if (!head.teaches) return;
  call("/api/propose", { place: at, ...due }).then((content) => {
    if (!content.lessons.length) return;
    const { text, candidate } = items.get(at), pair = due.wrong ? [candidate.aspect_spans, candidate.opinion_spans] : [due.aspect, due.opinion];
    const written = pair.map((spans) => words(spans, text));
    lesson = { ...content, at, wrong: !!due.wrong, written, triplet: `(${written.join(", ")})` }; teaching(); if (item && !picker) show();
  }).catch(() => {});
}
const TAUGHT = {
  opinion: (l) => `「${l.word}」是意見，分數 ${l.meaning}（1 到 10${l.before ? `，現在 ${l.before}` : ""}） is an opinion of valence ${l.meaning} of 1 to 10${l.before ? `, now ${l.before}` : ""}`,
  aspect: (l) => `「${l.word}」是對象 is an aspect (${l.meaning})`,
  pair: (l, [aspect, opinion]) => `「${opinion}」不是說「${aspect}」（規則 ${l.meaning}） the rules never pair them again; rule ${l.meaning} did`, // as the review writes them, not as the rules fold them
  exception: (l) => `「${l.word}」不是對象也不是意見 is neither aspect nor opinion`,
};
function teaching() {
  $("teach").hidden = !lesson;
  if (!lesson) return;
  $("lessons").replaceChildren(...lesson.lessons.map((l) => element("li", TAUGHT[l.table](l, lesson.written))));
  const { triplet } = lesson;
  const after = lesson.wrong
    ? [`加了以後，那則評論不會再提出 ${triplet}。 With it, the rules propose ${triplet} in that review no more.`, `加了以後，那則評論還是會提出 ${triplet}，但別處有用。 Even so the rules still propose ${triplet} in that review, but it may help elsewhere.`]
    : [`加了以後，規則在那則評論就找得到 ${triplet}。 With this, the rules find ${triplet} in that review.`, `加了以後，規則在那則評論還是找不到 ${triplet}，但別處可能有用。 Even so the rules do not find ${triplet} in that review, but it may help elsewhere.`];
  $("works").textContent = visible(after[lesson.works ? 0 : 1]);
}
async function teach() {
  const taught = lesson;
  for (const l of taught.lessons) await call("/api/teach", { ...l, place: taught.at });
  lesson = null; $("done").textContent = `${taught.lessons.some((l) => l.table === "pair") ? "加進規則 added to the rules" : "加進詞庫 added to the lexicon"}: ${visible(taught.lessons.map((l) => l.word).join("、"))}。 builder resume`; show();
}
function forget() { lesson = null; show(); }

function write_note() {
  $("notebox").hidden = false;
  $("note").value = drafts.get(place) ?? (item.label ? item.label.note : ""); $("note").focus();
}
// A hidden field keeps the keys until the page is drawn anew.
function hide_note() { $("note").blur(); $("notebox").hidden = true; }
async function keep_note() {
  const text = $("note").value.trim(), before = item.label;
  hide_note();
  if (!before) { if (text) drafts.set(place, text); else drafts.delete(place); show(); return; }
  await answer(place, { op: "label", ...before, note: text });
  undo.push({ at: place, body: { op: "label", ...before } }); show();
}
function help() { if ($("help").open) $("help").close(); else $("help").showModal(); }
function guide() { $("guide").open = !$("guide").open; if ($("guide").open) $("guide").scrollIntoView({ block: "nearest" }); }
async function leave() { await call("/api/sign_out", {}); location.reload(); }

const WORK = {
  1: () => label({ label: "YY" }), 2: () => label({ label: "YN" }), 3: () => label({ label: "NX" }), 0: () => label({ label: null }),
  y: accept, Enter: check, u: back, c: () => open("correct"), m: () => open("missing"), n: nextOpen, t: write_note, l: teach, "?": help, g: guide,
  ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1),
};
const PICK = {
  a: () => take("aspect"), o: () => take("opinion"), "Shift+a": () => take("aspect", true), "Shift+o": () => take("opinion", true),
  1: () => { picker.polarity = "POS"; }, 2: () => { picker.polarity = "NEG"; }, 3: () => { picker.polarity = "NEU"; },
  Enter: save, Escape: () => { picker = null; }, Tab: other, m: add_instead, "?": help,
  ArrowLeft: (shift) => step(-1, shift), ArrowRight: (shift) => step(1, shift),
  Home: (shift) => move(0, shift), End: (shift) => move(Infinity, shift),
};
// A letter by its key and Shift alone: Caps Lock changes nothing.
const keyed = (key, shift) => !/^[a-z]$/i.test(key) ? key : (picker && shift && (key.toLowerCase() === "a" || key.toLowerCase() === "o") ? "Shift+" : "") + key.toLowerCase();
const action = (key) => (picker ? PICK[key] : offered(key) ? WORK[key] : null);
// One after the other: a key pressed while an answer is being stored waits for it.
function press(key, shift) { perform(() => { const run = item && action(keyed(key, shift)); return run ? () => run(shift) : null; }); }
function perform(choose) {
  queue(() => {
    const run = choose();
    return run && attempt(async () => { $("done").textContent = ""; await run(); if (picker || !$("picker").hidden) show(); });
  });
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.tagName === "TEXTAREA") {
    if (event.key === "Escape") { event.preventDefault(); hide_note(); }
    if (event.key === "Enter" && !event.shiftKey) { event.preventDefault(); perform(() => keep_note); }
    return;
  }
  if ($("help").open) { if (event.key === "?") { event.preventDefault(); press("?"); } return; }
  if (event.target.tagName === "BUTTON" && (event.key === "Enter" || event.key === " ")) return;
  if ((picker ? PICK : WORK)[keyed(event.key, event.shiftKey)]) { event.preventDefault(); press(event.key, event.shiftKey); }
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if ("key" in button.dataset) { button.blur(); press(button.dataset.key, "shift" in button.dataset); }
  if ("place" in button.dataset) { button.blur(); perform(() => () => go(Number(button.dataset.place))); }
});
$("keep").addEventListener("click", () => perform(() => keep_note));
$("forget").addEventListener("click", () => perform(() => forget));
$("leave").addEventListener("click", () => perform(() => leave));
// Words that are dragged over in the text are what is to be corrected, or added, wherever the mouse is let go.
let dragging = false;
$("text").addEventListener("mousedown", () => { dragging = true; });
document.addEventListener("mouseup", () => {
  const span = dragging && item ? selected($("text")) : null;
  dragging = false;
  if (!span) return;
  getSelection().removeAllRanges();
  perform(() => () => open(item.candidate ? "correct" : "missing", span));
});
// A click beside the keys closes them, as does their button.
$("help").addEventListener("click", (event) => {
  const { left, right, top, bottom } = $("help").getBoundingClientRect();
  if (event.target === $("help") && !(left < event.clientX && event.clientX < right && top < event.clientY && event.clientY < bottom)) help();
});
addEventListener("resize", () => { if (item && picker) showPicker(); else if (item) lines(); });
$("guide").open = matchMedia("(min-width: 76rem)").matches;
(async () => {
  try {
    head = await call("/api/head");
    $("leave").hidden = head.here;
    if (head.mode === "adjudicate") document.title = "裁決 · Adjudicate";
    if (head.total) await go(head.next); else { show(); $("error").textContent = "這裡沒有要標的。 There is nothing to do here."; $("error").hidden = false; }
    document.body.dataset.ready = "1";
  } catch (error) { $("error").textContent = error.message; $("error").hidden = false; }
})();
