"use strict";
// What reports share: exact numbers come on hover, and arrow keys go through cells.
const byId = (id) => document.getElementById(id);

// -- exact numbers on hover, focus or touch ---------------------------------------

function tips() {
  const tip = byId("tip");
  let holder = null;
  const hide = () => {
    tip.hidden = true;
    holder?.removeAttribute("aria-describedby");
    holder = null;
  };
  const place = () => {
    const box = holder.getBoundingClientRect();
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const left = Math.min(box.left + box.width / 2 - wide / 2, innerWidth - wide - 6);
    tip.style.left = `${Math.max(left, 6)}px`;
    const below = Math.min(box.bottom + 7, innerHeight - high - 6);
    tip.style.top = `${box.top > high + 12 ? box.top - high - 7 : below}px`;
  };
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (!target) return hide();
    if (target === holder) return;
    hide();
    holder = target;
    tip.textContent = target.dataset.tip;
    tip.hidden = false;
    target.setAttribute("aria-describedby", "tip");
    place();
  };
  document.addEventListener("pointerover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  // focus may scroll the page: what has it keeps its tip
  const moved = () => holder && (holder === document.activeElement ? place() : hide());
  document.addEventListener("scroll", moved, { capture: true, passive: true });
}

/** One stop of the Tab key for many cells; arrow keys go on from there. */
function roving(holder, selector) {
  const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const seen = () => [...holder.querySelectorAll(selector)].filter((cell) => cell.getClientRects().length);
  const first = () => seen().forEach((cell, i) => cell.setAttribute("tabindex", i ? -1 : 0));
  holder.addEventListener("keydown", (event) => {
    const step = steps[event.key];
    const from = event.target.closest(selector);
    if (!step || !from) return;
    const at = from.getBoundingClientRect();
    const away = (box) => [box.left + box.width / 2 - at.left - at.width / 2, box.top + box.height / 2 - at.top - at.height / 2];
    const ahead = seen()
      .map((cell) => [cell, ...away(cell.getBoundingClientRect())])
      .filter(([, dx, dy]) => (step[0] ? dx * step[0] > 2 && Math.abs(dy) < at.height / 2 : dy * step[1] > 2 && Math.abs(dx) < at.width / 2))
      .sort((a, b) => Math.hypot(a[1], a[2]) - Math.hypot(b[1], b[2]))[0];
    if (!ahead) return;
    event.preventDefault();
    from.setAttribute("tabindex", -1);
    ahead[0].setAttribute("tabindex", 0);
    ahead[0].focus();
  });
  first();
  return first;
}

tips();
