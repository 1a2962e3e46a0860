// The pruning explorer: where a score prunes, threshold against sampled masks, overlaps, and errors with their bounds.

function showPruning(query) {
  const { pruned, bounds, problems } = index.pruning;
  const head = [el("h1", {}, "What a score keeps"),
    el("p", { class: "lead" }, "Networks pruned at initialisation: how much each layer keeps, whether the largest scores are kept or a mask is sampled, and how far two masks agree.")];
  if (!pruned && !bounds) return [...head, missingRuns("pruned", 0, problems, "bar2023")];
  const place = el("div", { "aria-busy": "true" });
  const reader = makeReader();
  reader.read("pruning").then((data) => {
    if (!data) return;
    place.replaceChildren(...[
      pruned ? showDensities(data.runs, query) : null,
      data.overlaps.length ? showOverlaps(data.overlaps, query) : null,
      bounds ? showBounds(data.bounds, query) : null,
    ].flat().filter(Boolean));
    place.removeAttribute("aria-busy");
  });
  return Object.assign([...head, place, listProblems(problems)], { leave: reader.stop });
}

/** Density of each layer, by score; seeds are averaged. */
function showDensities(runs, query) {
  const nets = [...new Set(runs.map(({ net }) => net))].sort((a, b) => runs.filter(({ net }) => net === b).length - runs.filter(({ net }) => net === a).length);
  const now = { net: nets.includes(query.net) ? query.net : nets[0], density: query.density ? Number(query.density) : null, off: null };
  const controls = el("div", { class: "controls" });
  const checks = el("div", {});
  const charts = el("div", { class: "panels" });
  function update() {
    const mine = runs.filter(({ net }) => net === now.net);
    const densities = [...new Set(mine.map(({ density }) => density))].sort((a, b) => a - b);
    if (!densities.includes(now.density)) [now.density] = densities;
    changeQuery({ net: now.net, density: now.density });
    replaceContent(controls,
      labelled("Network and data", makeSelect(nets.map((net) => [net, net]), now.net, (net) => { Object.assign(now, { net, off: null }); update(); })),
      labelled("Density", makeSelect(densities.map((density) => [String(density), showNumber(density)]), String(now.density), (density) => { now.density = Number(density); update(); })));
    const groups = groupRuns(mine.filter(({ density }) => density === now.density));
    const methods = [...new Set(groups.map(({ method }) => method))].sort();
    now.off ??= new Set(methods.length > HUES.length ? methods.filter((method) => method.includes(",")) : []); // more than colours
    replaceContent(checks, el("fieldset", { class: "checks" }, el("legend", {}, "Scores"), methods.map((method) =>
      el("label", {}, el("input", { type: "checkbox", checked: !now.off.has(method), change: (event) => { now.off[event.target.checked ? "delete" : "add"](method); update(); } }), method))));
    const shown = groups.filter(({ method }) => !now.off.has(method));
    charts.replaceChildren(drawLayers(shown, methods.filter((method) => !now.off.has(method))), showAccuracies(shown));
  }
  update();
  return [el("h2", {}, "Density of each layer"), controls, checks, charts];
}

/** Runs that differ only in their seed, as one. */
function groupRuns(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = `${run.method}|${run.sampled}`;
    if (!groups.has(key)) groups.set(key, { method: run.method, sampled: run.sampled, names: run.names, runs: [] });
    groups.get(key).runs.push(run);
  }
  const ordered = [...groups.keys()].sort().map((key) => groups.get(key));
  return ordered.map((group) => ({ ...group, layers: group.names.map((_, layer) => average(group.runs.map(({ layers }) => layers[layer]))) }));
}

function average(values) {
  const kept = values.filter((value) => Number.isFinite(value));
  return kept.length ? kept.reduce((sum, value) => sum + value, 0) / kept.length : NaN;
}

function showSampling(sampled) {
  return sampled === "never" ? "threshold" : sampled === "last" ? "sampled" : `sampled ${sampled} time`;
}

function drawLayers(groups, methods) {
  const series = groups.map(({ method, sampled, layers }) => ({ name: `${method}, ${showSampling(sampled)}`, hue: HUES[methods.indexOf(method) % HUES.length], dash: { never: false, last: true }[sampled] ?? "dotted", dots: true,
    points: layers.map((density, layer) => [layer + 1, density]) }));
  const figure = drawChart({ title: "Density of each layer: thresholds solid, sampled masks dashed, sampled every time dotted", series, x: { label: "layer, from the inputs to the classes", whole: true }, y: { label: "density", log: true, to: 1 }, width: 760, height: 320 });
  figure.classList.add("wide");
  return figure;
}

function showAccuracies(groups) {
  const rows = groups.map(({ method, sampled, runs }) => [method, showSampling(sampled), runs.length, showNumber(100 * average(runs.map(({ accuracy }) => accuracy))), runs.filter(({ emptied }) => emptied).length]);
  const figure = el("div", { class: "panel wide" }, showTable("Masks and accuracies", ["score", "mask", "seeds", "accuracy (%)", "seeds with an emptied layer"], rows));
  return figure;
}

