// Charts: lines and bars in SVG, fields on canvas, in the colours of the page.

const HUES = ["--one", "--two", "--three", "--four", "--five", "--six", "--seven"];
const MARGIN = { left: 58, right: 14, top: 12, bottom: 40 };

/**
 * A chart. `series` are { name, points: [[x, y], …], hue, dash, dots, bars, choose }, `dash` being true or "dotted"; `x` and `y` are
 * { label, log, whole, from, to, pad, ticks, show }, `pad` being a share of the axis that stays free at either end; `marks` are vertical lines { x }; `words` stand below it. Points without a
 * number, or beyond `to`, are left out.
 */
function drawChart({ title, series, x, y, marks = [], words = null, width: wanted = 340, height = 240 }) {
  const width = window.innerWidth < 600 ? Math.min(wanted, 400) : wanted; // on a phone a wide chart would be shrunk with its words
  const kept = series.map((one) => ({ ...one, points: one.points.filter(([a, b]) => isShown(a, x) && isShown(b, y)) }));
  const all = kept.flatMap(({ points }) => points);
  const chart = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describeChart(title, kept, x, y) });
  if (!all.length) {
    chart.append(svg("text", { x: width / 2, y: height / 2, class: "middle" }, "no values"));
    return el("figure", { class: "panel" }, el("figcaption", {}, title), chart);
  }
  const across = makeScale(all.map(([a]) => a), x, MARGIN.left, width - MARGIN.right);
  const up = makeScale(all.map(([, b]) => b), y, height - MARGIN.bottom, MARGIN.top);
  drawAxes(chart, across, up, x, y, width, height);
  kept.forEach((one, place) => chart.append(drawSeries(one, across, up, HUES[place % HUES.length])));
  for (const mark of marks) {
    chart.append(svg("line", { class: "mark", x1: across(mark.x), x2: across(mark.x), y1: MARGIN.top, y2: height - MARGIN.bottom }));
  }
  return el("figure", { class: "panel" }, el("figcaption", {}, title), chart, showLegend(kept), words && el("p", { class: "small soft" }, words));
}

function isShown(value, axis) {
  return Number.isFinite(value) && (!axis.log || value > 0) && !(value > axis.to);
}

function describeChart(title, series, x, y) {
  const lines = series.filter(({ points }) => points.length).map(({ name, points }) =>
    `${name ?? "line"} from ${showNumber(points[0][1])} to ${showNumber(points[points.length - 1][1])}`);
  return `${title}: ${y.label} against ${x.label}. ${lines.slice(0, 8).join("; ")}`;
}

/** A function from values to places, with its ticks. */
function makeScale(values, axis, start, end) {
  const turn = axis.log ? Math.log10 : (value) => value;
  let low = turn(axis.from ?? Math.min(...values));
  let high = turn(axis.to ?? Math.max(...values));
  if (high - low < 1e-12) [low, high] = [low - 0.5, high + 0.5];
  const room = (axis.pad ?? 0) * (high - low);
  [low, high] = [low - room, high + room];
  const scale = (value) => start + ((turn(value) - low) / (high - low)) * (end - start);
  scale.ticks = axis.ticks ?? (axis.log ? listPowers(low, high) : listSteps(low, high)).filter((tick) => !axis.whole || Number.isInteger(tick));
  const isPlain = !axis.log || scale.ticks.every((tick) => tick >= 0.01 && tick < 1e4);
  scale.show = axis.show ?? (isPlain ? showNumber : showPower);
  return scale;
}

/** Round numbers from `low` to `high`, at least three of them. */
function listSteps(low, high) {
  const power = 10 ** Math.floor(Math.log10(high - low));
  for (const step of [5, 2, 1, 0.5, 0.2].map((part) => part * power)) {
    const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
    if (last - first >= 2) return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
  }
}

function listPowers(low, high) {
  const factors = high - low < 1.3 ? [1, 2, 5] : [1];
  const ticks = [];
  const step = Math.max(1, Math.ceil((high - low) / 6));
  for (let power = Math.floor(low); power <= high; power += step) {
    for (const factor of factors) {
      const place = power + Math.log10(factor);
      if (place >= low - 1e-9 && place <= high + 1e-9) ticks.push(factor * 10 ** power);
    }
  }
  return ticks;
}

/** A number of a logarithmic axis as a power of ten. */
function showPower(value) {
  const power = Math.floor(Math.log10(value) + 1e-9);
  const factor = showNumber(value / 10 ** power);
  return `${factor === "1" ? "" : `${factor}·`}10${String(power).replace(/./g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)])}`;
}

