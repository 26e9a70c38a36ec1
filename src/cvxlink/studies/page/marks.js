// Figures made of marks: time against proven accuracy, means, scores with intervals, ranks.

// ---------------------------------------------------------------------- time against what is proven

function timeWords() { return state.onlySolving ? "seconds, solver only" : "seconds"; }

const NOT_PROVEN = "not proven";

function scatter(chosen, names, limit) {
  const timed = chosen.filter((cell) => isNumber(rankedSeconds(cell.record)));
  const times = timed.map((cell) => Math.max(rankedSeconds(cell.record), 1e-4));
  const proven = timed.map((cell) => cell.record.proven_to).filter(isNumber);
  const unproven = timed.filter((cell) => !isNumber(cell.record.proven_to));
  return {
    id: "scatter",
    title: "Time against proven accuracy",
    note: `Each mark is a cell, at the finest accuracy to which its certificate proves the answer; lower left is better. Cells that prove nothing stand at the upper edge. Rings mark wrong claims${timed.length <= 3000 ? "; select a mark for its details" : ""}.`,
    label: `Time against proven accuracy of ${several(timed.length, "cell")}; ${unproven.length} of them prove nothing. The table of cells has the same numbers.`,
    draw(width, alone) {
      const chart = framed({
        width, alone, height: 360, names, label: this.label, title: [this.title, judgedWords()],
        x: (a, b) => logScale(niceBelow(Math.min(limit / 10, ...times)), Math.max(limit, ...times) * 1.15, a + 6, b - 6),
        y: (a, b) => Object.assign(logScale(Math.min(1e-10, ...proven), 1, a, b + 34), { bottom: a, top: b }),
        xWords: timeWords(), yWords: "proven to", xTick: (v) => significant(v, 1), yTick: (v) => power(v), left: 58,
      });
      edges(chart, limit);
      const marks = s("g", { stroke: "var(--paper)", "stroke-width": 0.8 });
      timed.forEach((cell, k) => marks.append(scatterMark(cell, k, chart, alone)));
      chart.svg.append(marks);
      return chart.svg;
    },
  };
}

// The place of what is not proven, the accuracy asked for, and the limit of time.
function edges({ svg, X, Y, left, right, top, bottom }, limit) {
  const rule = (x1, x2, y1, y2) => s("line", { x1, x2, y1, y2, stroke: "var(--muted)", "stroke-dasharray": "4 3" });
  svg.append(s("rect", { x: left, y: top, width: right - left, height: 24, fill: "var(--soft)" }),
    words(NOT_PROVEN, left + 6, top + 16, { "font-style": "italic" }));
  const judged = state.judged ?? state.asked;
  if (isNumber(judged)) {
    svg.append(rule(left, right, Y(judged), Y(judged)), words(`judged at ${power(judged)}`, left + 6, Y(judged) - 5));
  }
  svg.append(rule(X(limit), X(limit), top, bottom), words("limit", X(limit) - 4, bottom - 6, { "text-anchor": "end" }));
}

function scatterMark(cell, k, { X, Y, top }, alone) {
  const { record } = cell;
  const { colour, marker } = look(record.configuration);
  const found = outcome(cell, state.judged);
  // Marks that would lie on one another are spread a little, each always in the same way.
  const y = isNumber(record.proven_to) ? Y(record.proven_to) : top + 12 + ((k * 7) % 13) - 6;
  const mark = s("g", {
    transform: `translate(${X(Math.max(rankedSeconds(record), 1e-4)).toFixed(1)} ${y.toFixed(1)})`, class: "mark",
    onclick: alone ? null : () => showDetails(cell),
  }, s("title", {}, `${record.instance}, ${record.configuration}: ${found}, ${seconds(rankedSeconds(record))}, proven to ${power(record.proven_to)}`));
  if (found === "wrong") mark.append(s("circle", { r: 7.5, fill: "none", stroke: "var(--bad)", "stroke-width": 2 }));
  mark.append(s("path", { d: marker, fill: colour, "fill-opacity": found === "proven" ? 0.9 : 0.45 }));
  return mark;
}

// ---------------------------------------------------------------------- rows of values

