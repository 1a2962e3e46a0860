// The dynamics player: the field of a neuron over time beside the flow that predicts it, for every stored run.

const WHY_PEAKS_DIFFER = "Here the simulated field ends at a different site or with a different sign from the integrated one: batches are noisy and Eq. 5 is not (lufkin2024/section4.2).";

function showDynamics(query) {
  const { entries, finished, problems } = index.dynamics;
  const head = [
    el("h1", {}, "How the field of a neuron becomes local"),
    el("p", { class: "lead" }, "One ReLU neuron is trained to tell two lengthscales apart. First what gradient descent did, then what the flow of Eq. 5 predicts from the same initial weights."),
  ];
  if (!entries.length) return [...head, missingRuns("neuron", finished, problems, "lufkin2024/fig3")];
  const now = { run: null, init: query.init, time: null };
  let isChosen = query.init !== undefined; // or else the first initialisation whose peaks agree is shown
  const controls = el("div", { class: "controls" });
  const stage = el("div", { class: "maps", "aria-busy": "true" });
  const why = el("p", { class: "notice", hidden: true }, WHY_PEAKS_DIFFER);
  const curves = el("div", { class: "panels" });
  const phase = el("div", {});
  const player = makePlayer("Time", (step) => { now.time = step; update(); });
  const reader = makeReader();
  let data = null;
  const entry = () => entries.find(({ run }) => run === now.run);
  async function load(run, moved = null) {
    const found = await reader.read(`dynamics/${run}`);
    if (!found) return;
    const before = entry();
    now.run = run;
    data = found;
    data.times = data.sources[0].times.length > 2 ? data.sources[0].times : data.sources.reduce((best, one) => (one.times.length > best.times.length ? one : best)).times;
    now.time = data.times.length - 1;
    now.init = readWhole(isChosen ? now.init : undefined, countStarts(data) - 1, findAgreeing(entry()));
    player.setRange(data.times.length - 1, now.time);
    const also = before && { key: moved, words: sayChanges(before.settings, entry().settings, moved) };
    replaceContent(controls, ...makeSweep(entries, entry(), also, load),
      labelled("Initialisation", makeSelect(Array.from({ length: countStarts(data) }, (_, init) => [String(init), String(init)]), String(now.init), (init) => { isChosen = true; now.init = Number(init); update(); })));
    phase.replaceChildren(drawPhase(entries, now.run));
    update();
  }
  function update() {
    const time = data.times[now.time];
    changeQuery({ run: now.run, init: now.init === findAgreeing(entry()) ? "" : now.init });
    player.say(`time ${showNumber(time)} of ${showNumber(data.times[data.times.length - 1])} (steps × learning rate)`);
    stage.replaceChildren(...data.sources.map((source) => showSource(data, source, now.init, time)));
    stage.removeAttribute("aria-busy");
    why.hidden = entry().agree[now.init] !== false;
    curves.replaceChildren(drawIpr(data, now.init, time), ...drawTask(data, entry()));
  }
  const redraw = () => data && update();
  window.addEventListener("themechange", redraw);
  const view = [...head, controls, player.node, stage, why, curves,
    el("h2", {}, "Where fields are local"),
    el("p", {}, "The end of every stored run: how local the weights are (IPR × N is 1.5 for a sinusoid, about 3 for noise, N for a single site) against the excess kurtosis of the data. Choose a point to open its field."), phase,
    el("p", { class: "soft small" }, `${count(finished, "run")} in the store; ${count(entries.length, "group")} with the same initial weights can be shown.`), listProblems(problems)];
  load((entries.find(({ run }) => run === query.run) ?? richest(entries)).run);
  return Object.assign(view, { leave: () => { reader.stop(); player.stop(); window.removeEventListener("themechange", redraw); } });
}

/** The initialisation that is shown first: one whose simulated and integrated peaks agree, if there is one. */
function findAgreeing({ agree }) {
  return Math.max(0, agree.indexOf(true));
}