/** Two masks: how many weights they share, in all and in each layer, against what chance would give. */
function showOverlaps(overlaps, query) {
  const now = { set: Number(query.set ?? 0) in overlaps ? Number(query.set ?? 0) : 0, a: query.a, b: query.b };
  const controls = el("div", { class: "controls" });
  const result = el("div", { class: "panels" });
  function update() {
    const { net, density, masks, layers, shared, sizes } = overlaps[now.set];
    now.a = readWhole(now.a, masks.length - 1, 0);
    now.b = readWhole(now.b, masks.length - 1, masks.length - 1 && 1);
    changeQuery({ set: now.set || "", a: now.a, b: now.b });
    const options = masks.map((name, mask) => [String(mask), name]);
    const read = (first, second, layer) => shared[(first * masks.length + second) * layers.length + layer];
    replaceContent(controls,
      labelled("Network", makeSelect(overlaps.map((one, set) => [String(set), `${one.net}, density ${showNumber(one.density)}`]), String(now.set), (set) => { now.set = Number(set); update(); })),
      labelled("One mask", makeSelect(options, String(now.a), (mask) => { now.a = Number(mask); update(); })),
      labelled("Another mask", makeSelect(options, String(now.b), (mask) => { now.b = Number(mask); update(); })));
    const rows = layers.map((name, layer) => ({ name, both: read(now.a, now.b, layer), one: read(now.a, now.a, layer), other: read(now.b, now.b, layer), size: sizes[layer] }));
    const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
    const chance = rows.reduce((total, { one, other, size }) => total + (one * other) / size, 0);
    const share = (both, one, other) => (one + other - both ? both / (one + other - both) : NaN);
    const words = `They share ${sum("both").toLocaleString("en")} of ${sum("one").toLocaleString("en")} and ${sum("other").toLocaleString("en")} weights (Jaccard index ${showNumber(share(sum("both"), sum("one"), sum("other")))}); independent masks with the same layer densities would share ${Math.round(chance).toLocaleString("en")}.`;
    const chart = drawChart({ title: `Overlap in each layer of ${net}, density ${showNumber(density)}`, series: [
        { name: "Jaccard index", hue: "--one", dots: true, points: rows.map(({ both, one, other }, layer) => [layer + 1, share(both, one, other)]) },
        { name: "by chance", hue: "--seven", dash: true, points: rows.map(({ one, other, size }, layer) => [layer + 1, share((one * other) / size, one, other)]) }],
      x: { label: "layer", whole: true }, y: { label: "Jaccard index", from: 0, to: 1 }, width: 760, height: 260 });
    chart.classList.add("wide");
    result.replaceChildren(el("p", { class: "panel wide", role: "status" }, words), chart);
  }
  update();
  return [el("h2", {}, "Overlap of two masks"), controls, result];
}

const BOUNDS = { exact: ["exact error", "--seven", false], printed: ["Theorem 4.4 as printed", "--two", false], sum: ["corrected, sum", "--three", false], minimum: ["corrected, minimum", "--one", false], uniform: ["uniform masks, exact", "--five", true] };

/** Error against density, with the bounds; everything is proportional to 1/s. */
function showBounds(bounds, query) {
  const dimensions = [...new Set(bounds.map(({ dimension }) => dimension))].sort((a, b) => a - b);
  const asked = Number(query.d);
  const now = { dimension: dimensions.includes(asked) ? asked : dimensions[dimensions.length - 1], tau: query.tau === undefined ? null : Number(query.tau) };
  const controls = el("div", { class: "controls" });
  const result = el("div", { class: "panels" });
  function update() {
    const mine = bounds.filter(({ dimension }) => dimension === now.dimension);
    const taus = [...new Set(mine.map(({ tau }) => tau))].sort((a, b) => a - b);
    if (!taus.includes(now.tau)) now.tau = taus[Math.floor(taus.length / 2)];
    changeQuery({ d: now.dimension, tau: now.tau });
    replaceContent(controls,
      labelled("Number of weights d", makeSelect(dimensions.map((d) => [String(d), d.toLocaleString("en")]), String(now.dimension), (d) => { now.dimension = Number(d); update(); })),
      labelled("Distance τ of the trained weights", makeSelect(taus.map((tau) => [String(tau), showNumber(tau)]), String(now.tau), (tau) => { now.tau = Number(tau); update(); })));
    const found = mine.find(({ tau }) => tau === now.tau);
    const counts = Array.from({ length: 25 }, (_, step) => Math.max(1, now.dimension ** (step / 24)));
    const series = Object.entries(BOUNDS).map(([name, [label, hue, dash]]) => ({ name: label, hue, dash, points: counts.map((s) => [s / now.dimension, found.columns[name][1] / s]) }));
    const figure = drawChart({ title: "Median error and bounds against density s/d", series, x: { label: "density s/d (draws with replacement, divided by d)", log: true }, y: { label: "mean squared error", log: true }, width: 760, height: 340 });
    figure.classList.add("wide");
    result.replaceChildren(figure, el("p", { class: "panel wide", role: "status" }, `The printed bound lies below the exact error in ${showNumber(100 * found.failures)}% of ${found.draws.toLocaleString("en")} draws of the weights; the corrected bounds never do (claims of bar2023/theorem4.4).`));
  }
  update();
  return [el("h2", {}, "Error against density, and its bounds"), el("p", {}, "A mask made from the initial weights w0 is applied to trained weights w⋆ = w0 + τ·N(0, I). The exact mean error and every bound are proportional to 1/s, s being the number of draws."), controls, result];
}