// One row for each name, with a mark at its value and, where there is one, a bar for its interval.
function rowsOfMarks({ width, alone, title, label, rows, scale, xWords, tick, low }) {
  const top = 8 + (alone ? HEAD : 0);
  const widest = Math.max(0, ...rows.map(({ name }) => textWidth(name, 13)));
  const left = Math.min(widest + 18, width * 0.42);
  const right = width - 22 - Math.max(40, ...rows.map(({ said }) => textWidth(said)));
  const bottom = top + rows.length * 30 + 6;
  const svg = canvas(width, bottom + 42, label);
  const X = scale(left + 8, right - 8);
  if (alone) svg.append(...titleLines(width, bottom + 42, title));
  for (const at of X.ticks) {
    svg.append(s("line", { x1: X(at), x2: X(at), y1: top, y2: bottom, stroke: "var(--grid)" }),
      words(tick(at), X(at), bottom + 16, { "text-anchor": "middle" }));
  }
  rows.forEach(({ name, value, half, said }, k) => {
    const y = top + 20 + k * 30;
    const { colour, dash, marker } = look(name);
    svg.append(s("text", { x: left - 10, y: y + 4, "text-anchor": "end", fill: "var(--ink)", "font-size": 13, "unicode-bidi": "isolate" },
      shortened(name, left - 14, 13)));
    if (!isNumber(value)) return;
    const [a, b] = isNumber(half) ? [value - half, value + half] : [low ?? value, value];
    svg.append(s("line", { x1: X(a), x2: X(b), y1: y, y2: y, stroke: colour, "stroke-width": isNumber(half) ? 2.5 : 2, "stroke-dasharray": dash || null }),
      s("path", { d: marker, transform: `translate(${X(value)} ${y}) scale(1.25)`, fill: colour, stroke: "var(--paper)", "stroke-width": 0.8 }),
      s("text", { x: right + 6, y: y + 4, fill: "var(--ink)", "font-size": 12 }, said));
  });
  svg.append(words(xWords, right, bottom + 34, { "text-anchor": "end" }));
  return svg;
}

function meansFigure(times) {
  const means = times.means(data.shift);
  const rows = times.configurations.map((name, k) => ({ name, value: means[k], said: seconds(means[k]) }))
    .sort((a, b) => a.value - b.value);
  const low = niceBelow(Math.max(1e-4, Math.min(...means) * 0.9));
  return {
    id: "means",
    title: "Mean time",
    note: `${state.onlySolving ? "Time of the solver only" : `${data.ranked[0].toUpperCase()}${data.ranked.slice(1)}`}. Shifted geometric mean over ${several(times.common.length, "instance")} on which all have a result (shift ${data.shift} s); a failure counts as the limit of ${seconds(times.limit)}.`,
    label: `Shifted geometric means. ${rows.map((row) => `${row.name}: ${row.said}`).join("; ")}.`,
    draw(width, alone) {
      return rowsOfMarks({
        width, alone, rows, low, label: this.label, title: [this.title, judgedWords()], xWords: timeWords(),
        scale: (a, b) => logScale(low, Math.max(...means, low * 10) * 1.05, a, b), tick: (v) => significant(v, 1),
      });
    },
  };
}

function intervalsFigure(scores, score) {
  const rows = intervalsOf(scores).map(({ mean: value, half }, k) => ({
    name: scores.configurations[k], value, half, said: `${minus(significant(value))}${half === null ? "" : ` ${plusMinus(half)}`}`,
  })).filter((row) => isNumber(row.value));
  rows.sort((a, b) => (scores.lowerIsBetter ? a.value - b.value : b.value - a.value));
  const [from, to] = padded(rows.flatMap((row) => [row.value - (row.half ?? 0), row.value + (row.half ?? 0)]));
  return {
    id: "intervals",
    title: `Mean ${score}`,
    note: data.kind === "methods"
      ? `Over the ${several(scores.rows.length, "instance")} that all methods score, with 95 % confidence intervals over draws. ${scores.lowerIsBetter ? "Lower" : "Higher"} is better.`
      : "Over the cells, with 95 % confidence intervals as if they were independent.",
    label: `Mean ${score}. ${rows.map((row) => `${row.name}: ${row.said}`).join("; ")}.`,
    draw(width, alone) {
      return rowsOfMarks({
        width, alone, rows, label: this.label, title: [this.title, this.note], xWords: score,
        scale: (a, b) => linearScale(from, to, a, b), tick: (v) => minus(String(v)), low: from,
      });
    },
  };
}

