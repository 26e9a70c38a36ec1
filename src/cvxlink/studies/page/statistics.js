// What the cells say together. The same definitions as cvxlink.studies.statistics and judging, checked against them.

// What a cell is called depends on the accuracy only in whether that is met: both words come with the page.
function outcome(cell, accuracy) {
  const { record, met, missed } = cell;
  if (met === null) return "scored";
  return isNumber(record.proven_to) && record.proven_to <= (accuracy ?? record.accuracy) ? met : missed;
}

function unique(values) { return [...new Set(values)]; }

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

function mean(values) { return values.reduce((sum, value) => sum + value, 0) / values.length; }

function grouped(chosen, valueOf) {
  const found = new Map();
  for (const cell of chosen) {
    const { instance, configuration } = cell.record;
    if (!found.has(instance)) found.set(instance, new Map());
    const row = found.get(instance);
    if (!row.has(configuration)) row.set(configuration, []);
    row.get(configuration).push(valueOf(cell));
  }
  return found;
}

// Seconds by instance and configuration: medians over the repeats, infinite where one of them is a failure, and NaN
// where a cell is not computed yet.
class Times {
  constructor(chosen, configurations, limit, accuracy, secondsOf = (record) => record.seconds) {
    const found = grouped(chosen, (cell) => (outcome(cell, accuracy) === "proven" ? secondsOf(cell.record) : Infinity));
    const present = new Set(chosen.map((cell) => cell.record.configuration));
    this.configurations = configurations.filter((name) => present.has(name));
    this.instances = [...found.keys()];
    this.limit = limit;
    this.seconds = this.instances.map((instance) => this.configurations.map((name) => {
      const several = found.get(instance).get(name);
      if (!several) return NaN;
      return several.every(Number.isFinite) ? median(several) : Infinity;
    }));
    // The instances on which all have a result, be it a failure: only these compare fairly.
    this.common = this.seconds.filter((row) => !row.some(Number.isNaN));
  }

  each(read) { return this.configurations.map((_, k) => read(k)); }
  column(k) { return this.common.map((row) => row[k]); }
  get solved() { return this.each((k) => this.seconds.filter((row) => Number.isFinite(row[k])).length); }
  get finished() { return this.each((k) => this.seconds.filter((row) => !Number.isNaN(row[k])).length); }

  // exp(mean(log(t + s))) − s, in which failures count as the limit.
  means(shift) {
    return this.each((k) => Math.exp(mean(this.column(k).map((t) => Math.log(Math.min(t, this.limit) + shift)))) - shift);
  }

  // How many times as long as the fastest one, for each common instance (Dolan & Moré 2002).
  ratios(k) {
    return this.common.map((row) => (Number.isFinite(row[k]) ? Math.max(row[k], 1e-12) / Math.max(Math.min(...row), 1e-12) : Infinity));
  }

  profile(limits) { return limits.map((limit) => this.each((k) => share(this.ratios(k), limit * (1 + ROUNDING)))); }
  provenWithin(limits) { return limits.map((limit) => this.each((k) => share(this.column(k), limit))); }

  // In less than a tie-th of the time, or as the only one to prove; over instances that both have finished.
  wins(tie) { return this.each((a) => this.each((b) => this.seconds.filter((row) => row[a] * tie < row[b]).length)); }

  fastestOn(tie) {
    return this.each((k) => this.common.filter((row) => Number.isFinite(row[k]) && row[k] <= Math.min(...row) * tie).length);
  }
}

const ROUNDING = 1e-12;
function share(values, limit) { return values.length ? values.filter((v) => v <= limit).length / values.length : NaN; }

// ---------------------------------------------------------------------- scores of methods

