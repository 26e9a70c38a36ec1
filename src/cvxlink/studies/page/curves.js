// Figures made of lines: performance profiles, data profiles, scores against numbers of links.

// The share of values that are at most x is a staircase: it climbs at each value, and is drawn as far as `to`.
function staircase(values, from, to, X, Y) {
  const sorted = values.filter((v) => v <= to * (1 + 1e-12)).sort((a, b) => a - b);
  let share = 0;
  let path = "";
  sorted.forEach((value, k) => {
    const at = Math.max(value, from);
    if (k === 0) path += at > from ? `M${X(from)} ${Y(0)}H${X(at)}` : `M${X(from)} ${Y(0)}`;
    else path += `H${X(at)}`;
    share = (k + 1) / values.length;
    path += `V${Y(share)}`;
  });
  return path ? `${path}H${X(to)}` : `M${X(from)} ${Y(0)}H${X(to)}`;
}

function staircases({ width, alone, title, label, columns, from, to, xWords, yWords, xTick, describe }) {
  const names = columns.map((column) => column.name);
  const chart = framed({
    width, height: 330, title, alone, label, names, xWords, yWords, xTick,
    x: (a, b) => logScale(from, to, a, b), y: (a, b) => linearScale(0, 1, a, b), yTick: (share) => percent(share),
  });
  const lines = s("g", { fill: "none", "stroke-width": 2, "stroke-linejoin": "round" });
  for (const { name, values } of columns) {
    const { colour, dash, marker } = look(name);
    lines.append(s("path", {
      d: staircase(values, from, to, chart.X, chart.Y), stroke: colour, "stroke-dasharray": dash || null, "data-name": name, class: "line",
    }));
    const share = values.filter((v) => v <= to * (1 + 1e-12)).length / values.length;
    lines.append(s("path", { d: marker, transform: `translate(${chart.right} ${chart.Y(share)})`, fill: colour }));
  }
  chart.svg.append(lines);
  if (!alone) readout(chart, columns, describe);
  return chart.svg;
}

// Moving over a chart shows where the lines are at that place.
function readout(chart, columns, describe) {
  const { svg, X, left, right, top, bottom } = chart;
  const rule = s("line", { y1: top, y2: bottom, stroke: "var(--muted)", "stroke-width": 1, visibility: "hidden" });
  const area = s("rect", { x: left, y: top, width: right - left, height: bottom - top, fill: "transparent" });
  svg.append(rule, area);
  area.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const value = X.from * (X.to / X.from) ** Math.min(1, Math.max(0, (x - left) / (right - left)));
    rule.setAttribute("x1", X(value));
    rule.setAttribute("x2", X(value));
    rule.setAttribute("visibility", "visible");
    const rows = columns.map(({ name, values }) => [name, values.filter((v) => v <= value).length / values.length]);
    rows.sort((a, b) => b[1] - a[1]);
    showHint(event, describe(value), rows.map(([name, share]) => [name, percent(share)]));
  });
  area.addEventListener("pointerleave", () => { rule.setAttribute("visibility", "hidden"); hideHint(); });
}

const hint = h("div", { class: "hint", hidden: true, "aria-hidden": "true" });
document.body.append(hint);

function showHint(event, head, rows) {
  hint.replaceChildren(h("strong", {}, head), ...rows.slice(0, 14).map(([name, value]) =>
    h("div", {}, s("svg", { width: 30, height: 10, viewBox: "0 -5 30 10" }, swatch(name)), named(name), h("span", {}, value))));
  hint.hidden = false;
  const room = document.documentElement.clientWidth;
  const x = event.clientX + 18 + hint.offsetWidth < room ? event.clientX + 18 : event.clientX - 18 - hint.offsetWidth;
  hint.style.left = `${Math.max(4, x)}px`;
  hint.style.top = `${Math.max(4, event.clientY - hint.offsetHeight - 12)}px`;
}

function hideHint() { hint.hidden = true; }

function niceBelow(value) { return 10 ** Math.floor(Math.log10(value) + 1e-9); }
function niceAbove(value) { return 10 ** Math.ceil(Math.log10(value) - 1e-9); }

// ---------------------------------------------------------------------- the two profiles

function performanceProfile(times) {
  const columns = times.configurations.map((name, k) => ({ name, values: times.ratios(k) }));
  const finite = columns.flatMap((column) => column.values).filter(Number.isFinite);
  const to = Math.min(1e4, Math.max(10, niceAbove(Math.max(1, ...finite))));
  const said = columns.map(({ name, values }) =>
    `${name}: fastest on ${percent(values.filter((v) => v <= 1 + 1e-12).length / values.length)}, proves ${percent(values.filter(Number.isFinite).length / values.length)}`);
  return {
    id: "performance-profile",
    title: "Performance profile",
    note: "Share of instances proven within a multiple of the fastest configuration’s time. Higher is better; the left edge shows who is fastest, the right edge who proves most.",
    label: `Performance profile. ${said.join("; ")}.`,
    draw(width, alone) {
      return staircases({
        width, alone, columns, from: 1, to, title: [this.title, judgedWords()], label: this.label,
        xWords: "times as long as the fastest", yWords: "instances proven", xTick: (v) => `${v.toLocaleString("en-GB")}×`,
        describe: (value) => `within ${significant(value, 2)} times the fastest`,
      });
    },
  };
}

