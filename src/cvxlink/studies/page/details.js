// One cell in full: numbers, log, plan, versions, machine, and the command that repeats it.

const dialog = document.getElementById("details");

async function showDetails(cell, among = [cell]) {
  fillDetails(cell, among);
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("h2").focus();
  if (texts) return;
  try {
    await unpacked;
    if (dialog.open && dialog.dataset.index === String(cell.index)) fillDetails(cell, among);
  } catch {
    dialog.querySelector(".body").prepend(h("p", { class: "note" }, "This browser cannot unpack the logs and plans; a newer one can."));
  }
}

dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("keydown", (event) => {
  const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (step && !event.target.closest("pre, input")) dialog.querySelector(step < 0 ? ".before" : ".after")?.click();
});

function fillDetails(cell, among) {
  const { record } = cell;
  const place = among.indexOf(cell);
  const step = (by, words, className) => h("button", {
    type: "button", class: className, disabled: !among[place + by], onclick: () => showDetails(among[place + by], among),
  }, words);
  dialog.dataset.index = cell.index;
  dialog.replaceChildren(
    h("header", {},
      h("div", {}, h("p", { class: "kicker" }, outcomeMark(outcomeWords(cell)), ` · cell ${place + 1} of ${among.length}`),
        h("h2", { id: "details-title", tabindex: "-1" }, named(record.instance), ", ", named(record.configuration))),
      h("nav", { "aria-label": "Cells" }, step(-1, "← Previous", "before"), step(1, "Next →", "after"),
        h("button", { type: "button", class: "close", onclick: () => dialog.close() }, "Close"))),
    h("div", { class: "body" },
      record.reason ? h("p", { class: "reason", dir: "auto" }, String(record.reason)) : null,
      commandBlock(record), answerGroup(cell), timeGroup(record), machineGroup(record),
      tableGroup(data.kind === "functions" ? "Numbers" : "Scores", numbersOf(record), (v) => minus(significant(v, 6))), tableGroup("Words", record.words),
      tableGroup("Tolerances the solver was asked for", record.tolerances, power), tableGroup("Options of the solver", record.solver_options),
      tableGroup("Versions", record.versions), textGroup("Plan", record.plan), textGroup("Log, its last words", record.log)));
}

function facts(title, rows) {
  const kept = rows.filter(([, value]) => value !== null && value !== undefined && value !== "–" && value !== "");
  if (!kept.length) return null;
  return h("section", {}, h("h3", {}, title), h("dl", {}, kept.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, value)))));
}

function answerGroup({ record }) {
  const names = ["primal infeasibility", "X not semidefinite", "dual infeasibility", "Z not semidefinite", "gap", "⟨X, Z⟩"];
  const dimacs = Array.isArray(record.dimacs) ? record.dimacs.map((error, k) => [`DIMACS ${k + 1}: ${names[k] ?? ""}`, power(error)]) : [];
  return facts("Answer", [
    ["Status", record.status], ["The solver claims", record.claimed], ["Proven to", power(record.proven_to)],
    ["Asked for", power(record.accuracy)], ["Value", exact(record.value)], ["Proven bound", exact(record.bound)],
    ["Relative gap", power(record.gap)], ["Largest violation", power(record.violation)], ["Iterations", exact(record.iterations)],
    ["Answered by", record.by], ["Stopped by", record.stopped_by], ["Repeat", (record.repeat ?? 0) + 1], ...dimacs,
  ]);
}

function exact(value) { return isNumber(value) ? minus(String(Number(value.toPrecision(10)))) : "–"; }

function timeGroup(record) {
  const timings = Object.entries(record.timings ?? {}).filter(([, t]) => t);
  return facts("Time and memory", [
    ["Seconds", seconds(record.seconds)], ...timings.map(([name, t]) => [`of which ${name}`, seconds(t)]),
    ["With starting the process", seconds(record.whole_seconds)], ["Peak memory", isNumber(record.megabytes) ? `${significant(record.megabytes)} MB` : null],
    ["Started", record.started && String(record.started).replace("T", " ").replace("+00:00", " UTC")],
  ]);
}

function beforeAndAfter(pair, unit = "") {
  return Array.isArray(pair) ? pair.map((v) => (isNumber(v) ? significant(v) + unit : "unknown")).join(" → ") : null;
}

function machineGroup(record) {
  const machine = data.environments[record.environment] ?? {};
  return facts("Machine", [
    ["Load before → after", beforeAndAfter(record.load)], ["Clock before → after", beforeAndAfter(record.megahertz, " MHz")],
    ["Slowed down by heat", isNumber(record.throttled) ? several(record.throttled, "time") : null], ["Environment", record.environment], ...machineRows(machine),
  ]);
}

const CAPITALS = { cpu: "CPU", blas: "BLAS", gigabytes: "memory, GB" };
function machineRows(machine) {
  return flat(machine, "", ", ").map(([name, value]) => [CAPITALS[name] ?? name.replace(/_/g, " "), said(value)]);
}

function said(value) {
  if (value === true) return "yes";
  if (value === false) return "no";
  return value === null || value === undefined ? null : String(value);
}

function tableGroup(title, values, show = said) {
  if (!values || typeof values !== "object") return null;
  return facts(title, Object.entries(values).map(([name, value]) => [named(name), isNumber(value) ? show(value) : said(value)]));
}

function textGroup(title, text) {
  if (!text || !String(text).trim()) return null;
  return h("section", {}, h("h3", {}, title), h("pre", { tabindex: "0", dir: "ltr" }, String(text)));
}

function quoted(text) { return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`; }

function accuracyWords(accuracy) { return data.accuracies.find(([number]) => number === accuracy)?.[1] ?? accuracy; }

// A folder of its own, as a cell that has a result is not computed again.
function commandOf(record) {
  const repeat = record.repeat ? `, repeat ${record.repeat + 1}` : "";
  const cell = `${record.instance}, ${record.configuration}, ${accuracyWords(record.accuracy)}${repeat}`;
  return `cvxlink study run ${quoted(data.file)} --only ${quoted(cell)} --folder again`;
}

function commandBlock(record) {
  if (record.outside) return h("p", { class: "note" }, "This result was read from another tool’s table.");
  const command = commandOf(record);
  const copy = h("button", {
    type: "button", class: "copy", onclick: async () => {
      try { await navigator.clipboard.writeText(command); copy.textContent = "Copied"; }
      catch { getSelection().selectAllChildren(code); }
    },
  }, "Copy");
  const code = h("code", {}, command);
  return h("section", { class: "command" }, h("h3", {}, "Repeat this cell"), h("pre", { tabindex: "0", dir: "ltr" }, code), copy);
}
