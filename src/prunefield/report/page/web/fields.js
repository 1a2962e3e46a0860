// The receptive-field explorer: masks and weights of a pruning run, round by round, three methods side by side.

const METHODS = { imp: "iterative magnitude pruning", oneshot: "one-shot pruning", random: "random pruning" };
const MARKS = { imp: "IMP", oneshot: "one-shot", random: "random" };
const GAP = 1; // pixels between two units

function showFields(query) {
  const { runs, finished, problems } = index.fields;
  const head = [
    el("h1", {}, "Receptive fields while they form"),
    el("p", { class: "lead" }, "Each square is a unit of a pruned network: the inputs that are still connected to it. Choose a round or play the pruning; click a unit to see its measurements."),
  ];
  if (!runs.length) return [...head, missingRuns("imp", finished, problems, "redman2025/fig4")];
  const first = runs.some(({ run }) => run === query.run) ? query.run : runs[0].run;
  const now = {
    run: first, layer: query.layer, show: query.show === "weights" ? "weights" : "mask", round: query.round,
    method: Object.hasOwn(METHODS, query.method) ? query.method : "imp", unit: query.unit === undefined ? null : Number(query.unit),
  };
  const stage = el("div", { class: "stage", "aria-busy": "true" });
  const heading = el("span", { role: "status" });
  const detail = el("div", {});
  const layers = el("div", {});
  const player = makePlayer("Round", (round) => { now.round = round; update(); });
  const reader = makeReader();
  let data = null;
  async function load(run, changes = {}) {
    const found = await reader.read(`fields/${run}`);
    if (!found) return;
    Object.assign(now, { run, ...changes });
    data = found;
    now.layer = readWhole(now.layer, data.layers.length - 1, 0);
    now.round = readWhole(now.round, data.rounds, data.rounds);
    layers.replaceChildren(labelled("Layer", makeSelect(data.layers.map(({ of, shape }, place) => [String(place), `${place + 1}: ${of} units, ${place ? `fed by ${shape[1] * shape[2]} units` : `fed by ${shape.join("×")} inputs`}`]),
      String(now.layer), (value) => { now.layer = Number(value); now.unit = null; update(); })));
    player.setRange(data.rounds, now.round);
    update();
  }
  function update() {
    const layer = data.layers[now.layer];
    const place = layer.units.includes(now.unit) ? layer.units.indexOf(now.unit) : findMostConnected(layer, data.rounds);
    now.unit = layer.units[place];
    changeQuery({ ...now, layer: now.layer || "" });
    const accuracy = data.accuracy[now.round];
    player.say(`round ${now.round} of ${data.rounds}: ${showNumber(100 * layer.density[now.round])}% of the weights kept${accuracy === null || accuracy === undefined ? "" : `, accuracy ${showNumber(100 * accuracy)}%`}`);
    stage.replaceChildren(...Object.keys(METHODS).map((method) => showUnits(layer, method, now, choose)));
    stage.removeAttribute("aria-busy");
    heading.textContent = `Unit ${now.unit}, ${MARKS[now.method]}, round ${now.round}`;
    replaceContent(detail, ...showUnit(data, now, place, choose));
  }
  function choose(method, unit) {
    Object.assign(now, { method, unit });
    update();
  }
  const redraw = () => data && update();
  window.addEventListener("themechange", redraw);
  const view = [...head,
    el("div", { class: "controls" },
      labelled("Data and run", makeSelect(runs.map(({ run, name }) => [run, name]), now.run, (run) => load(run, { unit: null, round: null }))),
      layers,
      el("div", { class: "control" }, el("span", { class: "label" }, "Show"), makeChoice("Show", [["mask", "masks"], ["weights", "weights"]], now.show, (show) => { now.show = show; update(); }))),
    player.node, stage, el("section", { class: "detail" }, el("h2", {}, heading), detail),
    el("p", { class: "soft small" }, `${count(runs.length, "run")} of ${finished} in the store${runs.length + Object.keys(problems).length < finished ? " (without those of a single step, and as many as there is room for)" : ""}; units are the most connected ones of the last round of IMP.`), listProblems(problems)];
  load(first);
  return Object.assign(view, { leave: () => { reader.stop(); player.stop(); window.removeEventListener("themechange", redraw); } });
}

/** The place of the unit that keeps most inputs in the last round. */
function findMostConnected(layer, rounds) {
  const inputs = layer.fates.imp.length / layer.units.length;
  const kept = layer.units.map((_, place) => countKept(layer, "imp", place, rounds, inputs));
  return kept.indexOf(Math.max(...kept));
}