function dataProfile(times) {
  const columns = times.configurations.map((name, k) => ({ name, values: times.column(k) }));
  const finite = columns.flatMap((column) => column.values).filter((v) => Number.isFinite(v) && v > 0);
  const longest = Math.max(times.limit, ...finite);
  const from = finite.length ? Math.min(niceBelow(Math.min(...finite)), longest / 10) : longest / 100;
  const said = columns.map(({ name, values }) => `${name}: ${percent(values.filter(Number.isFinite).length / values.length)}`);
  return {
    id: "data-profile",
    title: "Data profile",
    note: "Share of instances proven within so many seconds, up to the limit. Higher is better.",
    label: `Data profile: share of instances proven within the limit. ${said.join("; ")}.`,
    draw(width, alone) {
      return staircases({
        width, alone, columns, from, to: longest, title: [this.title, judgedWords()], label: this.label,
        xWords: timeWords(), yWords: "instances proven", xTick: (v) => significant(v, 1),
        describe: (value) => `within ${seconds(value)}`,
      });
    },
  };
}

// ---------------------------------------------------------------------- scores against numbers of links

// For each data set whose instances differ in their number of links, say: mean scores, with confidence intervals.
function linkCurves(scores, score) {
  const numbersOf = (name, key) => placeOf(name).varied?.[key];
  const varied = Object.keys(data.varied).find((key) => unique(scores.instances.map((name) => numbersOf(name, key)).filter(isNumber)).length > 1);
  const sets = new Map();
  scores.instances.forEach((name, row) => {
    const place = placeOf(name);
    const value = numbersOf(name, varied);
    if (!isNumber(value)) return;
    if (!sets.has(place.data)) sets.set(place.data, new Map());
    const byNumber = sets.get(place.data);
    if (!byNumber.has(value)) byNumber.set(value, []);
    byNumber.get(value).push(row);
  });
  return [...sets].sort(([a], [b]) => compared(a, b)).filter(([, byNumber]) => byNumber.size > 1)
    .filter(([, byNumber]) => [...byNumber.values()].flat().some((row) => scores.values[row].some(isNumber))).map(([set, byNumber]) => linkCurve(scores, score, set, byNumber, data.varied[varied]));
}

function linkCurve(scores, score, set, byLinks, what) {
  const counts = [...byLinks.keys()].sort((a, b) => a - b);
  const columns = scores.configurations.map((name, k) => ({
    name,
    points: counts.map((links) => [links, byLinks.get(links).map((row) => scores.values[row][k]).filter(isNumber)])
      .filter(([, values]) => values.length).map(([links, values]) => [links, interval(values)]),
  }));
  const ends = endsOf(columns.flatMap(({ points }) => points.map(([, one]) => one)));
  return {
    id: `links-${inIdentifier(set || what)}`,
    title: set ? `${score} on ${set}` : `${score} by ${what}`,
    note: set ? "Mean over the draws of links, with 95 % confidence intervals." : "Mean over the instances and repeats, with 95 % confidence intervals.",
    label: `${score} against ${what}${set ? ` on ${set}` : ""}.`,
    draw(width, alone) { return drawLinkCurve(this, { width, alone, columns, counts, ends, score, what }); },
  };
}

// The range of an axis: intervals that are much wider than the means are apart, as those of two draws are, are cut.
function endsOf(found) {
  const means = found.map((one) => one.mean);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const room = most - least || Math.abs(most) / 10 || 1;
  const ends = found.flatMap(({ mean: middle, half }) => [middle - (half ?? 0), middle + (half ?? 0)]);
  return [...means, ...ends.map((end) => Math.min(most + room, Math.max(least - room, end)))];
}

// A name as it may stand in an identifier.
function inIdentifier(name) { return name.replace(/[^A-Za-z0-9]+/g, "-"); }

function drawLinkCurve(figure, { width, alone, columns, counts, ends, score, what }) {
  const [low, high] = padded(ends);
  const chart = framed({
    width, height: 300, alone, label: figure.label, title: [figure.title, figure.note], names: columns.map((column) => column.name),
    x: (a, b) => Object.assign(linearScale(0, counts[counts.length - 1], a + 8, b - 12), { ticks: counts }),
    y: (a, b) => linearScale(low, high, a, b), xTick: String, yTick: (v) => minus(String(v)), xWords: what, yWords: score,
  });
  columns.forEach(({ name, points }, k) => {
    const { colour, dash, marker } = look(name);
    const aside = (k - (columns.length - 1) / 2) * 2.5;
    const at = points.map(([links, one]) => [chart.X(links) + aside, one]);
    const group = s("g", { stroke: colour, fill: "none" });
    for (const [x, { mean: middle, half }] of at) {
      if (half !== null) group.append(s("line", { x1: x, x2: x, y1: Math.min(chart.bottom, chart.Y(middle - half)), y2: Math.max(chart.top, chart.Y(middle + half)), "stroke-opacity": 0.45, "stroke-width": 1.5 }));
    }
    const path = at.map(([x, one], k) => `${k ? "L" : "M"}${x} ${chart.Y(one.mean)}`).join("");
    if (path) group.append(s("path", { d: path, "stroke-width": 2, "stroke-dasharray": dash || null }));
    for (const [x, one] of at) {
      group.append(s("path", { d: marker, transform: `translate(${x} ${chart.Y(one.mean)})`, fill: colour, stroke: "var(--paper)", "stroke-width": 0.8 },
        s("title", {}, `${name}: ${minus(significant(one.mean))}${one.half === null ? "" : ` ${plusMinus(one.half)}`}`)));
    }
    chart.svg.append(group);
  });
  return chart.svg;
}

// The range of values with some room, for an axis.
function padded(values) {
  if (!values.length) return [0, 1];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}
