// The frame: sidebar, search, light and dark, and the view that the address asks for.

let index = null;
let view = null;
const ROOMS = [["claims", "Claims"], ["fields", "Receptive fields"], ["dynamics", "Dynamics"], ["pruning", "Pruning"], ["store", "What is missing"]];

async function start() {
  applyTheme(readTheme());
  index = await readIsland("index");
  buildSidebar();
  window.addEventListener("hashchange", showView);
  window.addEventListener("beforeprint", printLight);
  showView();
}

function buildSidebar() {
  const search = el("input", { type: "search", id: "search", placeholder: "width, kurtosis, Theorem …", autocomplete: "off", input: () => searchFor(search.value) });
  const toggle = el("button", { type: "button", class: "quiet menu", "aria-expanded": "false", "aria-controls": "places", click: () => openMenu(!side.classList.contains("unfolded")) }, "Menu");
  const side = document.getElementById("side");
  function openMenu(isOpen) {
    side.classList.toggle("unfolded", isOpen); // "open" is a verdict and has its colour
    toggle.setAttribute("aria-expanded", String(isOpen));
  }
  side.addEventListener("click", (event) => event.target.closest("a") && openMenu(false));
  side.append(
    el("div", { class: "brand" }, el("a", { href: "#/claims" }, "prunefield"), toggle,
      el("button", { type: "button", class: "quiet theme", "aria-label": "Light or dark", click: switchTheme }, "◐")),
    el("div", { class: "search" }, el("label", { for: "search" }, "Search the claims"), search),
    el("nav", { id: "places", "aria-label": "Parts of the report" },
      el("ul", { class: "rooms" }, ROOMS.map(([name, text]) => el("li", {}, el("a", { href: makeAddress(name), "data-place": name }, text, name === "store" && countGaps() ? ` (${countGaps()})` : "")))),
      index.papers.map(listPaper)));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
}

/** How many items are missing or could not be read. */
function countGaps() {
  return index.missing.length + index.unreadable.length;
}

function listPaper({ name, title }) {
  const items = index.items.filter((item) => item.name.startsWith(`${name}/`));
  return el("section", { class: "shelf" },
    el("h2", {}, el("a", { href: makeAddress("claims", "", { paper: name }), "data-place": `claims/${name}`, title }, name), showMarks(countVerdicts(items.flatMap(({ claims }) => claims)))),
    el("p", { class: "soft small" }, title),
    el("ul", {}, items.map((item) => el("li", {}, el("a", { href: makeAddress("item", item.name), "data-place": `item/${item.name}` },
      el("span", { class: "entry" }, showShortName(item), el("span", { class: "name" }, item.title)), showMarks(countVerdicts(item.claims)))))));
}

function searchFor(text) {
  const { view: name, query } = readAddress();
  if (name === "claims") {
    changeQuery({ q: text });
    view.update();
  } else {
    location.hash = makeAddress("claims", "", { ...(name === "claims" ? query : {}), q: text });
  }
}

/** Says which entry of the sidebar is shown. */
function markSidebar() {
  const { view: name, path, query } = readAddress();
  const place = name === "item" ? `item/${path}` : name === "claims" && query.paper ? `claims/${query.paper}` : name;
  for (const link of document.querySelectorAll("[data-place]")) {
    if (link.dataset.place === place) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function showView() {
  const { view: name, path, query } = readAddress();
  const main = document.getElementById("main");
  const isFirst = view === null;
  view?.leave?.();
  view = makeView(name, path, query);
  main.replaceChildren(...view.flat(Infinity).filter(Boolean));
  markSidebar();
  const title = main.querySelector("h1")?.textContent ?? "";
  document.title = `${title} · prunefield report`;
  const search = document.getElementById("search");
  if (document.activeElement !== search) {
    search.value = query.q ?? "";
    if (!isFirst) main.focus({ preventScroll: true });
    scrollTo(0, 0);
  }
}

function makeView(name, path, query) {
  if (name === "claims") return showLedger(query);
  if (name === "store") return showStore();
  if (name === "fields") return showFields(query);
  if (name === "dynamics") return showDynamics(query);
  if (name === "pruning") return showPruning(query);
  const item = name === "item" && index.items.find((one) => one.name === path);
  if (item) return showItem(item);
  const gap = name === "item" && [...index.missing, ...index.unreadable].find((one) => one.name === path);
  if (gap) return showGap(gap);
  return [el("h1", {}, "Not on this page"), el("p", {}, `The address asks for ${location.hash}, which is not on this page. `,
    el("a", { href: "#/claims" }, "All claims"), " · ", el("a", { href: "#/store" }, "What is missing"))];
}

function readTheme() {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null; // a browser that keeps nothing for files
  }
}

function applyTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
}

/** Paper is white: what is painted in the colours of the theme is painted again, light. */
function printLight() {
  const { theme } = document.documentElement.dataset;
  applyTheme("light");
  window.dispatchEvent(new Event("themechange"));
  window.addEventListener("afterprint", () => {
    if (theme) applyTheme(theme);
    else delete document.documentElement.dataset.theme;
    window.dispatchEvent(new Event("themechange"));
  }, { once: true });
}

function switchTheme() {
  const isDark = (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const theme = isDark ? "light" : "dark";
  applyTheme(theme);
  try {
    localStorage.setItem("theme", theme);
  } catch { /* it lasts as long as the page is open */ }
  window.dispatchEvent(new Event("themechange"));
}

start();
