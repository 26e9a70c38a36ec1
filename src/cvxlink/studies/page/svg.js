// Elements, scales and axes. Text from data only ever becomes text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

function h(tag, attributes = {}, ...children) { return filled(document.createElement(tag), attributes, children); }
function s(tag, attributes = {}, ...children) { return filled(document.createElementNS(SVG, tag), attributes, children); }

// A name from the study: its direction of writing stays its own.
function named(name) { return h("bdi", {}, name); }

// ---------------------------------------------------------------------- words for numbers

function significant(value, digits = 3) {
  if (!isNumber(value)) return "–";
  const whole = Number(value.toPrecision(9));
  if (Number.isInteger(whole) && Math.abs(whole) < 1e6) return String(whole);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return shortPower(value, digits);
  const text = value.toPrecision(digits);
  return text.includes("e") ? String(Math.round(value)) : text;
}

function shortPower(value, digits = 2) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const [number, power] = value.toExponential(digits - 1).split("e");
  return `${number.replace(/\.?0+$/, "")}e${Number(power)}`;
}

// Half the width of an interval; what is left of rounding is nothing.
function plusMinus(half) { return `± ${half < 1e-9 ? "0" : significant(half, 2)}`; }
function minus(text) { return text.replace(/-/g, "−"); }
function power(value) { return isNumber(value) ? minus(shortPower(value)) : "–"; }
function percent(share) { return `${Math.round(100 * share)} %`; }
function several(count, one, many = one + "s") { return `${count.toLocaleString("en-GB")} ${count === 1 ? one : many}`; }

function seconds(value) {
  if (!isNumber(value)) return "–";
  return value < 0.001 ? `${significant(value * 1000, 2)} ms` : `${significant(value)} s`;
}

// ---------------------------------------------------------------------- how configurations look

// Told apart by colour, dashes and markers, so that none of these alone has to do it.
const COLOURS = 8;
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3", "12 3", "5 2 1.5 2 1.5 2", "3 5"];
const MARKERS = [
  "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", "M-3.6-3.6h7.2v7.2h-7.2z", "M0-5l4.6 8.2h-9.2z", "M0-5l4.6 5l-4.6 5l-4.6-5z",
  "M0 5l4.6-8.2h-9.2z", "M-1.4-4.6h2.8v3.2h3.2v2.8h-3.2v3.2h-2.8v-3.2h-3.2v-2.8h3.2z", "M-5 0l5-3.4l5 3.4l-5 3.4z",
  "M0-5l1.5 3.2l3.5.4l-2.6 2.4l.7 3.6l-3.1-1.8l-3.1 1.8l.7-3.6l-2.6-2.4l3.5-.4z",
];

function look(name) {
  const k = Math.max(0, state.names.indexOf(name));
  const round = Math.floor(k / COLOURS);
  return {
    colour: `var(--c${k % COLOURS})`,
    dash: DASHES[(k + round) % DASHES.length],
    marker: MARKERS[(k + 3 * round) % MARKERS.length],
  };
}

function swatch(name, x = 0, y = 0) {
  const { colour, dash, marker } = look(name);
  return s("g", { transform: `translate(${x} ${y})`, "aria-hidden": "true" },
    s("line", { x1: 0, x2: 30, y1: 0, y2: 0, stroke: colour, "stroke-width": 2, "stroke-dasharray": dash || null }),
    s("path", { d: marker, transform: "translate(15 0) scale(.85)", fill: colour }));
}

// ---------------------------------------------------------------------- scales

function logScale(from, to, start, end) {
  const [a, b] = [Math.log10(from), Math.log10(to)];
  const scale = (value) => start + ((Math.log10(Math.max(value, 1e-300)) - a) / (b - a || 1)) * (end - start);
  const powers = [];
  for (let p = Math.ceil(a - 1e-9); p <= Math.floor(b + 1e-9); p += 1) powers.push(p);
  const room = Math.max(2, Math.floor(Math.abs(end - start) / 46));
  const step = Math.ceil(powers.length / room);
  scale.ticks = powers.filter((p) => (p - powers[0]) % step === 0).map((p) => 10 ** p);
  if (powers.length <= 2) {
    const between = [];
    for (let p = Math.floor(a); p <= Math.ceil(b); p += 1) for (const m of [1, 2, 5]) between.push(m * 10 ** p);
    scale.ticks = between.filter((v) => v >= from * 0.999 && v <= to * 1.001);
  }
  scale.from = from;
  scale.to = to;
  return scale;
}

function linearScale(from, to, start, end) {
  const scale = (value) => start + ((value - from) / (to - from || 1)) * (end - start);
  const rough = (to - from) / Math.max(2, Math.min(7, Math.abs(end - start) / 42));
  const unit = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * unit).find((one) => one >= rough) ?? unit;
  scale.ticks = [];
  for (let k = Math.ceil(from / step - 1e-9); k * step <= to + step * 1e-9; k += 1) scale.ticks.push(Number((k * step).toPrecision(10)));
  scale.from = from;
  scale.to = to;
  return scale;
}