/** What an input of a unit shows: kept channels, or the sum of kept weights, folded to rows and columns. */
function foldUnit(layer, method, place, round, show) {
  const [channels, rows, columns] = layer.shape;
  const size = rows * columns;
  const start = place * channels * size;
  const field = new Float32Array(size);
  for (let channel = 0; channel < channels; channel += 1) {
    for (let pixel = 0; pixel < size; pixel += 1) {
      const entry = start + channel * size + pixel;
      if (layer.fates[method][entry] >= round) field[pixel] += show === "mask" ? 1 / channels : (layer.weights[entry] * layer.unit) / channels;
    }
  }
  return field;
}

/** The square of units of one method. */
function showUnits(layer, method, now, choose) {
  const [, rows, columns] = layer.shape;
  const side = Math.ceil(Math.sqrt(layer.units.length));
  const palettes = makePalettes();
  const fields = layer.units.map((_, place) => foldUnit(layer, method, place, now.round, now.show));
  const largest = now.show === "mask" ? 1 : Math.max(1e-9, ...fields.map((field) => field.reduce((most, value) => Math.max(most, Math.abs(value)), 0)));
  const [width, height] = [side * (columns + GAP) + GAP, Math.ceil(fields.length / side) * (rows + GAP) + GAP];
  const canvas = el("canvas", { class: "units", width, height, role: "img", click: press,
    "aria-label": `${METHODS[method]}, round ${now.round}: the ${now.show === "mask" ? "masks" : "weights"} of ${count(fields.length, "unit")}` });
  const context = canvas.getContext("2d");
  context.fillStyle = `rgb(${readColour("--line").join(" ")})`;
  context.fillRect(0, 0, width, height);
  fields.forEach((field, place) => {
    const [x, y] = [GAP + (place % side) * (columns + GAP), GAP + Math.floor(place / side) * (rows + GAP)];
    context.putImageData(paintField(field, rows, columns, now.show === "mask" ? palettes.size : (value) => palettes.signed(value / largest)), x, y);
    if (layer.units[place] === now.unit) {
      context.strokeStyle = `rgb(${readColour(method === now.method ? "--accent" : "--soft").join(" ")})`;
      context.strokeRect(x - 0.5, y - 0.5, columns + 1, rows + 1);
    }
  });
  function press(event) {
    const box = canvas.getBoundingClientRect();
    const column = Math.floor(((event.clientX - box.left) / box.width) * side);
    const row = Math.floor(((event.clientY - box.top) / box.height) * Math.ceil(fields.length / side));
    const unit = layer.units[Math.min(side - 1, column) + row * side];
    if (unit !== undefined) choose(method, unit);
  }
  return el("figure", { class: method === now.method ? "method chosen" : "method" }, el("figcaption", {}, METHODS[method]), canvas);
}

/** A slider with a button that plays it. */
function makePlayer(name, change) {
  let timer = null;
  const slider = el("input", { type: "range", min: "0", step: "1", input: () => { stop(); change(Number(slider.value)); } });
  const button = el("button", { type: "button", class: "play", click: () => (timer ? stop() : play()) }, "▶ Play");
  const words = el("output", { class: "soft small" });
  function play() {
    if (Number(slider.value) >= Number(slider.max)) step(0);
    button.textContent = "❚❚ Pause";
    timer = setInterval(() => (Number(slider.value) < Number(slider.max) ? step(Number(slider.value) + 1) : stop()), Math.max(60, 6000 / Math.max(10, Number(slider.max))));
  }
  function step(value) {
    slider.value = value;
    change(value);
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    button.textContent = "▶ Play";
  }
  return {
    stop,
    say: (text) => { words.textContent = text; },
    setRange: (largest, value) => { stop(); slider.max = largest; slider.value = value; },
    node: el("div", { class: "player" }, button, labelled(name, slider), words),
  };
}

function missingRuns(kind, finished, problems, item) {
  return el("div", {}, el("p", { class: "notice" }, finished ? `No ${kind} run could be read.` : `The store has no finished ${kind} run. This command makes some:`),
    finished ? null : showCommand(sayCommand([item], "smoke")), listProblems(problems));
}

function listProblems(problems) {
  const names = Object.entries(problems);
  return names.length ? makeFold("What is left out, and why", () => el("ul", { class: "plain small" }, names.map(([name, text]) => el("li", {}, el("code", {}, name), `: ${text}`)))) : null;
}
