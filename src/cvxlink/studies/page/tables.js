// Tables: what the figures say in numbers, and all cells, sorted and filtered.

function table(caption, head, rows, more = {}) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    h("table", more, h("caption", { class: "unseen" }, caption), h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

function heading(text, more = {}) { return h("th", { scope: "col", ...more }, text); }
function number(text, value, more = {}) { return h("td", { class: "number", "data-value": isNumber(value) ? value : null, ...more }, text); }

function nameCell(name) {
  return h("th", { scope: "row", class: "name" }, swatchBox(name), named(name));
}

function swatchBox(name) {
  return s("svg", { width: 30, height: 12, viewBox: "0 -6 30 12", "aria-hidden": "true" }, swatch(name));
}

function bar(share) {
  if (!isNumber(share)) return null;
  const fill = h("i", {});
  fill.style.width = `${100 * share}%`;
  return h("span", { class: "bar", "aria-hidden": "true" }, fill);
}

// ---------------------------------------------------------------------- studies of solvers

function bestFirst(times, means) {
  const { solved } = times;
  return times.configurations.map((_, k) => k).sort((a, b) => solved[b] - solved[a] || means[a] - means[b]);
}

function solversTable(times, chosen) {
  const means = times.means(data.shift);
  const { solved } = times;
  const { finished } = times;
  const fastest = times.fastestOn(data.tie);
  const rows = bestFirst(times, means).map((k) => {
    const name = times.configurations[k];
    const mine = chosen.filter((cell) => cell.record.configuration === name);
    const wrong = mine.filter((cell) => outcome(cell, state.judged) === "wrong").length;
    return h("tr", { "data-name": name }, nameCell(name),
      number([bar(solved[k] / finished[k]), h("span", { class: "share" }, `${solved[k]} of ${finished[k]}`)], solved[k], { "data-key": "solved" }),
      number(seconds(means[k]), means[k], { "data-key": "mean" }),
      number(fastest[k], fastest[k], { "data-key": "fastest" }),
      number(wrong ? h("span", { class: "wrong" }, `${wrong} wrong`) : "0", wrong, { "data-key": "wrong" }));
  });
  return table("Each configuration: proven instances, mean time, how often it is fastest, wrong claims", [
    heading("Configuration"), heading("Proven", { class: "number" }), heading(state.onlySolving ? "Mean time, solver only" : ["Mean time", h("small", {}, data.ranked)], { class: "number" }),
    heading("Fastest on", { class: "number" }), heading("Claimed optimal, not proven", { class: "number" }),
  ], rows, { id: "summary" });
}

// With ties, an equals sign comes before their number.
function winsTable(names, wins, words, ties = null) {
  const most = Math.max(1, ...wins.flat());
  const rows = names.map((name, a) => h("tr", {}, nameCell(name), names.map((other, b) => {
    if (a === b) return h("td", { class: "number same", "aria-label": "the same" }, "·");
    const tied = ties?.[a][b] ?? 0;
    const cell = number([String(wins[a][b]), tied ? h("small", {}, ` = ${tied}`) : ""], wins[a][b],
      { title: `${name} ${words} ${other} on ${wins[a][b]}${tied ? `, and as good on ${tied}` : ""}`, "data-ties": tied });
    cell.style.setProperty("--share", `${Math.round((60 * wins[a][b]) / most)}%`);
    cell.classList.add("shaded");
    return cell;
  })));
  return table("On how many instances the row beats the column",
    [heading(""), names.map((name) => heading(named(name), { class: "number across" }))], rows, { id: "wins" });
}

const KINDS = ["proven", "refuted", "wrong", "inaccurate", "no bound", "time limit", "memory limit", "iteration limit", "crash", "refused", "no licence", "error"];

function failuresTable(names, chosen) {
  const counts = new Map(names.map((name) => [name, new Map()]));
  for (const cell of chosen) {
    const mine = counts.get(cell.record.configuration);
    const kind = outcome(cell, state.judged);
    mine?.set(kind, (mine.get(kind) ?? 0) + 1);
  }
  const all = unique([...KINDS, ...[...counts.values()].flatMap((mine) => [...mine.keys()])]);
  const kinds = all.filter((kind) => ["proven", "wrong"].includes(kind) || names.some((name) => counts.get(name).has(kind)));
  const rows = names.map((name) => h("tr", { "data-name": name }, nameCell(name), kinds.map((kind) => {
    const count = counts.get(name).get(kind) ?? 0;
    const shown = count ? h("button", { type: "button", class: "count", title: "Show these cells", onclick: () => showOnly(name, kind) }, String(count)) : "·";
    return number(shown, count, { "data-kind": kind, class: `number ${["wrong", "refuted"].includes(kind) && count ? "is-wrong" : ""}` });
  })));
  const heads = kinds.map((kind) => heading(kind === "wrong" ? ["wrong", h("small", {}, "claimed optimal, not proven")] : kind, { class: "number" }));
  return table("Cells of each configuration by what came of them", [heading("Configuration"), heads], rows, { id: "failures" });
}

// Where time and memory go, over the cells that are proven.
function effortTable(names, chosen) {
  const parts = Object.keys(data.stages);
  const taken = (timings, part) => timings && data.stages[part].reduce((sum, name) => sum + (timings[name] ?? 0), 0);
  const middle = (values) => (values.length ? median(values) : null);
  const rows = names.map((name) => {
    const mine = chosen.filter((cell) => cell.record.configuration === name && outcome(cell, state.judged) === "proven").map((cell) => cell.record);
    const of = (read) => middle(mine.map(read).filter(isNumber));
    const times = parts.map((part) => of((record) => taken(record.timings, part)));
    const errors = of((record) => (Array.isArray(record.dimacs) ? Math.max(...record.dimacs.filter(isNumber).map(Math.abs)) : null));
    return h("tr", {}, nameCell(name), times.map((t) => number(seconds(t), t)),
      number(significant(of((record) => record.megabytes)), of((record) => record.megabytes)),
      number(power(errors), errors), number(significant(of((record) => record.iterations)), of((record) => record.iterations)),
      number(spread(mine), null));
  });
  return table("Medians over proven cells", [
    heading("Configuration"), parts.map((part) => heading(part[0].toUpperCase() + part.slice(1), { class: "number" })),
    heading("Memory, MB", { class: "number" }), heading("Largest DIMACS error", { class: "number" }), heading("Iterations", { class: "number" }),
    heading("Spread over repeats", { class: "number" }),
  ], rows, { id: "effort" });
}

// How many times as long the slowest repeat of a cell takes as the fastest one, in the median.
function spread(records) {
  const groups = new Map();
  for (const record of records) {
    if (!isNumber(record.seconds)) continue;
    if (!groups.has(record.instance)) groups.set(record.instance, []);
    groups.get(record.instance).push(record.seconds);
  }
  const ratios = [...groups.values()].filter((times) => times.length > 1).map((times) => Math.max(...times) / Math.max(1e-9, Math.min(...times)));
  return ratios.length ? `${significant(median(ratios))}×` : "–";
}

function claimsTable(claims, common) {
  const rows = claims.map(({ name, outside, optimal, mean: middle, off }) => h("tr", { "data-name": name }, nameCell(name),
    h("td", {}, outside ? "another tool" : "this study"), number(`${optimal} of ${common}`, optimal), number(seconds(middle), middle), number(off || "·", off)));
  return table("What is claimed, not proven", [
    heading("Name"), heading("From"), heading("Claims optimal on", { class: "number" }), heading("Mean time", { class: "number" }),
    heading("Value is off on", { class: "number" }),
  ], rows, { class: "claims" });
}

// ---------------------------------------------------------------------- studies of methods and of functions

function scoresTable(chosen, names, scoreNames) {
  const all = scoreNames.map((score) => scoresOf(chosen, score));
  const intervals = all.map(intervalsOf);
  const failures = (name) => chosen.filter((cell) => cell.record.configuration === name && !numbersOf(cell.record)).length;
  const order = all.length && data.kind === "methods" ? state.scoreOrder(all[Math.max(0, scoreNames.indexOf(state.score))], names) : names;
  const rows = order.map((name) => h("tr", { "data-name": name }, nameCell(name), all.map((scores, place) => {
    const k = scores.configurations.indexOf(name);
    const { mean: middle, half } = intervals[place][k] ?? {};
    if (!isNumber(middle)) return number("–", null, { "data-key": scoreNames[place] });
    const more = half === null ? "" : h("small", {}, ` ${plusMinus(half)}`);
    return number([minus(significant(middle)), more], middle, { "data-key": scoreNames[place] });
  }), number(failures(name) || "·", failures(name), { "data-key": "failures" })));
  return table("Means over the instances, with half the width of their 95 % confidence intervals",
    [heading("Configuration"), scoreNames.map((score) => heading([named(score), data.score_names[score] ? h("small", {}, data.score_names[score]) : ""], { class: "number" })), heading("Failures", { class: "number" })], rows, { id: "summary" });
}

// Wilcoxon's signed-rank test for each pair, adjusted by Holm's method over the pairs that are shown.
function pairsTable(names) {
  const p = data.tests.find((one) => one.score === state.score && one.accuracy === state.asked)?.p ?? {};
  const place = (name) => state.names.indexOf(name);
  const pairs = names.flatMap((a, i) => names.slice(i + 1).map((b) => [a, b]));
  const raw = ([a, b]) => p[[place(a), place(b)].sort((x, y) => x - y).join(",")] ?? 1;
  const adjusted = holm(pairs.map(raw));
  const of = new Map(pairs.map((pair, k) => [pair.join("\u0000"), adjusted[k]]));
  const rows = names.map((a) => h("tr", {}, nameCell(a), names.map((b) => {
    const value = of.get([a, b].join("\u0000")) ?? of.get([b, a].join("\u0000"));
    if (value === undefined) return h("td", { class: "number same" }, "·");
    return number(value < 0.001 ? "< 0.001" : value.toFixed(3), value, { class: `number ${value < 0.05 ? "differs" : ""}` });
  })));
  return table("p-values of Wilcoxon’s signed-rank test for each pair, adjusted by Holm’s method",
    [heading(""), names.map((name) => heading(named(name), { class: "number across" }))], rows, { id: "pairs" });
}

// ---------------------------------------------------------------------- all cells

const FIRST_ROWS = 100;

function columnsOfCells(scoreNames) {
  const has = (read) => cells.some((cell) => (read(cell.record) ?? null) !== null);
  const plain = [
    { name: "Instance", text: true, read: (cell) => cell.record.instance, show: named },
    { name: "Configuration", text: true, read: (cell) => cell.record.configuration, show: named },
    { name: "Asked", read: (cell) => cell.record.accuracy, show: power, when: state.accuracies.length > 1 },
    { name: "Repeat", read: (cell) => (cell.record.repeat ?? 0) + 1, show: String, when: cells.some((cell) => cell.record.repeat) },
    { name: "Outcome", text: true, read: (cell) => outcomeWords(cell), show: outcomeMark },
    { name: "Proven to", read: (cell) => cell.record.proven_to, show: power, when: has((record) => record.proven_to) },
    { name: "Time", read: (cell) => cell.record.seconds, show: seconds },
    { name: "Gap", read: (cell) => cell.record.gap, show: power, when: has((record) => record.gap) },
    { name: "Violation", read: (cell) => cell.record.violation, show: power, when: has((record) => record.violation) },
    { name: "Value", read: (cell) => cell.record.value, show: (v) => minus(significant(v, 5)), when: has((record) => record.value) },
    { name: "MB", read: (cell) => cell.record.megabytes, show: (v) => significant(v), when: has((record) => record.megabytes) },
  ];
  const scored = scoreNames.filter((score) => score !== "seconds").map((score) => ({ name: score, read: (cell) => scoreOf(cell.record, score), show: (v) => minus(significant(v)) }));
  return [...plain, ...scored].filter((column) => column.when !== false);
}

function outcomeWords(cell) {
  const found = outcome(cell, state.judged);
  if (cell.record.outside && cell.record.claimed) return `claims ${String(cell.record.claimed).toLowerCase()}`;
  if (found !== "scored") return found;
  return numbersOf(cell.record) ? "done" : "failed";
}

function outcomeMark(words) { return h("span", { class: `outcome ${words.replace(/ /g, "-")}` }, words); }

const collator = new Intl.Collator("en", { numeric: true });
function compared(a, b) {
  const [noA, noB] = [a, b].map((v) => v === null || v === undefined);
  if (noA || noB) return noA - noB || 0;
  return typeof a === "string" ? collator.compare(a, b) : a - b;
}

class CellsTable {
  constructor(place, scoreNames) {
    this.columns = columnsOfCells(scoreNames);
    this.sorted = { column: 0, falls: false };
    this.isWhole = false;
    this.query = h("input", { type: "search", id: "query", placeholder: "part of a name", autocomplete: "off", spellcheck: "false", oninput: () => this.draw() });
    this.kind = h("select", { id: "kind", onchange: () => this.draw() });
    this.count = h("p", { class: "counted", role: "status", id: "counted" });
    this.body = h("div", {});
    place.replaceChildren(h("div", { class: "filters" },
      h("label", {}, "Filter ", this.query), h("label", {}, "Outcome ", this.kind), this.count, downloads()), this.body);
  }

  filtered() {
    const words = this.query.value.trim().toLowerCase();
    const fits = (cell) => !words || [`${cell.record.instance} ${cell.record.configuration} ${outcomeWords(cell)}`, cell.record.reason ?? ""]
      .some((text) => String(text).toLowerCase().includes(words));
    const found = shownCells().filter((cell) => (!this.kind.value || outcomeWords(cell) === this.kind.value) && fits(cell));
    const { column, falls } = this.sorted;
    const { read } = this.columns[column];
    const missing = (cell) => read(cell) === null || read(cell) === undefined;
    // What has no value stays at the end, whichever way the rest is sorted.
    return found.sort((a, b) => missing(a) - missing(b) || (falls ? -1 : 1) * compared(read(a), read(b)) || a.place - b.place);
  }

  // The cells of one configuration of which one thing came.
  show(name, kind) {
    this.query.value = name;
    this.draw(kind);
  }

  draw(chosen = this.kind.value) {
    const kinds = unique(shownCells().map(outcomeWords)).sort();
    this.kind.replaceChildren(h("option", { value: "" }, "all"), ...kinds.map((kind) => h("option", { value: kind, selected: kind === chosen }, kind)));
    this.found = this.filtered();
    const rows = (this.isWhole ? this.found : this.found.slice(0, FIRST_ROWS)).map((cell) => this.row(cell));
    this.count.textContent = `${this.found.length.toLocaleString("en-GB")} of ${several(shownCells().length, "cell")}`;
    const more = this.found.length > rows.length && h("button", { type: "button", class: "more", onclick: () => { this.isWhole = true; this.draw(); } },
      `Show all ${this.found.length.toLocaleString("en-GB")} cells`);
    const none = h("tr", {}, h("td", { colspan: this.columns.length, class: "none" }, "No cell fits. Clear the filter to see all."));
    this.body.replaceChildren(table("All cells; select one for its details", this.columns.map((column, k) => this.head(column, k)),
      rows.length ? rows : none, { id: "all-cells" }), more || "");
  }

  head(column, k) {
    const mine = this.sorted.column === k;
    const way = mine ? (this.sorted.falls ? "descending" : "ascending") : "none";
    const turn = () => {
      this.sorted = { column: k, falls: mine && !this.sorted.falls };
      this.draw();
      this.body.querySelectorAll("th button")[k].focus();
    };
    return h("th", { scope: "col", "aria-sort": way, class: column.text ? "" : "number" },
      h("button", { type: "button", onclick: turn }, named(column.name), h("span", { class: "way", "aria-hidden": "true" }, mine ? (this.sorted.falls ? "▼" : "▲") : "↕")));
  }

  row(cell) {
    const open = () => showDetails(cell, this.found);
    return h("tr", { "data-index": cell.index, onclick: open }, this.columns.map((column, k) => {
      const value = column.read(cell) ?? null;
      const shown = column.show(value);
      if (k === 0) return h("th", { scope: "row" }, h("button", { type: "button", class: "open", onclick: (event) => { event.stopPropagation(); open(); } }, shown));
      return h("td", { class: column.text ? "" : "number", "data-value": isNumber(value) ? value : null }, shown);
    }));
  }
}
