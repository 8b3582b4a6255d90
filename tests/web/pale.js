// Texts and fields whose contrast with what lies behind them is below 4.5 (WCAG 2, level AA).
const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const parsed = (text) => text.match(/[\d.]+/g).map(Number);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const color = parsed(getComputedStyle(e).backgroundColor);
    if (color.length < 4 || color[3] > 0) return color;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
};
const ratio = (one, other) => {
  const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const shown = (e) => e.checkVisibility() && !e.disabled && !e.closest("svg");
const written = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
const hints = (e) => (e.placeholder ? [getComputedStyle(e, "::placeholder").color] : []);
return [...document.querySelectorAll("body *")]
  .filter((e) => shown(e) && (written(e) || e.matches("input, select, textarea")))
  .flatMap((e) => [getComputedStyle(e).color, ...hints(e)].map((color) => [ratio(parsed(color), behind(e)), e.outerHTML.slice(0, 90)]))
  .filter(([found]) => found < 4.5);
