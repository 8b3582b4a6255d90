// Margins of one generator beside those of the test rows: grey bars are real, marks synthetic.

function marginGrid(figure) {
  const able = data.lines.filter((line) => line.margins?.some(Boolean));
  if (!able.length) return nothing(figure, "No finished run has margins.");
  const controls = new Controls(figure, draw);
  draw();

  function draw() {
    const dataset = controls.offer("dataset", "Data set", unique(able.map((line) => line.dataset)).map((d) => [d, d]));
    const here = able.filter((line) => line.dataset === dataset);
    const place = controls.offer("line", "Generator", here.map((line) => [data.lines.indexOf(line), lineName(line)]));
    const line = data.lines[Number(place)];
    const panels = data.columns[dataset].map((column, i) => line.margins[i] && panel(column, line.margins[i]));
    const grid = el("div", { class: "multiples" }, ...panels.filter(Boolean));
    figure.querySelector(".canvas").replaceChildren(grid);
    roving(grid, "rect.hit");
    const [fold, seed] = line.first;
    const key = [el("span", { class: "key-real" }), "real test rows ", el("span", { class: "key-synthetic" }), `synthetic rows, fold ${fold}, seed ${seed} alone. `];
    const cut = data.cut ? `To keep this file small, ${data.cut} lines have no margins or pairs here.` : "";
    figure.querySelector("figcaption").replaceChildren(...key, `TVD: half the sum of all differences of shares. ${cut}`);
  }

  function panel(column, [labelsAt, realAt, synthetic]) {
    const labels = data.pool[labelsAt];
    const cells = labels.map((text, i) => ({ text, real: data.pool[realAt][i] / 10000, made: synthetic[i] / 10000 }));
    const off = cells.reduce((sum, cell) => sum + Math.abs(cell.real - cell.made), 0) / 2;
    const title = el("h3", {}, column, el("span", { text: `TVD ${number(off)}` }));
    return el("div", {}, title, bars(column, cells, off));
  }

  function bars(column, cells, off) {
    const [wide, high, left, foot] = [260, 120, 38, 100];
    const most = Math.max(...cells.flatMap((cell) => [cell.real, cell.made]), 1e-4);
    const step = (wide - left) / cells.length;
    const y = (share) => foot - (share / most) * (foot - 10);
    const root = svg("svg", { viewBox: `0 0 ${wide} ${high}`, width: "100%", role: "group", "aria-label": `${column}: real against synthetic, total variation ${number(off)}` });
    root.append(svg("text", { x: left - 4, y: 15, "text-anchor": "end", class: "quiet", text: `${Math.round(100 * most)}%` }));
    root.append(svg("text", { x: left - 4, y: foot, "text-anchor": "end", class: "quiet", text: "0" }));
    cells.forEach((cell, i) => {
      const x = left + i * step;
      const [gap, thin] = [Math.min(step * 0.1, 3), step < 5];
      root.append(svg("rect", { class: "real-bar", x: x + gap, y: y(cell.real), width: Math.max(step - 2 * gap, 0.5), height: foot - y(cell.real) }));
      root.append(svg("line", { class: "synthetic-mark", x1: x + (thin ? 0 : gap), x2: x + step - (thin ? 0 : gap), y1: y(cell.made), y2: y(cell.made) }));
      if (!thin) root.append(svg("line", { class: "synthetic-stem", x1: x + step / 2, x2: x + step / 2, y1: y(cell.made), y2: y(cell.real) }));
      const tip = `${column}: ${cell.text}\nreal ${percent(cell.real)}, synthetic ${percent(cell.made)}`;
      root.append(svg("rect", { class: "hit", x, y: 0, width: step, height: foot, role: "img", "aria-label": tip, "data-tip": tip }));
    });
    root.append(svg("line", { class: "axis", x1: left, x2: wide, y1: foot, y2: foot }));
    names(root, cells, left, step, foot + 14);
    return root;
  }

  /** All names where they fit, else the first and the last. */
  function names(root, cells, left, step, y) {
    const letters = Math.floor(step / 6.8);
    const all = cells.every((cell) => cell.text.length < letters) || cells.length <= 3;
    cells.forEach((cell, i) => {
      const last = i === cells.length - 1;
      if (!all && i && !last) return;
      const anchor = all ? "middle" : i ? "end" : "start";
      const x = all ? left + (i + 0.5) * step : i ? left + cells.length * step : left;
      root.append(svg("text", { x, y, "text-anchor": anchor, class: "quiet", text: clip(cell.text, all ? Math.max(letters - 1, 3) : 17) }));
    });
  }
}
