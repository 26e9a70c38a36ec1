// The page: what it shows, and when it draws again.

const state = {
  names: unique([...data.configurations, ...cells.map((cell) => cell.record.configuration)]),
  accuracies: unique(cells.map((cell) => cell.record.accuracy)).filter(isNumber).sort((a, b) => b - a),
  hidden: new Set(),
  asked: null,
  onlySolving: false, // whether times are those of the solver alone
  judged: null, // null: at the accuracy that was asked for
  scoreNames: [],
  score: null,
  scoreOrder(scores, names) {
    const middle = new Map(intervalsOf(scores).map((one, k) => [scores.configurations[k], one.mean]));
    const key = (name) => (isNumber(middle.get(name)) ? middle.get(name) * (scores.lowerIsBetter ? 1 : -1) : Infinity);
    return [...names].sort((a, b) => key(a) - key(b) || 0);
  },
};
state.names = state.names.filter((name) => cells.some((cell) => cell.record.configuration === name));
// Rows of tables that are equal otherwise stand in this order.
[...cells].sort((a, b) => compared(a.record.instance, b.record.instance) || state.names.indexOf(a.record.configuration) - state.names.indexOf(b.record.configuration)
  || b.record.accuracy - a.record.accuracy || a.record.repeat - b.record.repeat || a.index - b.index).forEach((cell, place) => { cell.place = place; });
state.asked = state.accuracies[0] ?? null;
state.scoreNames = data.kind === "solvers" ? [] : scoreNames();
state.score = state.scoreNames.includes(data.score) ? data.score : state.scoreNames[0] ?? null;

// The scores of a cell, or the numbers that a function returned; null if it failed.
function numbersOf(record) {
  const numbers = record.scores ?? record.numbers ?? null;
  return numbers && Object.keys(numbers).length ? numbers : null;
}

function scoreNames() {
  const found = unique(cells.flatMap(({ record }) => Object.keys(numbersOf(record) ?? {})));
  return [...found, ...(found.includes("seconds") ? [] : ["seconds"])];
}

function scoreOf(record, score) {
  const values = numbersOf(record);
  if (score === "seconds" && values && !("seconds" in values)) return record.seconds;
  return values?.[score] ?? null;
}

function scoreInFull(score) { return data.score_names[score] ? `${score} (${data.score_names[score]})` : score; }

function scoresOf(chosen, score) {
  const lower = data.lower_is_better.includes(score);
  return new Scores(chosen, shownNames(), (record) => scoreOf(record, score), lower);
}

// Draws are what repeats in a study of methods; calls of functions count as independent of one another.
function intervalsOf(scores) {
  if (data.kind === "methods") return scores.intervals();
  return scores.each((k) => interval(scores.values.map((row) => row[k]).filter(isNumber)));
}

function shownNames() { return state.names.filter((name) => !state.hidden.has(name)); }
function shownCells() {
  return cells.filter(({ record }) => !state.hidden.has(record.configuration) && (state.accuracies.length < 2 || record.accuracy === state.asked || !isNumber(record.accuracy)));
}
// Rows of other tools carry no certificate: they stand in the table of cells, and in no figure.
function comparedCells() { return shownCells().filter((cell) => !cell.record.outside); }
// The time that is compared: all from the declared program to the answer, or only what the solver takes.
function rankedSeconds(record) {
  if (!state.onlySolving) return record.seconds;
  if (!record.timings) return null;
  return data.stages.solve.reduce((sum, stage) => sum + (record.timings[stage] ?? 0), 0);
}
function currentTimes() { return new Times(comparedCells(), state.names, data.study.time_limit, state.judged, rankedSeconds); }

// ---------------------------------------------------------------------- drawing

let drawn = [];

function figureElement(figure) {
  const plot = h("div", { class: "plot" });
  const save = h("button", { type: "button", class: "quiet save", "aria-label": `Save as SVG: ${figure.title}`, onclick: () => handOut(fileName(`-${figure.id}.svg`), standing(figure), "image/svg+xml") }, "SVG");
  const element = h("figure", { id: figure.id }, h("figcaption", {}, h("div", { class: "figure-head" }, h("h3", {}, figure.title), save), h("p", { class: "note" }, figure.note)), plot);
  drawn.push({ figure, plot });
  return element;
}