// ---------------------------------------------------------------------- critical differences

// Bars join methods whose mean ranks are closer than the critical difference; bars within other bars are left out.
function joined(ranks, difference) {
  const bars = [];
  ranks.forEach((rank, i) => {
    let j = i;
    while (j + 1 < ranks.length && ranks[j + 1] - rank <= difference) j += 1;
    if (j > i && !bars.some(([, end]) => end >= j)) bars.push([i, j]);
  });
  return bars;
}

function rankFigure(scores, score) {
  const ranks = scores.ranks();
  const difference = scores.criticalDifference;
  const friedman = data.tests.find((one) => one.score === score && one.accuracy === state.asked)?.friedman;
  const test = isNumber(friedman) ? ` Friedman’s test over all methods: p = ${significant(friedman, 2)}.` : "";
  const rows = scores.configurations.map((name, k) => ({ name, rank: ranks[k] })).sort((a, b) => a.rank - b.rank);
  return {
    id: "ranks",
    title: "Mean ranks and critical difference",
    short: `Over ${scores.blocks.length} ${scores.unit}; rank 1 is best; methods joined by a bar do not differ at 5 % (Nemenyi).`,
    note: `Rank 1 is best, over ${scores.blocks.length} ${scores.unit}. Methods joined by a bar do not differ at 5 % (Nemenyi): their ranks are closer than ${significant(difference)}.${test}`,
    label: `Mean ranks by ${score}. ${rows.map(({ name, rank }) => `${name}: ${rank.toFixed(2)}`).join("; ")}. Critical difference ${significant(difference)}.`,
    draw(width, alone) { return drawRanks(this, { width, alone, rows, difference, score }); },
  };
}

function drawRanks(figure, { width, alone, rows, difference, score }) {
  const count = rows.length;
  const half = Math.ceil(count / 2);
  const bars = joined(rows.map((row) => row.rank), difference);
  const top = 10 + (alone ? HEAD : 0);
  const axis = top + 48;
  const names = axis + 18 + bars.length * 9;
  const height = names + half * 24 + 12;
  const svg = canvas(width, height, figure.label);
  const side = Math.min(150, width * 0.25);
  const X = linearScale(1, count, side, width - side);
  if (alone) svg.append(...titleLines(width, height, [`${figure.title}: ${score}`, figure.short]));
  const ink = { stroke: "var(--ink)", "stroke-width": 1.2, fill: "none" };
  const end = Math.min(X(1 + difference), width - 4);
  svg.append(s("path", { ...ink, d: `M${X(1)} ${top + 14}H${end}M${X(1)} ${top + 10}v8M${end} ${top + 10}v8` }),
    words(`CD = ${significant(difference)}`, (X(1) + end) / 2, top + 8, { "text-anchor": "middle" }),
    s("path", { ...ink, d: `M${X(1)} ${axis}H${X(count)}` }));
  for (let rank = 1; rank <= count; rank += 1) {
    svg.append(s("path", { ...ink, d: `M${X(rank)} ${axis}v-6` }), words(String(rank), X(rank), axis - 10, { "text-anchor": "middle" }));
  }
  bars.forEach(([i, j], k) => svg.append(s("line", {
    x1: X(rows[i].rank) - 3, x2: X(rows[j].rank) + 3, y1: axis + 10 + 9 * k, y2: axis + 10 + 9 * k, stroke: "var(--ink)", "stroke-width": 4, "stroke-linecap": "round",
  })));
  rows.forEach(({ name, rank }, k) => {
    const isLeft = k < half;
    const y = names + 14 + (isLeft ? k : count - 1 - k) * 24;
    const { colour, marker } = look(name);
    const to = isLeft ? side - 8 : width - side + 8;
    const text = `${shortened(name, side - 52)}  ${rank.toFixed(2)}`;
    svg.append(s("path", { d: `M${X(rank)} ${axis}V${y}H${to}`, stroke: colour, "stroke-width": 1.4, fill: "none" }),
      s("path", { d: marker, transform: `translate(${X(rank)} ${axis})`, fill: colour, stroke: "var(--paper)", "stroke-width": 0.8 }),
      s("text", { x: isLeft ? to - 5 : to + 5, y: y + 4, "text-anchor": isLeft ? "end" : "start", fill: "var(--ink)", "unicode-bidi": "isolate" }, text));
  });
  return svg;
}
