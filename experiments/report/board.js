// The leaderboard: sorted by its headings, filtered by data set and epsilon.

function leaderboard() {
  const table = byId("board");
  if (!table) return;
  const groups = [...table.tBodies].map((body) => [...body.rows].filter((row) => row.dataset.values));
  const values = new Map(groups.flat().map((row) => [row, JSON.parse(row.dataset.values)]));
  const headings = [...table.tHead.querySelectorAll("button")];
  headings.forEach((button) => button.addEventListener("click", () => sortBy(button)));
  const [dataset, epsilon] = [byId("by-dataset"), byId("by-epsilon")];
  byId("filters").addEventListener("change", filter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  roving(table.tBodies[0], "td[data-tip]");
  filter();

  function sortBy(button) {
    const heading = button.closest("th");
    const up = heading.getAttribute("aria-sort") !== "ascending";
    headings.forEach((other) => other.closest("th").setAttribute("aria-sort", "none"));
    heading.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = button.dataset.key;
    groups.forEach((rows, i) => {
      rows.sort((a, b) => compare(values.get(a)[key], values.get(b)[key], up));
      table.tBodies[i].append(...rows);
    });
    rule();
  }

  /** Lines without a value stay last, whichever way the others go. */
  function compare(a, b, up) {
    const lacking = (a === undefined || a === null) - (b === undefined || b === null);
    if (lacking || a === undefined || a === null) return lacking;
    const order = typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b;
    return up ? order : -order;
  }

  function filter() {
    let shown = 0;
    for (const row of values.keys()) {
      const everywhere = row.dataset.reference && row.dataset.epsilon === "off";
      const fits =
        (!dataset.value || row.dataset.dataset === dataset.value) &&
        (!epsilon.value || everywhere || row.dataset.epsilon === epsilon.value);
      row.hidden = !fits;
      shown += fits;
    }
    byId("shown").textContent = `${shown} of ${values.size} lines shown`;
    rule();
  }

  /** A rule where data set or epsilon turn, as long as these are what the lines go by. */
  function rule() {
    const by = headings.find((button) => button.closest("th").getAttribute("aria-sort") !== "none");
    const grouped = !by || ["dataset", "epsilon"].includes(by.dataset.key);
    let before = null;
    for (const row of [...table.tBodies[0].rows].filter((one) => !one.hidden)) {
      const here = `${row.dataset.dataset} ${row.dataset.epsilon}`;
      row.classList.toggle("turn", grouped && before !== null && here !== before);
      before = here;
    }
  }
}
