// One unit of the explorer: its mask, S(d) with the fit, its pre-activations, its Gabor fit and its weights by fate.

function showUnit(data, now, place, choose) {
  const layer = data.layers[now.layer];
  const [, rows, columns] = layer.shape;
  const palettes = makePalettes();
  const mask = foldUnit(layer, now.method, place, now.round, "mask");
  const weights = foldUnit(layer, now.method, place, now.round, "weights");
  const largest = weights.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9);
  const inputs = layer.fates[now.method].length / layer.units.length;
  const kept = countKept(layer, now.method, place, now.round, inputs);
  return [
    el("div", { class: "controls" },
      el("div", { class: "control" }, el("span", { class: "label" }, "Method"), makeChoice("Method", Object.entries(MARKS), now.method, (method) => choose(method, now.unit))),
      labelled("Unit", makeSelect(layer.units.map((unit) => [String(unit), String(unit)]), String(now.unit), (unit) => choose(now.method, Number(unit)))),
      el("p", { class: "soft small" }, `keeps ${kept.toLocaleString("en")} of ${inputs.toLocaleString("en")} inputs`)),
    el("div", { class: "panels" },
      panel("Mask", now.layer ? "inputs are hidden units in their order" : "summed over channels", showField(mask, rows, columns, palettes.size, `Mask of unit ${now.unit}`)),
      panel("Kept weights at the rewind point", "blue is negative, orange positive", showField(weights, rows, columns, (value) => palettes.signed(value / largest), `Weights of unit ${now.unit}`)),
      now.layer ? null : showGabor(data, now, palettes),
      now.layer ? null : showPairs(data, now, place, palettes),
      now.layer ? null : showBefore(data, now, place),
      showFates(layer, now, place, inputs, data.rounds)),
  ];
}

function panel(title, words, ...content) {
  return el("figure", { class: "panel" }, el("figcaption", {}, title, el("span", { class: "soft" }, ` ${words}`)), content);
}

function countKept(layer, method, place, round, inputs) {
  let kept = 0;
  for (let entry = place * inputs; entry < (place + 1) * inputs; entry += 1) kept += layer.fates[method][entry] >= round ? 1 : 0;
  return kept;
}

/** S(d): the pairs of kept inputs of a channel at distance d, with S(0) = 0, divided by its maximum. */
function countPairs(layer, method, place, round) {
  const [channels, rows, columns] = layer.shape;
  const [tall, wide] = [2 * rows - 1, 2 * columns - 1];
  const pairs = new Float32Array(tall * wide);
  for (let channel = 0; channel < channels; channel += 1) {
    const start = (place * channels + channel) * rows * columns;
    const kept = [];
    for (let pixel = 0; pixel < rows * columns; pixel += 1) if (layer.fates[method][start + pixel] >= round) kept.push([Math.floor(pixel / columns), pixel % columns]);
    for (const [y, x] of kept) for (const [v, u] of kept) pairs[(v - y + rows - 1) * wide + u - x + columns - 1] += 1;
  }
  pairs[(rows - 1) * wide + columns - 1] = 0;
  const most = pairs.reduce((largest, value) => Math.max(largest, value), 0);
  return { pairs: most ? pairs.map((value) => value / most) : pairs, tall, wide };
}

/** S(d), the Gaussian that was fitted to it and what is left over, as pictures and along x. */
function showPairs(data, now, place, palettes) {
  const layer = data.layers[0];
  const { pairs, tall, wide } = countPairs(layer, now.method, place, now.round);
  const units = layer.units.length;
  const [across, down, misfit] = [0, 1, 2].map((column) => data.widths[now.method][(now.round * units + place) * 3 + column]);
  const middle = [(tall - 1) / 2, (wide - 1) / 2];
  const bell = pairs.map((_, entry) => {
    const [y, x] = [Math.floor(entry / wide) - middle[0], (entry % wide) - middle[1]];
    return Math.exp(-(x * x) / (2 * across * across) - (y * y) / (2 * down * down));
  });
  const centre = middle[0] * wide + middle[1];
  let [over, under] = [0, 0];
  pairs.forEach((value, entry) => { if (entry !== centre) { over += value * bell[entry]; under += bell[entry] ** 2; } });
  const size = over / under; // the best amplitude for these widths, as in the stored fit
  const fit = bell.map((value, entry) => (entry === centre ? 0 : size * value));
  const rest = pairs.map((value, entry) => value - fit[entry]);
  const line = (values) => Array.from({ length: wide }, (_, x) => [x - middle[1], values[middle[0] * wide + x]]).filter(([x]) => x !== 0);
  const hasFit = Number.isFinite(size);
  const chart = drawChart({ title: "along x", series: [{ name: "S(d)", points: line(pairs), hue: "--one" }, { name: "Gaussian fit", points: hasFit ? line(fit) : [], hue: "--two", dash: true }], x: { label: "distance along x (pixels)" }, y: { label: "S(d) / max S", from: 0 } });
  return panel("Pairs S(d)", "at each distance; fit; residual", el("div", { class: "triple" }, showField(pairs, tall, wide, palettes.size, "S(d), the number of pairs at each distance"),
    showField(hasFit ? fit : pairs.map(() => 0), tall, wide, palettes.size, "The fitted Gaussian"), showField(hasFit ? rest : pairs.map(() => 0), tall, wide, palettes.signed, "The residual of the fit")),
    el("p", { class: "small" }, hasFit ? `σx = ${showNumber(across)}, σy = ${showNumber(down)} pixels; mean squared residual ${showNumber(misfit, 2)}` : "no fit: fewer than two kept inputs in a channel"), chart);
}