/** The entry with most to see: simulated, beside a flow that ends at the same site, with many records. */
function richest(entries) {
  const value = ({ ends, records, agree }) => (agree.includes(true) ? 2000 : 0) + 1000 * (agree.filter(Boolean).length / Math.max(1, agree.length)) + (records > 8 ? 1000 : 0) + ("simulated" in ends ? 500 + ends.simulated : 0) + 100 * Object.keys(ends).length;
  return entries.reduce((best, one) => (value(one) > value(best) ? one : best));
}

function countStarts(data) {
  return Math.min(...data.sources.map(({ ipr }) => ipr.shape[1]));
}

const MINOR = new Set(["record_every", "dtype", "fresh", "steps", "time", "tolerance", "lr", "amplifier", "inits"]); // other runs differ in these too

/**
 * A menu of the kinds of data, and a slider or menu for every setting that varies among runs on them. It offers the values
 * that are stored with the rest equal; if there are none, all values, and `also` says what else the last choice changed.
 */
function makeSweep(entries, now, also, open) {
  const kinds = [...new Set(entries.map(({ task }) => task))];
  const family = entries.filter(({ task }) => task === now.task);
  const parts = [labelled("Data", makeSelect(kinds.map((kind) => [kind, kind]), now.task, (task) => open(richest(entries.filter((one) => one.task === task)).run)))];
  const isSame = ({ settings }, key) => JSON.stringify(settings[key]) === JSON.stringify(now.settings[key]);
  const keys = Object.keys(now.settings).filter((key) => !MINOR.has(key) && family.some((one) => key in one.settings && !isSame(one, key)));
  for (const key of keys) {
    const known = family.filter(({ settings }) => key in settings); // a flow has no batches
    const alone = known.filter((one) => keys.every((other) => other === key || isSame(one, other)));
    const isAlone = alone.some((one) => !isSame(one, key));
    const offered = isAlone ? alone : known;
    const values = [...new Map(offered.map(({ settings }) => [JSON.stringify(settings[key]), settings[key]])).values()];
    const isNumber = values.every((value) => typeof value === "number");
    if (isNumber) values.sort((a, b) => a - b);
    const move = (value) => open(nearest(offered, now, key, value).run, key);
    const name = key.replace("task.", "");
    const mine = values.findIndex((value) => JSON.stringify(value) === JSON.stringify(now.settings[key]));
    const words = also?.key === key && also.words ? el("span", { class: "also soft small" }, `also changed: ${also.words}`) : null;
    let control;
    if (isNumber && isAlone && values.length > 2) {
      const slider = el("input", { type: "range", min: "0", max: String(values.length - 1), value: String(mine), "aria-valuetext": showNumber(now.settings[key]), change: () => move(values[Number(slider.value)]) });
      control = labelled(`${name} = ${showNumber(now.settings[key])}`, slider, words);
    } else {
      control = labelled(name, makeSelect(values.map((value, place) => [String(place), showValue(value)]), String(mine), (place) => move(values[Number(place)])), words);
    }
    control.dataset.key = key;
    parts.push(control);
  }
  return parts;
}

