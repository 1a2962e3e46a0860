// Items: the figure, the files, the numbers, the settings and the command of one figure, table or theorem.

const ROWS = 100; // of a table that are shown at first

/** The figure with its caption and files; an image, unpacked when it comes near the screen. */
function showFigure(item) {
  const image = el("img", { alt: "", decoding: "async" });
  const caption = el("figcaption", { class: "hidden" }); // it stands in the image, too
  const files = el("p", { class: "files" });
  const sheet = el("div", { class: "sheet", tabindex: "0", role: "region", "aria-label": `Figure of ${item.name}` }, image);
  const figure = el("figure", { class: "drawing", "aria-busy": "true" }, sheet, hintScroll(sheet), caption, files);
  whenNear(figure, async () => {
    const data = await readIsland(`item/${item.name}`);
    [image.width, image.height] = data.size;
    image.alt = data.alt;
    image.src = URL.createObjectURL(new Blob([data.svg], { type: "image/svg+xml" }));
    caption.textContent = data.caption;
    files.replaceChildren(...await offerFiles(item, data));
    figure.removeAttribute("aria-busy");
  });
  return figure;
}

async function offerFiles(item, data) {
  const name = `${item.name.replaceAll("/", "-")}-${item.scale}`;
  const table = offerFile(`CSV, ${sayRows(item, readCsv(data.csv).length - 1)}`, `${name}.csv`, "text/csv", data.csv);
  const pdf = await readIsland(`pdf/${item.name}`);
  return [
    offerFile("SVG", `${name}.svg`, "image/svg+xml", data.svg),
    pdf ? offerFile("PDF", `${name}.pdf`, "application/pdf", pdf.pdf)
      : el("span", { class: "soft" }, `PDF: items/${item.name}-${item.scale}.pdf in the store`),
    table,
  ];
}

/** What says that an element scrolls sideways, as long as there is more to its right; the element fades there. */
function hintScroll(node) {
  const hint = el("p", { class: "hint small soft", "aria-hidden": "true", hidden: true }, "scroll sideways →");
  function update() {
    const isWider = node.scrollWidth > node.clientWidth + 1;
    node.classList.toggle("more", isWider && node.scrollLeft + node.clientWidth < node.scrollWidth - 2);
    hint.hidden = !isWider;
  }
  node.addEventListener("scroll", update, { passive: true });
  const observer = new ResizeObserver(update);
  for (const watched of [node, ...node.children]) observer.observe(watched);
  return hint;
}

/** Calls once, when the element comes near the screen or the page is printed. */
function whenNear(node, make) {
  let isDone = false;
  function run() {
    if (isDone) return;
    isDone = true;
    observer.disconnect();
    window.removeEventListener("beforeprint", run);
    make();
  }
  const observer = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && run(),
    { rootMargin: "400px" });
  observer.observe(node);
  window.addEventListener("beforeprint", run);
}

/** The table behind a figure. A column with its bounds (`_low`, `_high`) becomes one with the interval in it. */
async function showNumbers(item) {
  const { csv } = await readIsland(`item/${item.name}`);
  const [head, ...rows] = readCsv(csv);
  const bounds = head.map((name) => [head.indexOf(`${name}_low`), head.indexOf(`${name}_high`)]);
  const kept = head.map((_, place) => place)
    .filter((place) => !/_(low|high)$/.test(head[place]) || !head.includes(head[place].replace(/_(low|high)$/, "")));
  const shorten = (text) => (text !== "" && Number.isFinite(Number(text)) && text.length > 6 ? showNumber(Number(text), 4) : text);
  const show = (row) => kept.map((place) => {
    const [low, high] = bounds[place];
    const value = shorten(row[place]);
    return low < 0 || row[low] === "" ? value : `${value} (${shorten(row[low])} to ${shorten(row[high])})`;
  });
  const names = kept.map((place) => (bounds[place][0] < 0 ? head[place] : `${head[place]} (95% interval)`));
  const shown = rows.slice(0, ROWS).map(show);
  const more = rows.length > ROWS ? `, the first ${ROWS} shown` : "";
  const rest = rows.length < item.rows ? `; all are in items/${item.name}-${item.scale}.csv of the store` : "";
  return showTable(`Table of ${item.name}: ${sayRows(item, rows.length)}${more}${rest}`, names, shown);
}

