// What the figures show: the accuracy at which cells are judged, the configurations that are shown, the score.

const FINEST_DIGITS = 12;

// Steps of a tenth of a digit; whole digits are exactly the numbers that one types.
function accuracyAt(digits) { return Number((10 ** -digits).toPrecision(3)); }

function chips(names) {
  return h("div", { class: "chips", role: "group", "aria-label": "Configurations shown" }, names.map((name) => {
    const chip = h("button", {
      type: "button", class: "chip", "aria-pressed": String(!state.hidden.has(name)), title: "Hide or show",
      onclick: () => {
        if (!state.hidden.delete(name)) state.hidden.add(name);
        chip.setAttribute("aria-pressed", String(!state.hidden.has(name)));
        redraw();
      },
    }, swatchBox(name), named(name));
    return chip;
  }));
}

function choice(label, values, words, current, choose) {
  const group = h("fieldset", { class: "choice" }, h("legend", {}, label));
  for (const value of values) {
    group.append(h("label", {}, h("input", {
      type: "radio", name: label, value, checked: value === current, onchange: () => { choose(value); redraw(); },
    }), h("span", {}, words(value))));
  }
  return group;
}

function slider() {
  const shown = h("output", { for: "accuracy", id: "accuracy-shown" });
  const input = h("input", { type: "range", id: "accuracy", min: 1, max: FINEST_DIGITS, step: 0.1 });
  const reset = h("button", { type: "button", class: "quiet", id: "as-asked", onclick: () => { state.judged = null; place(); redraw(); } }, "as asked");
  function place() {
    const accuracy = state.judged ?? state.asked;
    if (state.judged === null) input.value = -Math.log10(accuracy ?? 1);
    shown.textContent = power(accuracy);
    input.setAttribute("aria-valuetext", shortPower(accuracy));
    reset.disabled = state.judged === null;
  }
  input.addEventListener("input", () => { state.judged = accuracyAt(Number(input.value)); place(); redraw(); });
  place();
  state.placeSlider = place;
  return h("div", { class: "slider" }, h("label", { for: "accuracy" }, "Judged at accuracy"), input, shown, reset);
}

function judgedWords() {
  if (data.kind !== "solvers") return data.title;
  const asked = state.accuracies.length > 1 || state.judged !== null ? `, computed for ${power(state.asked)}` : "";
  return `${data.title}; judged at ${power(state.judged ?? state.asked)}${asked}${state.onlySolving ? "; time of the solver only" : ""}`;
}

function controls() {
  const parts = [];
  if (state.accuracies.length > 1) {
    parts.push(choice("Computed for", state.accuracies, power, state.asked, (value) => {
      state.asked = value;
      state.judged = null;
      state.placeSlider?.();
    }));
  }
  if (data.has_solve_seconds) {
    parts.push(choice("Time", [false, true], (isSolving) => (isSolving ? "solver only" : "all of it"), false, (isSolving) => { state.onlySolving = isSolving; }));
  }
  if (data.kind === "solvers") parts.push(slider());
  else if (state.scoreNames.length) {
    const select = h("select", { id: "score", onchange: () => { state.score = select.value; redraw(); } },
      state.scoreNames.map((score) => h("option", { value: score, selected: score === state.score }, scoreInFull(score))));
    parts.push(h("label", { class: "score" }, data.kind === "methods" ? "Score " : "Number ", select));
  }
  parts.push(chips(state.names));
  const note = h("p", { class: "note", id: "shown-note", hidden: true });
  document.getElementById("controls").replaceChildren(h("div", { class: "page" }, parts, note));
}

// What a reader has to know when the page does not show the study as it was asked for; printed, too.
function noteWhatIsShown() {
  const parts = [];
  const judged = state.judged ?? state.asked;
  if (state.judged !== null && state.judged < state.asked) {
    parts.push(`Answers were computed for ${power(state.asked)} and are judged at ${power(judged)}, which is more than the solvers were asked for.`);
  }
  if (state.onlySolving) parts.push("Times are those of the solver only, without reducing and compiling.");
  if (state.hidden.size) parts.push(`Hidden: ${[...state.hidden].join(", ")}.`);
  const note = document.getElementById("shown-note");
  note.hidden = !parts.length;
  note.textContent = parts.join(" ");
}
