// Review and triplet pages: joins aspect and opinion by lines, and tells a triplet's story where the pointer or the focus is.
"use strict";
(() => {
  const box = document.getElementById("marked");
  if (!box) return;
  const svg = box.querySelector("svg.links"), pop = document.getElementById("pop");
  const marks = [...box.querySelectorAll(".m")];
  const numbers = [...new Set(marks.map((mark) => mark.dataset.t))];
  const of = (number, role) => marks.filter((mark) => mark.dataset.t === number && (!role || mark.classList.contains(role)));
  const kinds = ["POS", "NEG", "NEU"];

  function draw() {
    const origin = box.getBoundingClientRect();
    svg.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
    svg.setAttribute("width", origin.width);
    svg.setAttribute("height", origin.height);
    svg.replaceChildren();
    for (const number of numbers) {
      const [aspect, opinion] = [of(number, "aspect")[0], of(number, "opinion")[0]];
      if (!aspect || !opinion) continue;
      const [a, o] = [aspect.getClientRects()[0], opinion.getClientRects()[0]];
      if (!a || !o) continue;
      const [x1, y1, x2, y2] = [a.left + a.width / 2 - origin.left, a.top - origin.top, o.left + o.width / 2 - origin.left, o.top - origin.top];
      const lift = Math.min(26, 8 + Math.abs(x2 - x1) / 12), same = Math.abs(y1 - y2) < 4;
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", same ? `M${x1} ${y1}C${x1} ${y1 - lift} ${x2} ${y2 - lift} ${x2} ${y2}`
        : `M${x1} ${y1}C${x1} ${y1 - 16} ${x2} ${y2 - 24} ${x2} ${y2}`);
      path.setAttribute("class", kinds.find((kind) => aspect.classList.contains(kind)) + (same ? "" : " far"));
      path.dataset.t = number;
      svg.append(path);
    }
  }

  function show(numbers_, near) {
    const chosen = new Set(numbers_);
    box.classList.toggle("chosen", chosen.size > 0);
    for (const one of [...marks, ...svg.children, ...document.querySelectorAll(".card")])
      one.classList.toggle("on", chosen.has(one.dataset.t));
    pop.hidden = !chosen.size || !near;
    if (pop.hidden) return;
    pop.replaceChildren(...[...chosen].map((number) => {
      const copy = document.getElementById("t" + number).cloneNode(true);
      copy.removeAttribute("id");
      copy.hidden = false;
      return copy;
    }));
    const rect = near.getBoundingClientRect(), width = Math.min(340, window.innerWidth - 16);
    pop.style.width = width + "px";
    pop.style.left = Math.max(8, Math.min(rect.left, window.innerWidth - width - 8)) + "px";
    const below = rect.bottom + 14;
    pop.style.top = (below + pop.offsetHeight > window.innerHeight && rect.top > pop.offsetHeight + 14 ? rect.top - pop.offsetHeight - 14 : below) + "px";
  }

  function around(element) {
    const found = [];
    for (let one = element.closest(".m"); one; one = one.parentElement.closest(".m")) found.push(one.dataset.t);
    return found;
  }

  box.addEventListener("pointerover", (event) => show(around(event.target), event.target));
  box.addEventListener("pointerleave", () => show([]));
  box.addEventListener("focusin", (event) => show([event.target.dataset.t], event.target));
  box.addEventListener("focusout", () => show([]));
  document.addEventListener("keydown", (event) => event.key === "Escape" && show([]));
  document.addEventListener("scroll", () => { pop.hidden = true; }, { passive: true });
  for (const card of document.querySelectorAll(".card")) {
    card.addEventListener("pointerenter", () => show([card.dataset.t]));
    card.addEventListener("pointerleave", () => show([]));
  }
  new ResizeObserver(draw).observe(box);
  document.fonts.ready.then(draw);
})();
