// Cells of maps and bars are reached by the arrow keys.
for (const map of document.querySelectorAll("table.heat")) roving(map, "td.cell");
for (const grid of document.querySelectorAll(".multiples")) roving(grid, ".bars i");
