// What the file carries: records unpacked to what they were, and handed out as CSV and JSON lines.

const data = JSON.parse(document.getElementById("data").textContent);

// Long texts are compressed (gzip, base 64). They are null until they are unpacked, or where a browser cannot do it.
let texts = null;
const unpacked = unpackTexts();

async function unpackTexts() {
  const bytes = Uint8Array.from(atob(data.texts), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  texts = JSON.parse(await new Response(stream).text());
}

class LongText {
  constructor(index) { this.index = index; }
  toString() { return texts ? texts[this.index] : "…"; }
  toJSON() { return String(this); }
}

function leaf(value) {
  if (Array.isArray(value)) return value.map(leaf);
  if (typeof value !== "string") return value;
  if (value.startsWith("~")) return new LongText(parseInt(value.slice(1), 36));
  return data.strings[parseInt(value, 36)];
}

// Objects without a prototype, so that no name in a record means anything to the language.
function unpack(row) {
  const record = Object.create(null);
  data.shapes[row[0]].forEach((path, k) => {
    let place = record;
    for (const name of path.slice(0, -1)) place = place[name] ??= Object.create(null);
    place[path[path.length - 1]] = leaf(row[k + 1]);
  });
  return record;
}

// A cell is a record, and what it is called where the accuracy it is judged at is met, and where it is missed.
const cells = data.rows.map((row, index) => {
  const [met, missed] = data.outcomes[index];
  return { index, record: unpack(row), met, missed };
});

function isNumber(value) { return typeof value === "number" && Number.isFinite(value); }

// ---------------------------------------------------------------------- what is handed out

function jsonLines(chosen) {
  return chosen.map((cell) => JSON.stringify(cell.record) + "\n").join("");
}

function flat(record, prefix = "", between = " ") {
  const found = [];
  for (const [name, value] of Object.entries(record)) {
    const whole = prefix + name;
    const isTable = value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof LongText);
    if (isTable) found.push(...flat(value, whole + ".", between));
    else found.push([whole, Array.isArray(value) ? value.join(between) : value]);
  }
  return found;
}

function csvField(value) {
  if (value === null || value === undefined) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// One row for each cell; what it is judged to be stands in the column "outcome".
function csv(chosen, judge) {
  const rows = chosen.map((cell) => new Map([...flat(cell.record), ["outcome", judge(cell)]]));
  const names = [...new Set(rows.flatMap((row) => [...row.keys()]))];
  const lines = [names, ...rows.map((row) => names.map((name) => row.get(name)))];
  return lines.map((line) => line.map(csvField).join(",") + "\n").join("");
}

function handOut(name, text, kind) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

function fileName(what) {
  const words = data.title.normalize("NFKD").replace(/[^A-Za-z0-9]+/g, "-").replace(/^-+|-+$/g, "").toLowerCase();
  return `${words.slice(0, 60) || "study"}${what}`;
}
