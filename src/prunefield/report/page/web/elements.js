// Elements: everything on the page is built here. Text goes in as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** An element: attributes by name, functions as listeners, then children; null and false are left out. */
function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same in SVG. */
function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  node.append(...(node.tagName === "CODE" ? shown : shown.map(showMinus)));
  return node;
}

/** A text whose negative numbers have the minus sign of a text; anything else as it is. */
function showMinus(text) {
  return typeof text === "string" ? text.replace(/(^|[\s([{,;:=<>≤≥±·×/|^])-(?=\.?\d)/g, "$1−").replace(/(\de)-(?=\d)/g, "$1−") : text;
}

let lastId = 0;
/** An identifier that nothing else on the page has. */
function makeId(prefix) {
  lastId += 1;
  return `${prefix}-${lastId}`;
}

/** A control with its label above it. */
function labelled(text, control, ...rest) {
  control.id = control.id || makeId("control");
  return el("div", { class: "control" }, el("label", { for: control.id }, text), control, rest);
}

/** A menu; options are [value, text]. */
function makeSelect(options, value, change) {
  const menu = el("select", { change: () => change(menu.value) },
    options.map(([name, text]) => el("option", { value: name, selected: name === value }, text)));
  return menu;
}

/** Buttons of which exactly one is pressed; options are [value, text]. */
function makeChoice(name, options, value, change) {
  const buttons = options.map(([own, text]) =>
    el("button", { type: "button", "aria-pressed": String(own === value), click: () => press(own) }, text));
  function press(chosen) {
    buttons.forEach((button, place) => button.setAttribute("aria-pressed", String(options[place][0] === chosen)));
    change(chosen);
  }
  return el("div", { class: "choice", role: "group", "aria-label": name }, buttons);
}

/** Something that opens: its content is made when it is first opened. */
function makeFold(title, make, attributes = {}) {
  const body = el("div", { class: "fold-body" });
  const fold = el("details", { class: "fold", ...attributes, toggle: open }, el("summary", {}, title), body);
  function open() {
    if (fold.open && !body.hasChildNodes()) body.append(...[make()].flat());
  }
  return fold;
}

/** Replaces what is in an element; the keyboard stays at the control that takes the place of the one it was at. */
function replaceContent(node, ...content) {
  const list = () => [...node.querySelectorAll("button, select, input")];
  const place = list().indexOf(document.activeElement);
  node.replaceChildren(...content);
  list()[place]?.focus({ preventScroll: true });
}

/** A command to copy. */
function showCommand(command) {
  const button = el("button", { type: "button", class: "quiet", click: copy }, "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // no permission: selected, to be copied by hand
      button.textContent = "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  }
  const code = el("code", {}, command);
  return el("div", { class: "command" }, code, button);
}

/** A file to save. */
function offerFile(text, name, type, data) {
  const url = URL.createObjectURL(new Blob([data], { type }));
  return el("a", { class: "file", download: name, href: url }, text);
}

/** A table; the first row is the head. Numbers are aligned to the right. */
function showTable(caption, head, rows) {
  const isNumber = head.map((_, place) => rows.every((row) => row[place] === "" || !Number.isNaN(Number(String(row[place]).replace(/−/g, "-")))));
  const cell = (tag, attributes) => (value, place) =>
    el(tag, { ...attributes, class: isNumber[place] && rows.length ? "number" : null }, String(value ?? "–"));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, el("table", {},
    el("caption", {}, caption),
    el("thead", {}, el("tr", {}, head.map(cell("th", { scope: "col" })))),
    el("tbody", {}, rows.map((row) => el("tr", {}, row.map(cell("td", {})))))));
}

/** A number in at most `digits` significant digits, with the minus sign of a text. */
function showNumber(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e5 || size < 1e-3 ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
  return text.replaceAll("-", "−");
}

/** Seconds as people say them. */
function showSeconds(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${showNumber(seconds / 3600, 2)} h`;
}

/** "1 run", "2 runs". */
function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
