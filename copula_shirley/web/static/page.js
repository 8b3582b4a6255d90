"use strict";
// A slider is the logarithm of its number; what was changed is planned anew before it can run.
const plan = document.getElementById("plan-form");
if (plan) {
  for (const slider of plan.querySelectorAll("[data-log-of]")) {
    const number = document.getElementById(slider.dataset.logOf);
    const follow = () => { if (Number(number.value) > 0) slider.value = Math.log10(Number(number.value)); };
    slider.addEventListener("input", () => {
      number.value = Number((10 ** Number(slider.value)).toPrecision(2));
    });
    number.addEventListener("input", follow);
    follow();
  }
  const run = document.getElementById("run-button");
  plan.addEventListener("input", () => { if (run) run.disabled = true; });
  plan.addEventListener("change", () => { if (plan.checkValidity()) plan.requestSubmit(); });
}
// Progress of a run, once a second; the page is loaded again at the end.
const progress = document.getElementById("progress");
if (progress) {
  const stage = document.getElementById("stage");
  const ask = async () => {
    try {
      const said = await (await fetch(progress.dataset.status)).json();
      if (said.state !== "running") { location.reload(); return; }
      progress.value = said.share;
      stage.textContent = said.stage;
    } catch { stage.textContent = "the page does not answer; is it still running?"; }
    setTimeout(ask, 1000);
  };
  setTimeout(ask, 500);
}
// A form is sent once; its button says so.
for (const form of document.querySelectorAll("form[method=post]")) {
  form.addEventListener("submit", (event) => {
    const asks = event.submitter && event.submitter.dataset.confirm;
    if (form.dataset.sent || (asks && !window.confirm(asks))) { event.preventDefault(); return; }
    form.dataset.sent = "yes";
    document.body.classList.add("busy");
  });
}
// A page that the back button brings again as it was left knows nothing of what was sent.
window.addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
// The field of a kind that has no such field is hidden.
for (const row of document.querySelectorAll("[data-column]")) {
  const kind = row.querySelector("select[data-kind]");
  if (!kind) continue;
  const show = () => {
    const fields = (kind.selectedOptions[0].dataset.fields || "").split(" ");
    for (const cell of row.querySelectorAll("[data-field]")) {
      cell.hidden = !fields.includes(cell.dataset.field);
      const place = cell.closest("td");
      if (!place.querySelector("[data-kind]")) place.classList.toggle("none", cell.hidden);
    }
    row.classList.toggle("left", !kind.selectedOptions[0].dataset.fields);
  };
  kind.addEventListener("change", show);
  show();
}
// What is filled in beside a choice makes it.
for (const part of document.querySelectorAll("[data-chooses]")) {
  part.addEventListener("input", () => { document.getElementById(part.dataset.chooses).checked = true; });
}