function drawAxes(chart, across, up, x, y, width, height) {
  const bottom = height - MARGIN.bottom;
  for (const tick of up.ticks) {
    chart.append(svg("line", { class: "rule", x1: MARGIN.left, x2: width - MARGIN.right, y1: up(tick), y2: up(tick) }),
      svg("text", { class: "end", x: MARGIN.left - 6, y: up(tick) + 4 }, up.show(tick)));
  }
  for (const tick of across.ticks) {
    chart.append(svg("text", { class: "middle", x: across(tick), y: bottom + 16 }, across.show(tick)));
  }
  chart.append(svg("line", { class: "axis", x1: MARGIN.left, x2: width - MARGIN.right, y1: bottom, y2: bottom }),
    svg("text", { class: "middle label", x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 6 }, x.label),
    svg("text", { class: "middle label", transform: `translate(12 ${(MARGIN.top + bottom) / 2}) rotate(-90)` }, y.label));
}

function drawSeries({ name, points, hue, dash, dots, bars, choose, faint, chosen }, across, up, usual) {
  const colour = `var(${hue ?? usual})`;
  const group = svg("g", { class: faint ? "faint" : null });
  group.style.color = colour;
  if (bars) {
    const floor = up(up.ticks[0] > 0 ? up.ticks[0] : 0);
    const step = points.length > 1 ? Math.abs(across(points[1][0]) - across(points[0][0])) : 20;
    points.forEach(([a, b]) => group.append(svg("rect", { x: across(a) - 0.42 * step, width: 0.84 * step, y: Math.min(up(b), floor), height: Math.abs(floor - up(b)) })));
    return group;
  }
  if (!choose) group.append(svg("path", { class: `line ${nameDash(dash)}`, d: points.map(([a, b], place) => `${place ? "L" : "M"}${across(a).toFixed(1)} ${up(b).toFixed(1)}`).join("") }));
  if (dots || choose) points.forEach(([a, b, key, text]) => {
    const dot = svg("circle", { cx: across(a), cy: up(b), r: choose ? (key === chosen ? 8 : 5) : 3, class: dash ? "hollow" : "dot" });
    group.append(choose ? svg("a", { href: choose(key), "aria-label": `${name}: ${text}`, class: key === chosen ? "chosen" : null }, svg("title", {}, text), dot) : dot);
  });
  return group;
}

function nameDash(dash) {
  return dash === "dotted" ? "dotted" : dash ? "dash" : "";
}

function showLegend(series) {
  const named = series.filter(({ name, points, faint }) => name && points.length && !faint);
  if (named.length < 2) return null;
  return el("ul", { class: "legend" }, named.map(({ name, hue, dash }) => {
    const key = el("span", { class: `key ${nameDash(dash)}` });
    key.style.color = `var(${hue ?? HUES[series.findIndex((one) => one.name === name) % HUES.length]})`;
    return el("li", {}, key, name);
  }));
}

/** The colour of a variable of the style sheet, as [red, green, blue]. */
function readColour(name) {
  const probe = el("span", {});
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return found;
}

/** Palettes: functions from a value in [−1, 1] (signed) or [0, 1] (sizes) to a colour, for the present theme. */
function makePalettes() {
  const [ground, ink, negative, positive] = ["--paper", "--ink", "--one", "--two"].map(readColour);
  const mix = (from, to, share) => from.map((part, place) => part + (to[place] - part) * Math.min(1, Math.max(0, share)));
  return {
    size: (value) => mix(ground, ink, value),
    signed: (value) => mix(ground, value < 0 ? negative : positive, Math.sqrt(Math.abs(value))),
  };
}

/** Paints a field of `rows` × `columns` values into a picture, each cell one pixel. */
function paintField(values, rows, columns, palette) {
  const picture = new ImageData(columns, rows);
  for (let place = 0; place < rows * columns; place += 1) {
    const [red, green, blue] = palette(values[place]);
    picture.data.set([red, green, blue, 255], 4 * place);
  }
  return picture;
}

/** A canvas with one field, enlarged without smoothing by the style sheet. */
function showField(values, rows, columns, palette, label) {
  const canvas = el("canvas", { class: "field", width: columns, height: rows, role: "img", "aria-label": label });
  canvas.getContext("2d").putImageData(paintField(values, rows, columns, palette), 0, 0);
  return canvas;
}
