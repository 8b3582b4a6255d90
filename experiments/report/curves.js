// Epsilon against a figure: a line per generator, whiskers for intervals, dots for real rows.

const SHAPES = ["circle", "square", "up", "diamond", "down", "plus"];

/** Colour and shape of each generator, the same in every chart. */
const LOOKS = new Map(
  unique(data.lines.filter((line) => !line.reference).map((line) => line.name)).map((name, i) => [
    name,
    // no two of 24 generators share colour and shape
    { colour: `var(--c${i % 8})`, shape: SHAPES[(i + Math.floor(i / 8)) % SHAPES.length] },
  ]),
);

function marker(shape, x, y, colour, attributes = {}) {
  const r = 5;
  const paths = {
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}z`,
    up: `M${x},${y - r - 1}l${r + 1},${2 * r}h${-2 * r - 2}z`,
    down: `M${x},${y + r + 1}l${r + 1},${-2 * r}h${-2 * r - 2}z`,
    diamond: `M${x},${y - r - 2}l${r + 1.5},${r + 2}l${-r - 1.5},${r + 2}l${-r - 1.5},${-r - 2}z`,
    plus: `M${x - 2},${y - 6}h4v4h4v4h-4v4h-4v-4h-4v-4h4z`,
  };
  const look = { class: "point", style: { fill: colour }, ...attributes };
  return shape === "circle" ? svg("circle", { cx: x, cy: y, r, ...look }) : svg("path", { d: paths[shape], ...look });
}

/** About five round values from low to high. */
function ticks(low, high) {
  const rough = (high - low) / 5;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(i * step);
  return { values: found, digits: Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)) };
}

function curves(figure, attack) {
  const measures = data.measures.filter((m) => m.attack === attack && m.better !== "none");
  if (!measures.length) return nothing(figure, attack ? "No attack was run." : "No figure of use was computed.");
  const hidden = new Set();
  const controls = new Controls(figure, draw);
  const canvas = figure.querySelector(".canvas");
  let width = 0;
  new ResizeObserver(() => Math.abs(canvas.clientWidth - width) > 8 && draw()).observe(canvas);
  draw();

  function draw() {
    const dataset = controls.offer("dataset", "Data set", Object.keys(data.columns).map((d) => [d, d]));
    const here = data.lines.filter((line) => line.dataset === dataset);
    const able = measures.filter((m) => here.some((line) => line.figures[m.name]));
    const preferred = attack ? "membership_hamming_all" : "tvd2";
    const name = controls.offer("metric", "Metric", able.map((m) => [m.name, `${m.label} ${m.arrow}`]), preferred);
    const measure = measures.find((m) => m.name === name);
    const lines = here.filter((line) => measure && line.figures[name]);
    if (!lines.length) return nothing(figure, "No finished run has this figure.");
    width = canvas.clientWidth || 600;
    canvas.replaceChildren(picture(lines, measure, Math.max(width, 280), dataset));
    legend(lines, here);
    caption(lines, measure);
  }

  function picture(lines, measure, wide, dataset) {
    const high = wide < 480 ? 300 : 360;
    const ranked = lines.filter((line) => !line.reference);
    const names = unique(ranked.map((line) => line.name)).filter((name) => !hidden.has(name));
    const visible = ranked.filter((line) => names.includes(line.name));
    const real = lines.filter((line) => line.reference === "real");
    const x = across(unique((ranked.length ? ranked : lines).map((line) => line.epsilon)).sort(bySize), wide);
    const mean = real.reduce((sum, line) => sum + line.figures[measure.name][0], 0) / real.length;
    const y = upwards(visible.length ? visible : real, measure, high, real.length ? mean : null);
    const clipId = `clip-${figure.id}`;
    const label = `${measure.label} on ${dataset} against epsilon; ${names.length} generators. The leaderboard has the numbers.`;
    const root = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": label });
    root.append(svg("clipPath", { id: clipId }, svg("rect", { x: 0, y: 8, width: wide, height: high - 50 })));
    axes(root, x, y, measure, wide, high);
    const levels = [];
    if (measure.better === "0.5") levels.push({ place: y.at(0.5), kind: "coin-line", texts: ["a coin"] });
    if (real.length) {
      const [place, where] = mean > y.top ? [y.head, "↑ "] : mean < y.low ? [y.foot, "↓ "] : [y.at(mean), ""];
      levels.push({ place, kind: "reference-line", texts: ["real rows", `${where}${number(mean)}`] });
    }
    drawLevels(root, levels, x, y);
    const plot = svg("g", { "clip-path": `url(#${clipId})` });
    names.forEach((name, i) => {
      const shift = (i - (names.length - 1) / 2) * Math.min(x.epsilons.length > 1 ? 7 : 40, x.room / names.length);
      plot.append(curve(visible.filter((line) => line.name === name), measure, x, y, shift));
    });
    root.append(plot);
    return root;
  }

  function curve(lines, measure, x, y, shift) {
    const look = LOOKS.get(lines[0].name);
    const group = svg("g", { "data-series": lines[0].name });
    const points = lines.sort((a, b) => bySize(a.epsilon, b.epsilon)).map((line) => {
      const [mean, half, folds] = line.figures[measure.name];
      return { line, mean, half, folds, x: x.at(line.epsilon) + shift, y: y.at(mean) };
    });
    const path = points.filter((p) => p.line.epsilon !== null).map((p) => `${p.x},${p.y}`).join(" ");
    group.append(svg("polyline", { class: "curve", points: path, style: { stroke: look.colour } }));
    for (const p of points) {
      if (p.half !== null) {
        const [low, high] = [y.at(p.mean - p.half), y.at(p.mean + p.half)];
        const d = `M${p.x},${low}V${high}M${p.x - 4},${low}h8M${p.x - 4},${high}h8`;
        group.append(svg("path", { class: "whisker", d, fill: "none", style: { stroke: look.colour } }));
      }
      const interval = p.half === null ? "one fold, no interval" : `95 % ${number(p.mean - p.half)} to ${number(p.mean + p.half)}, ${p.folds} folds`;
      const tip = `${lineName(p.line)}\n${measure.label} ${p.mean} (${interval})`;
      group.append(marker(look.shape, p.x, p.y, look.colour, { tabindex: 0, role: "img", "aria-label": tip, "data-tip": tip }));
    }
    return group;
  }

  function across(epsilons, wide) {
    const [left, right] = [58, wide - 68];
    const numbers = epsilons.filter((e) => e !== null).map(Math.log10);
    const off = epsilons.includes(null);
    const end = off && numbers.length ? right - 70 : right;
    const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
    const pad = Math.min(50, (end - left) / 6);
    const at = (epsilon) => {
      if (epsilon === null) return numbers.length ? right - 20 : (left + right) / 2;
      return high > low ? left + pad + ((Math.log10(epsilon) - low) / (high - low)) * (end - left - 2 * pad) : (left + end) / 2;
    };
    const places = epsilons.map(at);
    const gaps = places.slice(1).map((place, i) => place - places[i]);
    return { epsilons, at, left, right, room: gaps.length ? Math.min(0.6 * Math.min(...gaps), 2 * pad) : 0.8 * (right - left) };
  }

  function upwards(lines, measure, high, real) {
    const figures = lines.map((line) => line.figures[measure.name]);
    const means = [...figures.map(([mean]) => mean), ...(measure.better === "0.5" ? [0.5] : [])];
    if (!means.length) means.push(0, 1);
    let [low, top] = [Math.min(...means), Math.max(...means)];
    const span = top - low || Math.abs(top) * 0.2 || 0.1;
    // wide intervals of few folds may stretch the scale, but not without end
    const halves = figures.map(([, half]) => half ?? 0).sort((a, b) => a - b);
    const reach = Math.max(0.6 * span, 1.3 * (halves[Math.floor(halves.length / 2)] ?? 0));
    const ends = figures.flatMap(([mean, half]) => [mean - (half ?? 0), mean + (half ?? 0)]);
    [low, top] = [Math.max(Math.min(low, ...ends), low - reach) - 0.06 * span, Math.min(Math.max(top, ...ends), top + reach) + 0.06 * span];
    // real rows far away would press all others into one line: they stand at the edge then
    const room = top - low;
    if (real !== null && real < top + room && real > low - room) [low, top] = [Math.min(low, real - 0.05 * room), Math.max(top, real + 0.05 * room)];
    const [least, most] = measure.bounds;
    if (least !== null && low - least < 0.5 * (top - low)) low = least;
    if (most !== null && top > most) top = most + 0.03 * (most - low);
    const [foot, head] = [high - 46, 14];
    return { low, top, at: (value) => foot - ((value - low) / (top - low)) * (foot - head), foot, head };
  }

  function axes(root, x, y, measure, wide, high) {
    const { values, digits } = ticks(y.low, y.top);
    for (const value of values) {
      root.append(svg("line", { class: "grid", x1: x.left - 6, x2: x.right + 6, y1: y.at(value), y2: y.at(value) }));
      root.append(svg("text", { x: x.left - 12, y: y.at(value) + 4, "text-anchor": "end", class: "quiet", text: value.toFixed(digits) }));
    }
    root.append(svg("line", { class: "axis", x1: x.left - 6, x2: x.right + 6, y1: y.foot, y2: y.foot }));
    let taken = -Infinity;
    for (const epsilon of x.epsilons) {
      const place = x.at(epsilon);
      root.append(svg("line", { class: "axis", x1: place, x2: place, y1: y.foot, y2: y.foot + 5 }));
      if (place - taken < 26) continue;
      taken = place;
      root.append(svg("text", { x: place, y: y.foot + 18, "text-anchor": "middle", class: "quiet", text: epsilon === null ? "no noise" : epsilon }));
    }
    root.append(svg("text", { x: (x.left + x.right) / 2, y: high - 6, "text-anchor": "middle", text: "epsilon (logarithmic)" }));
    const title = svg("text", { transform: `translate(13 ${(y.foot + y.head) / 2}) rotate(-90)`, "text-anchor": "middle", text: `${measure.label} ${measure.arrow}` });
    root.append(title);
  }

  /** Lines across the chart; their names stand in the margin, apart from each other. */
  function drawLevels(root, levels, x, y) {
    let taken = -Infinity;
    for (const { place, kind, texts } of levels.sort((a, b) => a.place - b.place)) {
      root.append(svg("line", { class: kind, x1: x.left - 6, x2: x.right + 6, y1: place, y2: place }));
      const first = Math.min(Math.max(place + 4 - 7 * (texts.length - 1), taken + 14, y.head), y.foot - 14);
      texts.forEach((text, i) => root.append(svg("text", { x: x.right + 10, y: first + 14 * i, class: "quiet", text })));
      taken = first + 14 * (texts.length - 1);
    }
  }

  function legend(lines, here) {
    const names = unique(here.filter((line) => !line.reference).map((line) => line.name));
    const able = new Set(lines.map((line) => line.name));
    const buttons = names.map((name) => {
      const look = LOOKS.get(name);
      const key = svg("svg", { width: 26, height: 16, "aria-hidden": "true" }, svg("line", { x1: 0, x2: 26, y1: 8, y2: 8, class: "curve", style: { stroke: look.colour } }), marker(look.shape, 13, 8, look.colour));
      const text = able.has(name) ? name : `${name} (no figures)`;
      const button = el("button", { type: "button", "aria-pressed": String(!hidden.has(name)) }, key, text);
      button.addEventListener("click", () => {
        hidden.has(name) ? hidden.delete(name) : hidden.add(name);
        draw();
        [...figure.querySelectorAll(".legend button")][names.indexOf(name)].focus();
      });
      const fade = (on) => figure.querySelectorAll("[data-series]").forEach((g) => g.classList.toggle("faded", on && g.dataset.series !== name));
      button.addEventListener("pointerenter", () => fade(!hidden.has(name)));
      button.addEventListener("pointerleave", () => fade(false));
      return button;
    });
    figure.querySelector(".legend").replaceChildren(...buttons);
  }

  function caption(lines, measure) {
    const single = lines.some((line) => line.figures[measure.name][1] === null);
    const epsilons = unique(lines.filter((line) => !line.reference).map((line) => line.epsilon));
    const parts = [
      `${measure.tip}. Whiskers: 95 % intervals, cut at the edge; points stand side by side so that they can be told apart.`,
      lines.some((line) => line.reference === "real") ? "Dotted: the training rows themselves, at the edge with an arrow where they are off the scale." : "",
      single ? "Points without whiskers come from a single fold." : "",
      epsilons.length === 1 ? "There is only one epsilon in these runs." : "",
    ];
    figure.querySelector("figcaption").textContent = parts.filter(Boolean).join(" ");
  }
}
