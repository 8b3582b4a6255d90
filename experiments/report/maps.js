// Heat maps: columns by generator, and pairs of columns of one generator.

/** How strong a value's colour is: 0 to 100 of the largest. */
const heat = (value, most) => Math.round(100 * Math.min(value / (most || 1), 1));

function scale(most) {
  return el("span", { class: "scale" }, "0", el("i", { "aria-hidden": "true" }), `${number(most / 1000)} or more`);
}

const label = (name) => data.measures.find((measure) => measure.name === name)?.label ?? name;
const tipOf = (name) => data.measures.find((measure) => measure.name === name)?.tip ?? name;

/** The largest value of the ranked lines of a data set, so that colours mean the same for all. */
function largest(lines, part, metric) {
  const ranked = lines.filter((line) => !line.reference);
  const values = (ranked.length ? ranked : lines).flatMap((line) => line[part]?.[metric] ?? []);
  return Math.max(1, ...values.filter((value) => value !== null));
}

function columnMap(figure) {
  const able = data.lines.filter((line) => Object.keys(line.columns ?? {}).length);
  if (!able.length) return nothing(figure, "No finished run has figures by column.");
  const controls = new Controls(figure, draw);
  draw();

  function draw() {
    const dataset = controls.offer("dataset", "Data set", unique(able.map((line) => line.dataset)).map((d) => [d, d]));
    const here = able.filter((line) => line.dataset === dataset);
    const epsilons = unique(here.filter((line) => !line.reference).map((line) => line.epsilon)).sort(bySize).map(epsilonText);
    const epsilon = controls.offer("epsilon", "Epsilon", epsilons.map((e) => [e, e]), "1");
    const metric = controls.offer("metric", "Metric", unique(here.flatMap((line) => Object.keys(line.columns))).map((m) => [m, label(m)]));
    const chosen = here.filter((line) => line.columns[metric] && (line.reference ? line.epsilon === null || epsilonText(line.epsilon) === epsilon : epsilonText(line.epsilon) === epsilon));
    const lines = [...chosen.filter((line) => !line.reference), ...chosen.filter((line) => line.reference)];
    if (!lines.length) return nothing(figure, "No finished run has this figure.");
    const most = largest(here, "columns", metric);
    const table = heatTable(lines, data.columns[dataset], metric, most);
    const box = el("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Heat map by column, scrolls sideways" }, table);
    figure.querySelector(".canvas").replaceChildren(box);
    roving(table.tBodies[0], "td.cell");
    figure.querySelector("figcaption").replaceChildren(`${tipOf(metric)}. Means over runs. `, scale(most));
  }

  function heatTable(lines, columns, metric, most) {
    const apart = lines.findIndex((line) => line.reference);
    const edge = (i) => (i === apart && i > 0 ? " apart" : "");
    const head = el("tr", {}, el("th", { scope: "col", text: "Column" }), ...lines.map((line, i) => el("th", { scope: "col", class: edge(i), text: line.name })));
    const rows = columns.map((column, j) => {
      const cells = lines.map((line, i) => {
        const value = line.columns[metric][j];
        if (value === null) return el("td", { class: `quiet${edge(i)}`, text: "–" });
        const share = heat(value, most);
        const tip = `${column}: ${label(metric)} ${number(value / 1000)} with ${lineName(line)} (${line.runs} run${line.runs > 1 ? "s" : ""})`;
        return el("td", { class: `cell${share > 60 ? " strong" : share > 50 ? " middling" : ""}${edge(i)}`, style: { "--heat": `${share}%` }, "data-tip": tip, text: number(value / 1000) });
      });
      return el("tr", {}, el("th", { scope: "row", text: column }), ...cells);
    });
    return el("table", { class: "heat" }, el("thead", {}, head), el("tbody", {}, ...rows));
  }
}

function pairMap(figure) {
  const able = data.lines.filter((line) => Object.keys(line.pairs ?? {}).length && data.columns[line.dataset].length > 1);
  if (!able.length) return nothing(figure, "No finished run has figures by pair of columns.");
  const controls = new Controls(figure, draw);
  draw();

  function draw() {
    const dataset = controls.offer("dataset", "Data set", unique(able.map((line) => line.dataset)).map((d) => [d, d]));
    const here = able.filter((line) => line.dataset === dataset);
    const place = controls.offer("line", "Generator", here.map((line) => [data.lines.indexOf(line), lineName(line)]));
    const line = data.lines[Number(place)];
    const metric = controls.offer("metric", "Metric", Object.keys(line.pairs).map((m) => [m, label(m)]));
    const most = largest(here, "pairs", metric);
    const columns = data.columns[dataset];
    const pairs = [];
    columns.forEach((a, i) => columns.slice(0, i).forEach((b, j) => pairs.push({ a, b, i, j, value: line.pairs[metric][(i * (i - 1)) / 2 + j] })));
    const box = el("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Heat map by pair, scrolls sideways" }, triangle(columns, pairs, metric, most, lineName(line)));
    figure.querySelector(".canvas").replaceChildren(el("div", { class: "map" }, box, worst(pairs, metric)));
    roving(box, "rect.cell");
    figure.querySelector("figcaption").replaceChildren(`${tipOf(metric)}. Means over runs; the colours mean the same for every generator of this data set. `, scale(most));
  }

  function triangle(columns, pairs, metric, most, name) {
    const size = Math.max(14, Math.min(30, Math.floor(460 / columns.length)));
    const left = Math.min(10 + 7.2 * Math.max(...columns.map((c) => Math.min(c.length, 22))), 160);
    const side = size * (columns.length - 1);
    const [wide, high] = [left + side + 24, side + left * 0.8 + 14];
    const root = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: wide, height: high, role: "group", "aria-label": `${label(metric)} of each pair of columns with ${name}` });
    root.style.minWidth = `${Math.min(wide, columns.length > 12 ? wide : 300)}px`;
    pairs.forEach(({ a, b, i, j, value }) => {
      if (value === null) return;
      const tip = `${b} and ${a}: ${label(metric)} ${number(value / 1000)}`;
      root.append(svg("rect", { class: "cell", x: left + j * size, y: (i - 1) * size + 2, width: size - 1, height: size - 1, style: { "--heat": `${heat(value, most)}%` }, role: "img", "aria-label": tip, "data-tip": tip }));
    });
    columns.forEach((column, i) => {
      const text = clip(column, 22);
      if (i > 0) root.append(svg("text", { x: left - 6, y: (i - 0.5) * size + 5, "text-anchor": "end", text }));
      if (i < columns.length - 1) root.append(svg("text", { transform: `translate(${left + (i + 0.5) * size + 3} ${side + 10}) rotate(-50)`, "text-anchor": "end", text }));
    });
    return root;
  }

  function worst(pairs, metric) {
    const found = pairs.filter((pair) => pair.value !== null).sort((a, b) => b.value - a.value).slice(0, 10);
    const rows = found.map((pair) => el("tr", {}, el("td", { text: `${pair.b} and ${pair.a}` }), el("td", { class: "num", text: number(pair.value / 1000) })));
    const head = el("tr", {}, el("th", { scope: "col", text: "Worst pairs" }), el("th", { scope: "col", class: "num", text: label(metric) }));
    return el("table", { class: "plain" }, el("thead", {}, head), el("tbody", {}, ...rows));
  }
}