/** The settings but `key` in which two runs differ, with the values of the second. */
function sayChanges(before, after, key) {
  const names = Object.keys(after).filter((name) => name in before && name !== key && name !== "record_every" && JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return names.map((name) => `${name.replace("task.", "")} = ${showValue(after[name])}`).join(", ");
}

function showValue(value) {
  return Array.isArray(value) ? value.map(showValue).join(", ") || "–" : typeof value === "number" ? showNumber(value) : String(value);
}

/** The stored run with this value that has most other settings in common with the present one. */
function nearest(family, now, key, value) {
  const alike = ({ settings }) => Object.keys(now.settings).filter((name) => name !== key && JSON.stringify(settings[name]) === JSON.stringify(now.settings[name])).length;
  return family.filter(({ settings }) => JSON.stringify(settings[key]) === JSON.stringify(value)).reduce((best, one) => (alike(one) > alike(best) ? one : best));
}

/** The record of a source that is last at a time. */
function findStep(source, time) {
  let step = 0;
  while (step + 1 < source.times.length && source.times[step + 1] <= time * (1 + 1e-9) + 1e-12) step += 1;
  return step;
}

function readWeights(source, step, init) {
  const [, starts, sites] = source.weights.shape;
  const start = (step * starts + init) * sites;
  return Array.from(source.weights.subarray(start, start + sites), (value) => value * source.unit);
}

/** One source: its field at a time, and all times below it. */
function showSource(data, source, init, time) {
  const palettes = makePalettes();
  const step = findStep(source, time);
  const sites = source.weights.shape[2];
  const now = readWeights(source, step, init);
  const title = `${source.name}: t = ${showNumber(source.times[step])}`;
  const largest = source.unit * source.weights.reduce((most, value) => Math.max(most, Math.abs(value)), 1);
  if (data.shape.length > 1) return panel(title, "", showField(now.map((value) => value / largest), data.shape[0], data.shape[1], palettes.signed, title));
  const rows = source.times.map((_, place) => readWeights(source, place, init).map((value) => value / largest));
  const map = showField(rows.flat(), rows.length, sites, palettes.signed, `${source.name}: weights of every site (across) at every time (down)`);
  map.className = "map";
  const chart = drawChart({ title, series: [{ points: now.map((value, site) => [site, value]), hue: "--one" }], x: { label: "site" }, y: { label: "weight", from: Math.min(0, -largest / 4, ...now), to: largest }, width: 330, height: 190 });
  chart.append(map, el("p", { class: "small soft" }, "All times: site across, time down; blue is negative, orange positive."));
  return chart;
}

function drawIpr(data, init, time) {
  const sites = data.shape.reduce((product, side) => product * side, 1);
  const series = data.sources.map((source, place) => ({ name: source.name, hue: HUES[place], dash: place > 0, dots: source.times.length < 30,
    points: source.times.map((at, step) => [at, source.ipr[step * source.ipr.shape[1] + init] * sites]) }));
  return drawChart({ title: "How local the field is", series, x: { label: "time", to: data.times[data.times.length - 1] }, y: { label: "IPR × N", from: 0 }, marks: [{ x: time }] });
}

/** The marginal of the data and the amplifier that it makes. */
function drawTask(data, entry) {
  const points = (values) => Array.from(data.x, (x, place) => [x, values[place]]);
  const excess = entry.excess === null ? "infinite" : showNumber(entry.excess);
  return [
    drawChart({ title: `Marginal of ${data.title}: excess kurtosis ${excess}`, series: [{ points: points(data.share), hue: "--three" }], x: { label: "value of a site" }, y: { label: "density", from: 0 } }),
    drawChart({ title: "Amplifier φ", series: [{ name: "φ(a)", points: Array.from(data.a, (a, place) => [a, data.amplifier[place]]), hue: "--four" }], x: { label: "a" }, y: { label: "φ(a)" } }),
  ];
}

/** The ends of all runs; every point opens its field. */
function drawPhase(entries, chosen) {
  const known = entries.filter(({ excess }) => excess !== null);
  const kinds = [...new Set(known.map(({ task }) => task))];
  const series = kinds.map((kind, place) => ({ name: kind, hue: HUES[place % HUES.length], chosen, choose: (run) => makeAddress("dynamics", "", { run }),
    points: known.filter(({ task }) => task === kind).map(({ excess, ends, run, title }) => [Math.max(-2.1, Math.min(20, excess)), Object.values(ends)[0], run, `${title}: excess kurtosis ${showNumber(excess)}, IPR × N ${showNumber(Object.values(ends)[0])}`]) }));
  const most = Math.max(...known.map(({ ends }) => Object.values(ends)[0]));
  const ticks = [1, 1.5, 3, 10, 30, 100, 300, 1000].filter((tick) => tick <= most); // those of which the text speaks
  const cut = known.some(({ excess }) => excess > 20) ? " (at 20: 20 or more)" : "";
  const figure = drawChart({ title: `IPR × N at the end against excess kurtosis${cut}`, series, x: { label: "excess kurtosis of a site", pad: 0.04 }, y: { label: "IPR × N", log: true, from: 1, pad: 0.06, ticks }, width: 760, height: 330 });
  figure.querySelector("svg").setAttribute("role", "group");
  figure.classList.add("wide");
  return figure;
}