// One score by instance and method: means over the repeats; null where there is none.
class Scores {
  constructor(chosen, configurations, scoreOf, lowerIsBetter) {
    const found = grouped(chosen, (cell) => scoreOf(cell.record));
    this.configurations = configurations.filter((name) => chosen.some((cell) => cell.record.configuration === name));
    this.instances = [...found.keys()];
    this.lowerIsBetter = lowerIsBetter;
    this.values = this.instances.map((instance) => this.configurations.map((name) => {
      const several = found.get(instance).get(name);
      return several && several.every(isNumber) ? mean(several) : null;
    }));
    // Methods are compared on what all of them score.
    this.rows = this.instances.map((name, k) => ({ ...placeOf(name), values: this.values[k] })).filter((row) => row.values.every(isNumber));
  }

  each(read) { return this.configurations.map((_, k) => read(k)); }
  get unit() { return unique(this.rows.map((row) => row.data)).length > 1 ? "data sets" : "draws of links"; }

  // A row for each data set: its draws are no independent evidence on others. If there is only one, a row for each draw.
  get blocks() { return this.unit === "data sets" ? meansBy(this.rows, (row) => row.data) : this.byDraw; }

  get byDraw() {
    const count = unique(this.rows.map((row) => row.case)).length;
    const everywhere = this.rows.filter(({ draw }) => this.rows.filter((row) => row.draw === draw).length === count);
    return meansBy(everywhere, (row) => row.draw);
  }

  means() { return this.each((k) => mean(this.rows.map((row) => row.values[k]))); }

  // Means over the rows, and half the widths of 95 % confidence intervals, over draws.
  intervals() {
    const [means, draws] = [this.means(), this.byDraw];
    return this.each((k) => ({ mean: means[k], half: draws.length ? interval(draws.map((row) => row[k])).half : null }));
  }

  // The best score ranks first, and ties share their ranks.
  ranks() {
    const rows = this.blocks.map((row) => row.map(rounded)).map((row) => row.map((mine) => {
      const better = row.filter((other) => (this.lowerIsBetter ? other < mine : other > mine)).length;
      return better + (row.filter((other) => other === mine).length + 1) / 2;
    }));
    return this.each((k) => mean(rows.map((row) => row[k])));
  }

  wins() {
    const beats = (a, b) => isNumber(a) && isNumber(b) && (this.lowerIsBetter ? rounded(a) < rounded(b) : rounded(a) > rounded(b));
    return this.each((a) => this.each((b) => this.values.filter((row) => beats(row[a], row[b])).length));
  }

  // On how many instances two methods score the same.
  ties() {
    const same = (a, b) => isNumber(a) && isNumber(b) && rounded(a) === rounded(b);
    return this.each((a) => this.each((b) => this.values.filter((row) => same(row[a], row[b])).length));
  }

  // Mean ranks that are further apart than this differ (Nemenyi; Demšar 2006).
  get criticalDifference() {
    const count = this.configurations.length;
    return data.studentised[count] * Math.sqrt((count * (count + 1)) / (6 * this.blocks.length));
  }
}

function placeOf(name) { return data.instances[name] ?? { data: name, case: name, draw: 0 }; }
function rounded(value) { return Math.round(value * 1e12) / 1e12; }

function meansBy(rows, keyOf) {
  const groups = new Map();
  for (const row of rows) {
    if (!groups.has(keyOf(row))) groups.set(keyOf(row), []);
    groups.get(keyOf(row)).push(row.values);
  }
  return [...groups.values()].map((several) => several[0].map((_, k) => mean(several.map((values) => values[k]))));
}

function interval(values) {
  const middle = mean(values);
  if (values.length < 2) return { mean: middle, half: null };
  const variance = values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1);
  const quantile = data.student[Math.min(values.length, data.student.length - 1)];
  return { mean: middle, half: quantile * Math.sqrt(variance / values.length) };
}

// p-values adjusted for their number by Holm's method.
function holm(values) {
  const order = values.map((_, k) => k).sort((a, b) => values[a] - values[b]);
  const adjusted = [];
  let largest = 0;
  order.forEach((k, place) => {
    largest = Math.max(largest, Math.min(1, values[k] * (values.length - place)));
    adjusted[k] = largest;
  });
  return adjusted;
}
