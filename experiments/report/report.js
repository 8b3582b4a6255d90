// The leaderboard is sorted and filtered, pieces of charts are chosen.
// Whatever is shown was written by the report: the script draws nothing.
const bodyOf = (row) => row.parentElement;

// -- the leaderboard --------------------------------------------------------------

function leaderboard() {
  const table = byId("board");
  if (!table) return;
  const rows = [...table.querySelectorAll("tr[data-values]")];
  const values = new Map(rows.map((row) => [row, JSON.parse(row.dataset.values)]));
  const headings = [...table.tHead.querySelectorAll("th")];
  const [dataset, epsilon] = [byId("by-dataset"), byId("by-epsilon")];
  headings.forEach((heading) => heading.querySelector("button").addEventListener("click", () => sortBy(heading)));
  byId("filters").addEventListener("change", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  roving(table, "td[data-tip]");
  filter();

  function sortBy(heading) {
    const up = heading.getAttribute("aria-sort") !== "ascending";
    headings.forEach((other) => other.setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const { key } = heading.querySelector("button").dataset;
    rows.sort((a, b) => compare(values.get(a)[key] ?? null, values.get(b)[key] ?? null, up));
    rows.forEach((row) => bodyOf(row).append(row));
    rule();
  }

  /** Lines without a value stay last, whichever way the others go. */
  function compare(a, b, up) {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return up ? order : -order;
  }

  function filter() {
    for (const row of rows) {
      const everywhere = row.dataset.reference && row.dataset.epsilon === "off";
      const here = !dataset.value || row.dataset.dataset === dataset.value;
      row.hidden = !(here && (!epsilon.value || everywhere || row.dataset.epsilon === epsilon.value));
    }
    byId("shown").textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} lines shown`;
    rule();
  }

  /** A rule where data set or epsilon turn, as long as these are what the lines go by. */
  function rule() {
    const by = headings.find((heading) => heading.getAttribute("aria-sort") !== "none");
    const grouped = !by || ["dataset", "epsilon"].includes(by.querySelector("button").dataset.key);
    for (const part of table.tBodies) {
      const shown = [...part.querySelectorAll("tr[data-values]:not([hidden])")];
      part.querySelector(".divider").hidden = !shown.length;
      let before = null;
      for (const row of shown) {
        const here = `${row.dataset.dataset} ${row.dataset.epsilon}`;
        row.classList.toggle("turn", grouped && before !== null && here !== before);
        before = here;
      }
    }
  }
}

// -- charts -----------------------------------------------------------------------

/** The pieces of all charts: a line of JSON with the choices, then one for each piece. */
async function pieces() {
  const bytes = Uint8Array.from(atob(byId("data").textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const [choices, ...found] = (await new Response(stream).text()).trim().split("\n").map((line) => JSON.parse(line));
  for (const [chart, labels] of Object.entries(choices)) {
    const own = found.filter(([name]) => name === chart);
    if (own.length) choosing(byId(chart), labels, own);
  }
}

/** Selects for a chart; each offers what there is with the choices before it. */
function choosing(figure, labels, own) {
  const canvas = figure.querySelector(".canvas");
  const hidden = new Set();
  const selects = labels.map(([text]) => {
    const [label, select] = [document.createElement("label"), document.createElement("select")];
    select.dataset.name = text;
    select.addEventListener("change", show);
    label.append(`${text} `, select);
    figure.querySelector(".controls").append(label);
    return select;
  });
  const again = roving(canvas, "td.cell, .bars i");
  canvas.addEventListener("click", (event) => toggle(event.target.closest("[aria-pressed]")));
  canvas.addEventListener("pointerover", (event) => fade(event.target.closest("[aria-pressed]")));
  show();

  function show() {
    let left = own;
    selects.forEach((select, i) => {
      const before = select.value;
      const values = [...new Set(left.map(([, choice]) => choice[i]))];
      select.replaceChildren(...values.map((value) => new Option(value, value)));
      const first = values.find((value) => value === labels[i][1]) ?? values[0];
      select.value = values.includes(before) ? before : first;
      select.parentElement.hidden = values.length < 2 && i === 0;
      left = left.filter(([, choice]) => choice[i] === select.value);
    });
    canvas.innerHTML = left[0][2];
    canvas.querySelectorAll("[aria-pressed]").forEach((button) => hidden.has(button.dataset.series) && press(button, false));
    again();
  }

  function toggle(button) {
    if (!button) return;
    const { series } = button.dataset;
    press(button, hidden.has(series));
    hidden.has(series) ? hidden.delete(series) : hidden.add(series);
  }

  function press(button, shown) {
    button.setAttribute("aria-pressed", shown);
    of(button.dataset.series, (group) => group.classList.toggle("gone", !shown));
  }

  function fade(button) {
    const on = button?.getAttribute("aria-pressed") === "true";
    canvas.querySelectorAll("svg [data-series]").forEach((group) => group.classList.toggle("faded", on && group.dataset.series !== button.dataset.series));
  }

  function of(series, change) {
    [...canvas.querySelectorAll("svg [data-series]")].filter((group) => group.dataset.series === series).forEach(change);
  }
}

// -- everything begins here -------------------------------------------------------

leaderboard();
// what drives a browser can see that everything is there
pieces().then(() => (document.body.dataset.ready = "yes"));

// paper cannot be clicked: open what is closed, and close it again afterwards
const opened = [];
addEventListener("beforeprint", () => {
  opened.push(...document.querySelectorAll("details:not([open])"));
  opened.forEach((one) => (one.open = true));
});
addEventListener("afterprint", () => opened.splice(0).forEach((one) => (one.open = false)));
