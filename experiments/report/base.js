"use strict";
// One script, joined from several files: this one has what the others use.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** An HTML element; `attributes.text` is its text, null attributes are left out. */
function el(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** An SVG element. */
function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined) continue;
    if (key === "text") node.textContent = value;
    else if (key === "style") for (const [k, v] of Object.entries(value)) node.style.setProperty(k, v);
    else node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

/** A number as it stands in tables. */
function number(value) {
  const size = Math.abs(value);
  if (size >= 100) return value.toLocaleString("en", { maximumFractionDigits: 0 });
  return value.toFixed(size >= 10 ? 2 : 3).replace(/^-(0\.0+)$/, "$1");
}

const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;
const epsilonText = (epsilon) => (epsilon === null ? "off" : String(epsilon));
const unique = (values) => [...new Set(values)];
const bySize = (a, b) => (a === null) - (b === null) || a - b;
const clip = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** What a line is called where its data set is known. */
function lineName(line) {
  return line.reference && line.epsilon === null
    ? line.name
    : `${line.name}, epsilon ${epsilonText(line.epsilon)}`;
}

/** Selects in the controls of a figure; `redraw` gets the chosen values by name. */
class Controls {
  constructor(figure, redraw) {
    this.box = figure.querySelector(".controls");
    this.redraw = redraw;
    this.selects = {};
  }

  /** Add or refill a select; options are [value, text]. Keeps the choice where it can. */
  offer(name, label, options, fallback) {
    let select = this.selects[name];
    if (!select) {
      select = this.selects[name] = el("select", { "data-name": name });
      select.addEventListener("change", () => this.redraw());
      this.box.append(el("label", {}, `${label} `, select));
    }
    const before = select.value;
    select.replaceChildren(...options.map(([value, text]) => el("option", { value, text })));
    const values = options.map(([value]) => String(value));
    if (values.includes(before)) select.value = before;
    else if (fallback !== undefined && values.includes(String(fallback))) select.value = fallback;
    select.parentElement.hidden = options.length < 2 && name === "dataset";
    return select.value;
  }
}

/** Say why there is no chart. */
function nothing(figure, text) {
  figure.querySelector(".canvas").replaceChildren(el("p", { class: "empty", text }));
  figure.querySelector("figcaption").textContent = "";
  figure.querySelector(".legend")?.replaceChildren();
}

// -- exact numbers on hover, focus or touch ---------------------------------------

function tips() {
  const tip = byId("tip");
  let holder = null;
  const hide = () => {
    tip.hidden = true;
    holder?.removeAttribute("aria-describedby");
    holder = null;
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
  const place = () => {
    const box = holder.getBoundingClientRect();
    const [wide, high] = [tip.offsetWidth, tip.offsetHeight];
    const left = Math.min(Math.max(box.left + box.width / 2 - wide / 2, 6), innerWidth - wide - 6);
    tip.style.left = `${Math.max(left, 6)}px`;
    tip.style.top = `${box.top > high + 12 ? box.top - high - 7 : Math.min(box.bottom + 7, innerHeight - high - 6)}px`;
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
  const cells = () => [...holder.querySelectorAll(selector)].filter((cell) => cell.getClientRects().length);
  cells().forEach((cell, i) => cell.setAttribute("tabindex", i ? -1 : 0));
  holder.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = event.target.closest(selector);
    if (!step || !from) return;
    const at = from.getBoundingClientRect();
    const middle = (box) => [box.left + box.width / 2, box.top + box.height / 2];
    const [x, y] = middle(at);
    const ahead = cells()
      .map((cell) => ({ cell, box: cell.getBoundingClientRect() }))
      .map(({ cell, box }) => ({ cell, dx: middle(box)[0] - x, dy: middle(box)[1] - y }))
      .filter(({ dx, dy }) => (step[0] ? dx * step[0] > 2 && Math.abs(dy) < at.height / 2 : dy * step[1] > 2 && Math.abs(dx) < at.width / 2))
      .sort((a, b) => Math.abs(a.dx) + Math.abs(a.dy) - Math.abs(b.dx) - Math.abs(b.dy))[0];
    if (!ahead) return;
    event.preventDefault();
    from.setAttribute("tabindex", -1);
    ahead.cell.setAttribute("tabindex", 0);
    ahead.cell.focus();
  });
}
