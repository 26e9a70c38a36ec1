// How the study was made: judging, limits, versions, machines; and the downloads.

const MEANINGS = {
  proven: "the certificate proves the answer to the accuracy it is judged at; what the solver says does not count",
  refuted: "certified, and at odds with the known optimum: a mistake in cvxlink or in its library",
  wrong: "the solver claims that its answer is optimal, and the certificate does not prove it to the accuracy that it was asked for",
  inaccurate: "the answer is not proven, and the solver does not claim that it is, or was asked for less",
  "no bound": "there is an answer, and nothing to prove it by",
  "time limit": "it was stopped after the time of the study",
  "memory limit": "it was stopped when it took more memory than the study allows",
  "iteration limit": "the solver stopped at its own limit",
  crash: "its process ended",
  refused: "the solver, form or route does not take this program; the reason says why",
  "no licence": "the solver needs one",
  error: "anything else",
};

function rowsOfWords(rows) {
  return h("dl", { class: "plain" }, rows.filter(([, words]) => words).map(([name, words]) => h("div", {}, h("dt", {}, name), h("dd", { dir: "auto" }, words))));
}

function range(values, digits = 3) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map((v) => significant(v, digits));
  return low === high ? low : `${low} to ${high}`;
}

function numbersIn(name) { return cells.flatMap(({ record }) => (Array.isArray(record[name]) ? record[name] : [])).filter(isNumber); }

function limitsWords() {
  const { study } = data;
  const memory = study.memory_limit === null ? "no limit of memory" : `${typeof study.memory_limit === "number" ? `${significant(study.memory_limit / 1e6)} MB` : study.memory_limit} of memory`;
  return `${seconds(study.time_limit)} and ${memory} per cell, ${several(study.threads, "thread")}, ${several(study.repeats, "repeat")}; each cell in a process with these limits, in random order (seed ${study.seed})`;
}

function judgingWords() {
  if (data.kind === "solvers") {
    return "A cell counts as solved if a certificate, computed apart from the solver, proves its answer to the accuracy it is judged at. If a cell is repeated, one failure makes it a failure, and otherwise the median of its times counts.";
  }
  if (data.kind === "methods") return "All methods see the same data and the same links. Scores compare the clusters with the known classes.";
  return "Each cell calls a function, which reports its numbers.";
}

function versionsTable() {
  const found = new Map();
  for (const { record } of cells) for (const [name, version] of Object.entries(record.versions ?? {})) {
    if (!found.has(name)) found.set(name, new Set());
    if (version) found.get(name).add(version);
  }
  return rowsOfWords([...found].map(([name, versions]) => [named(name), [...versions].join(", ")]));
}

function machines() {
  const names = Object.keys(data.environments);
  const used = (name) => cells.filter(({ record }) => record.environment === name).length;
  const blocks = names.map((name) => h("section", { class: "machine" }, h("h4", {}, "Machine ", h("code", {}, name), ` · ${several(used(name), "cell")}`),
    rowsOfWords(machineRows(data.environments[name]))));
  const loads = numbersIn("load");
  const clocks = numbersIn("megahertz");
  const throttled = cells.map(({ record }) => record.throttled).filter(isNumber);
  blocks.push(rowsOfWords([
    ["load", loads.length ? `${range(loads, 2)} processes wanting a core, before and after cells` : "unknown"],
    ["clock", clocks.length ? `${range(clocks)} MHz, before and after cells` : null],
    ["throttling", throttled.length ? `cores were slowed down by heat during ${throttled.filter(Boolean).length} of ${several(throttled.length, "cell")}` : "unknown"],
  ]));
  return blocks;
}

function downloads() {
  const button = (words, id, act) => h("button", { type: "button", id, onclick: act, title: "Save all cells" }, words);
  const lines = async () => {
    await unpacked.catch(() => null);
    handOut(fileName(".jsonl"), jsonLines(cells), "application/jsonl");
  };
  const asTable = async () => {
    await unpacked.catch(() => null);
    handOut(fileName(".csv"), csv(cells, outcomeWords), "text/csv");
  };
  return h("div", { class: "downloads" }, button("CSV", "download-csv", asTable), button("JSON lines", "download-jsonl", lines));
}

function about() {
  const kinds = data.kind === "solvers" ? KINDS.map((kind) => [outcomeMark(kind), MEANINGS[kind]]) : [];
  const cut = data.longest < 2000 ? h("p", { class: "note" }, `Logs and plans are cut to ${data.longest} characters each, to keep this page small; the results on the disk have more.`) : null;
  document.getElementById("about-body").replaceChildren(
    h("div", { class: "columns" },
      h("section", {}, h("h3", {}, "Judging"), h("p", {}, judgingWords()), kinds.length ? rowsOfWords(kinds) : null),
      h("section", {}, h("h3", {}, "Limits"), h("p", {}, limitsWords()), h("h3", {}, "Machines"), machines()),
      h("section", {}, h("h3", {}, "Versions"), versionsTable(), h("h3", {}, "This page"), cut,
        h("p", {}, "It loads nothing: it works from disk, and in a mail. Its cells can be saved as CSV and as JSON lines, and each figure as SVG, with its title and legend."))));
}