function drawFigures() {
  for (const { figure, plot } of drawn) {
    const width = Math.max(280, Math.floor(plot.clientWidth));
    plot.replaceChildren(figure.draw(width, false));
  }
}

function titled(title, note, ...content) { return h("section", { class: "part" }, h("h3", {}, title), note ? h("p", { class: "note" }, note) : null, content); }

function solversSections(chosen, names) {
  const times = currentTimes();
  const shown = times.configurations;
  return {
    summary: solversTable(times, chosen),
    sections: [
      h("section", {}, h("h2", {}, "Time and accuracy"),
        times.common.length ? null : h("p", { class: "note" }, "There is no instance on which all the configurations that are shown have a result, so there are no profiles. Hide some to compare the others."),
        times.common.length && !times.common.some((row) => row.some(Number.isFinite)) ? h("p", { class: "note" }, "Nothing is proven to this accuracy, so there are no profiles.") : null,
        h("div", { class: "figures" },
        [...(times.common.some((row) => row.some(Number.isFinite)) ? [performanceProfile(times), dataProfile(times), meansFigure(times)] : []), scatter(chosen, shown, times.limit)].map(figureElement))),
      h("section", {}, h("h2", {}, "Who wins, and what fails"), h("div", { class: "figures" },
        titled("Faster on", `On how many instances the row beats the column: by more than ${percent(data.tie - 1)} of the time, or as the only one to prove its answer.`, winsTable(shown, times.wins(data.tie), "beats")),
        titled("What came of the cells", "A count shows its cells in the table below. Wrong: the solver claims that its answer is optimal, and the certificate does not prove it to the accuracy that it was asked for.", failuresTable(shown, chosen))),
      ...claimed(),
      titled("Where time and memory go", "Medians over the proven cells.", effortTable(shown, chosen))),
    ],
  };
}

function methodsSections(chosen, names) {
  const scores = scoresOf(chosen, state.score);
  const isRanked = data.kind === "methods" && scores.configurations.length > 1 && scores.rows.length > 0;
  const means = intervalsOf(scores).some((one) => isNumber(one.mean)) ? [intervalsFigure(scores, state.score)] : [];
  const none = means.length ? null : h("p", { class: "note" }, `There is no instance with ${state.score} of all that are shown. Hide some to compare the others.`);
  const figures = [...means, ...(isRanked && scores.blocks.length > 1 ? [rankFigure(scores, state.score)] : []), ...linkCurves(scores, state.score)];
  const compared = isRanked ? [h("section", {}, h("h2", {}, "Pair by pair"), h("div", { class: "figures" },
    titled("Better on", `On how many instances the method of the row has the better ${state.score} than that of the column; behind an equals sign, on how many both have the same.`, winsTable(scores.configurations, scores.wins(), "is better than", scores.ties())),
    titled("Do they differ?", `p-values of Wilcoxon’s signed-rank test over the ${scores.unit} that all methods score, adjusted by Holm’s method; below 0.05 in bold.`, pairsTable(scores.configurations))))] : [];
  return {
    summary: scoresTable(chosen, names, state.scoreNames),
    sections: [h("section", {}, h("h2", {}, data.kind === "methods" ? "Scores" : "Numbers"), none, h("div", { class: "figures" }, figures.map(figureElement))), ...compared],
  };
}

// Other tools beside the study, by what all of them claim.
function claimed() {
  return data.claims.filter((one) => one.accuracy === state.asked).map(({ common, claims, at_limit: atLimit }) => {
    const note = `What solvers and other tools say on the ${several(common, "instance")} that both have. Other machines are not made up for. ${atLimit}`;
    return titled("As claimed, not proven", note.trim(), claimsTable(claims, common));
  });
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; draw(); });
}