// ---------------------------------------------------------------------- the frame of a chart

const FONT = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, system-ui, sans-serif";
const measuring = document.createElement("canvas").getContext("2d");

function textWidth(text, size = 12) {
  measuring.font = `${size}px ${FONT}`;
  return measuring.measureText(text).width;
}

// Names are cut in the middle, as what tells instances apart often stands at the end.
function shortened(text, width, size = 12) {
  if (textWidth(text, size) <= width) return text;
  const letters = [...text];
  const kept = (count) => `${letters.slice(0, Math.ceil(count / 2)).join("")}…${letters.slice(letters.length - Math.floor(count / 2)).join("")}`;
  let count = letters.length - 1;
  while (count > 1 && textWidth(kept(count), size) > width) count -= 1;
  return kept(count);
}

function words(text, x, y, more = {}) {
  return s("text", { x, y, fill: "var(--muted)", "font-size": 12, ...more }, text);
}

function canvas(width, height, label) {
  return s("svg", {
    viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, "font-family": FONT, "font-size": 12,
  });
}

// Names with their lines, in rows under the chart.
function legend(names, left, right, top) {
  const group = s("g", { class: "legend" });
  let [x, y] = [left, top];
  for (const name of names) {
    const text = shortened(name, Math.min(260, right - left - 40));
    const width = 38 + textWidth(text) + 18;
    if (x > left && x + width - 18 > right) [x, y] = [left, y + 20];
    group.append(swatch(name, x, y), s("text", { x: x + 37, y: y + 4, fill: "var(--ink)", "unicode-bidi": "isolate" }, text));
    x += width;
  }
  return { group, height: names.length ? y - top + 20 : 0 };
}

// Title and subtitle, where a figure stands alone.
const HEAD = 62;
function titleLines(width, height, [title, more]) {
  return [s("rect", { width, height, fill: "var(--paper)" }),
    s("text", { x: 16, y: 28, fill: "var(--ink)", "font-size": 16, "font-weight": 600 }, shortened(title, width - 32, 17)),
    s("text", { x: 16, y: 48, fill: "var(--muted)" }, shortened(more, width - 32))];
}

// A chart with a title (where it stands alone), axes, grid and legend; returns where to draw.
function framed({ width, height, title, alone, label, names, x, y, left = 50, right = 14, xWords, yWords, xTick, yTick }) {
  const top = 26 + (alone ? HEAD : 0);
  const foot = legend(names ?? [], left, width - right, 0);
  const whole = height + (alone ? HEAD : 0) + foot.height;
  const bottom = whole - foot.height - 50;
  const svg = canvas(width, whole, label);
  const X = x(left, width - right);
  const Y = y(bottom, top);
  if (alone) svg.append(...titleLines(width, whole, title));
  const grid = s("g", { stroke: "var(--grid)", "stroke-width": 1 });
  for (const tick of Y.ticks) {
    grid.append(s("line", { x1: left, x2: width - right, y1: Y(tick), y2: Y(tick) }));
    svg.append(words(yTick(tick), left - 8, Y(tick) + 4, { "text-anchor": "end" }));
  }
  svg.append(grid, s("line", { x1: left, x2: width - right, y1: bottom, y2: bottom, stroke: "var(--axis)" }));
  for (const tick of X.ticks) {
    svg.append(s("line", { x1: X(tick), x2: X(tick), y1: bottom, y2: bottom + 4, stroke: "var(--axis)" }),
      words(xTick(tick), X(tick), bottom + 18, { "text-anchor": "middle" }));
  }
  svg.append(words(yWords, 2, top - 14), words(xWords, width - right, bottom + 37, { "text-anchor": "end" }));
  foot.group.setAttribute("transform", `translate(0 ${whole - foot.height + 8})`);
  svg.append(foot.group);
  return { svg, X, Y, left, right: width - right, top, bottom };
}

// ---------------------------------------------------------------------- a figure as a file of its own

const VARIABLES = ["ink", "muted", "grid", "axis", "paper", "bad", "accent", "soft", ...[...Array(COLOURS).keys()].map((k) => `c${k}`)];

// In light colours, with title and legend, and without variables, which other programs do not know.
function standing(figure) {
  const root = document.documentElement;
  root.dataset.theme = "light";
  const colours = new Map(VARIABLES.map((name) => [name, getComputedStyle(root).getPropertyValue(`--${name}`).trim()]));
  delete root.dataset.theme;
  const svg = figure.draw(720, true);
  svg.setAttribute("xmlns", SVG);
  for (const element of [svg, ...svg.querySelectorAll("*")]) {
    for (const { name, value } of [...element.attributes]) {
      const variable = /^var\(--(\w+)\)$/.exec(value);
      if (variable) element.setAttribute(name, colours.get(variable[1]));
    }
  }
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}