/** The histogram of pre-activations with its kurtosis. */
function showBefore(data, now, place) {
  const { before } = data;
  if (before.problem) return panel("Pre-activations", "", el("p", { class: "notice small" }, `The images cannot be sampled here: ${before.problem}`));
  const units = data.layers[0].units.length;
  const bins = before.counts[now.method].length / units / (data.rounds + 1);
  const start = (now.round * units + place) * bins;
  const counts = Array.from(before.counts[now.method].subarray(start, start + bins), (value) => value / 255);
  const where = (bin) => ((2 * bin + 1) / bins - 1) * before.reach;
  const bell = Array.from({ length: 81 }, (_, step) => { const at = (step / 40 - 1) * before.reach; return [at, Math.exp(-at * at / 2)]; });
  const kurtosis = before.kurtosis[now.method][now.round * units + place];
  return drawChart({ title: `Pre-activations: kurtosis ${showNumber(kurtosis, 4)} within classes`, series: [{ name: "pre-activations", points: counts.map((value, bin) => [where(bin), value]), bars: true, hue: "--one" }, { name: "a Gaussian", points: bell, hue: "--two", dash: true }],
    x: { label: "standard deviations from the mean" }, y: { label: "share of the highest bin", from: 0, to: 1 },
    words: `${before.images.toLocaleString("en")} held-out images, ${before.per_class} of each class; Gaussian samples of this size have kurtosis ${showNumber(before.gaussian, 4)}.` });
}

/** The stored Gabor fit of the last mask. */
function showGabor(data, now, palettes) {
  const fit = data.gabors[now.method]?.[now.unit];
  if (!fit || fit.explained === null) {
    const why = data.gabors[now.method] ? "this unit is not among those that were fitted" : "none is stored for this run (prunefield reproduce redman2025/fig1 makes some)";
    return panel("Gabor fit", "of the last mask", el("p", { class: "notice small" }, `No fit: ${why}.`));
  }
  const [, rows, columns] = data.layers[0].shape;
  const [cos, sin] = [Math.cos(fit.orientation), Math.sin(fit.orientation)];
  const field = Float32Array.from({ length: rows * columns }, (_, entry) => {
    const [x, y] = [(entry % columns) - fit.x, Math.floor(entry / columns) - fit.y];
    const [u, v] = [x * cos + y * sin, y * cos - x * sin];
    return Math.exp(-(u * u) / (2 * fit.along ** 2) - (v * v) / (2 * fit.across ** 2)) * Math.cos(2 * Math.PI * fit.frequency * u + fit.phase);
  });
  return panel("Gabor fit", `of the last ${data.gabors.field}`, showField(field, rows, columns, palettes.signed, `Gabor function fitted to unit ${now.unit}`),
    el("p", { class: "small" }, `explains ${showNumber(100 * fit.explained, 2)}% of the variance; orientation ${Math.round(fit.orientation * 180 / Math.PI)}°, ${showNumber(fit.frequency, 2)} cycles per pixel, orientation selectivity ${showNumber(fit.selectivity, 2)}`));
}

/** The sizes of the weights by the round in which they are pruned. */
function showFates(layer, now, place, inputs, rounds) {
  const groups = Array.from({ length: rounds + 1 }, () => []);
  for (let entry = place * inputs; entry < (place + 1) * inputs; entry += 1) groups[layer.fates[now.method][entry]].push(Math.abs(layer.weights[entry] * layer.unit));
  const mean = groups.map((sizes, fate) => [fate + 1, sizes.length ? sizes.reduce((sum, size) => sum + size, 0) / sizes.length : NaN]);
  const show = (tick) => (tick === rounds + 1 ? "kept" : Number.isInteger(tick) ? String(tick) : "");
  const ticks = Array.from({ length: rounds + 1 }, (_, fate) => fate + 1).filter((fate) => rounds < 8 || fate % 2 === (rounds + 1) % 2);
  return drawChart({ title: "Weights at the rewind point by their fate", series: [{ name: "mean |w|", points: mean, bars: true, hue: "--three" }], x: { label: "round in which they are pruned", ticks, show, from: 0.4, to: rounds + 1.6 }, y: { label: "mean |w|", from: 0 } });
}