function nameNumbers(item) {
  return item.intervals ? "Numbers of the figure, with intervals" : "Numbers of the figure";
}

/** How many rows of a table the page has. */
function sayRows(item, here) {
  return here < item.rows ? `the first ${here.toLocaleString("en")} of ${count(item.rows, "row")}` : count(item.rows, "row");
}

/** A CSV file as rows of cells. */
function readCsv(text) {
  const rows = [[""]];
  let isQuoted = false;
  for (let place = 0; place < text.length; place += 1) {
    const sign = text[place];
    const row = rows[rows.length - 1];
    if (isQuoted && sign === '"' && text[place + 1] === '"') {
      row[row.length - 1] += '"';
      place += 1;
    } else if (sign === '"') isQuoted = !isQuoted;
    else if (sign === "," && !isQuoted) row.push("");
    else if (sign === "\n" && !isQuoted) rows.push([""]);
    else if (sign !== "\r") row[row.length - 1] += sign;
  }
  return rows.filter((row) => row.length > 1 || row[0] !== "");
}

/** The settings of the runs: what varies at once, the rest on demand. */
async function showSettings(item) {
  const { settings, made } = await readIsland(`item/${item.name}`);
  const parts = Object.entries(settings).map(([kind, { varying, shared, rows, runs }]) => el("div", { class: "kind" },
    showTable(`${count(runs, "run")} of kind ${kind}: ${varying.length ? "what varies" : "nothing varies"}`,
      ["run", "seconds", ...varying], rows),
    makeFold(`${count(Object.keys(shared).length, "setting")} that all of them share`, () =>
      showTable(`Settings shared by all ${kind} runs`, ["setting", "value"], Object.entries(shared)))));
  return [...parts, showVersions(made)];
}

/** What made the runs, how long it took, and when. */
function showVersions(made) {
  const versions = ["prunefield", "python", "torch", "numpy", "scipy"].filter((name) => made[name]?.length)
    .map((name) => `${name} ${made[name].join(", ")}`);
  if (!versions.length) return el("p", { class: "soft" }, "It needs no runs.");
  const machine = [...made.system, ...made.machine, ...made.processor, ...made.device].join(", ");
  const when = made.first === made.last ? made.last : `${made.first} to ${made.last}`;
  const parts = [versions.join(", "), machine, `${showSeconds(made.seconds)} of one core`, when]; // published values have no machine and no date
  return el("p", { class: "soft" }, `Made with ${parts.filter(Boolean).join("; ")}.`);
}

/** The view of one item. */
function showItem(item) {
  const paper = index.papers.find(({ name }) => name === item.name.split("/")[0]);
  const runs = item.missing ? `${item.runs} of ${count(item.runs + item.missing, "run")}` : count(item.runs, "run");
  const facts = [`${item.scale} scale`, item.seeds,
    item.kept ? `${runs}, ${item.kept} of them from published values` : runs, `digest ${item.digest.slice(0, 12)}`];
  if (item.published === "same") facts.push("equal to the published result");
  if (item.published === "differs") facts.push("differs from the published result");
  return [
    el("p", { class: "crumb" }, el("a", { href: makeAddress("claims", "", { paper: paper.name }) }, paper.title)),
    el("h1", {}, item.title),
    el("p", { class: "soft" }, el("code", {}, item.name), ` · ${facts.join(" · ")}`),
    showFigure(item),
    el("h2", {}, "Claims"),
    el("div", { class: "claims" }, item.claims.map((claim, place) => showClaim(item, claim, place, { figure: false }))),
    el("h2", {}, "Numbers, settings and command"),
    el("p", {}, "To repeat it:"), showCommand(makeCommand(item)),
    later(nameNumbers(item), () => showNumbers(item)),
    later("Settings of the runs, and what made them", () => showSettings(item)),
    item.choices.length ? makeFold("What the paper leaves open, and what was chosen", () =>
      el("ul", {}, item.choices.map((choice) => el("li", {}, choice)))) : null,
  ];
}

function makeCommand(item) {
  return sayCommand([item.name], item.scale);
}

/** A fold whose content comes from an island. */
function later(title, make) {
  return makeFold(title, () => {
    const place = el("div", { "aria-busy": "true" });
    make().then((found) => {
      place.replaceChildren(...[found].flat());
      place.removeAttribute("aria-busy");
    });
    return place;
  });
}