function draw() {
  hideHint();
  drawn = [];
  const [chosen, names] = [comparedCells(), shownNames()];
  const place = document.getElementById("sections");
  const summary = document.getElementById("summary-body");
  if (!chosen.length || (data.kind !== "solvers" && !state.score)) {
    summary.replaceChildren();
    place.replaceChildren(h("p", { class: "note empty" }, cells.length ? (chosen.length ? "No cell has numbers to show." : "All configurations are hidden. Show one to see figures.") : "There are no results yet."));
  } else {
    const made = data.kind === "solvers" ? solversSections(chosen, names) : methodsSections(chosen, names);
    summary.replaceChildren(made.summary);
    place.replaceChildren(...made.sections);
    drawFigures();
  }
  noteWhatIsShown();
  cellsTable.draw();
  const judged = data.kind === "solvers" ? `Judged at ${shortPower(state.judged ?? state.asked)}. ` : "";
  document.getElementById("announced").textContent = `${judged}${several(names.length, "configuration")} shown.`;
}

// The table of cells, at what a count in the table of failures counts.
function showOnly(name, kind) {
  cellsTable.show(name, kind);
  document.getElementById("cells").scrollIntoView();
}

// ---------------------------------------------------------------------- the head and the foot

const MOST_SENTENCES = 6;

// Of many sentences the first ones and the cautions are shown at once; all are printed.
function sentences() {
  const isCaution = (sentence) => sentence.startsWith("Caution");
  const found = data.conclusions.filter((sentence) => !isCaution(sentence));
  const first = found.length > MOST_SENTENCES + 1 ? found.slice(0, MOST_SENTENCES) : found;
  const listed = (all) => all.map((sentence) => h("li", { dir: "auto" }, sentence));
  const place = document.getElementById("conclusions");
  place.replaceChildren(...listed([...first, ...data.conclusions.filter(isCaution)]));
  if (data.kind === "solvers" && data.conclusions.length && state.accuracies.length) {
    place.before(h("p", { class: "note", id: "asked-for" }, state.accuracies.length > 1 ? "At the accuracies asked for:" : `At the accuracy asked for, ${power(state.accuracies[0])}:`));
  }
  const rest = found.slice(first.length);
  if (!rest.length) return;
  const more = h("details", {}, h("summary", {}, `${several(rest.length, "more sentence")}`), h("ul", { class: "conclusions" }, listed(rest)));
  addEventListener("beforeprint", () => { more.open = true; });
  place.after(more);
}

function head() {
  const own = cells.filter(({ record }) => !record.outside);
  const instances = unique(own.map((cell) => cell.record.instance)).length;
  const configurations = unique(own.map((cell) => cell.record.configuration)).length;
  const started = cells.map((cell) => cell.record.started).filter(Boolean).map(String).sort();
  const day = (text) => new Date(text).toLocaleDateString("en-GB", { day: "numeric", month: "long", year: "numeric", timeZone: "UTC" });
  const days = started.length ? unique([day(started[0]), day(started[started.length - 1])]).filter((one) => one !== "Invalid Date") : [];
  const versions = unique(cells.map((cell) => cell.record.versions?.cvxlink).filter(Boolean));
  const asked = data.kind === "solvers" && state.accuracies.length ? `accuracy ${state.accuracies.map(power).join(" and ")}` : null;
  document.getElementById("kicker").textContent = { solvers: "A study of solvers", methods: "A study of methods", functions: "A study of functions" }[data.kind];
  const said = [several(instances, "instance"), several(configurations, "configuration"), several(own.length, "cell"),
    own.length < cells.length ? `${several(cells.length - own.length, "row")} of other tools` : null, asked,
    `${seconds(data.study.time_limit)} per cell`, days.join(" to "), versions.length ? `cvxlink ${versions.join(", ")}` : null];
  document.getElementById("facts").replaceChildren(...said.filter(Boolean).map((words) => h("span", {}, words)));
  sentences();
  document.getElementById("findings").append(h("div", { id: "summary-body" }));
  document.getElementById("footer").textContent = "Made by cvxlink study report. An answer counts when it is proven, not when it is claimed.";
}

head();
controls();
about();
const cellsTable = new CellsTable(document.getElementById("cells-body"), state.scoreNames);
draw();

let lastWidth = document.documentElement.clientWidth;
addEventListener("resize", () => {
  if (document.documentElement.clientWidth === lastWidth) return;
  lastWidth = document.documentElement.clientWidth;
  drawFigures();
});

// For tests and for the curious: the numbers behind the figures, as they are shown now.
window.cvxlinkStudy = { cells, state, times: currentTimes, scores: (score) => scoresOf(comparedCells(), score), unpacked };
