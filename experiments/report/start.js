// Everything begins here, after the page has been read.

tips();
leaderboard();
curves(byId("use-chart"), false);
curves(byId("attack-chart"), true);
columnMap(byId("column-map"));
pairMap(byId("pair-map"));
marginGrid(byId("margin-grid"));

// paper cannot be clicked: open what is closed, and close it again afterwards
const opened = [];
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([open])").forEach((one) => {
    one.open = true;
    opened.push(one);
  });
});
addEventListener("afterprint", () => opened.splice(0).forEach((one) => (one.open = false)));
