// The ledger: all claims, by item, with search and filters in the address.

const FILTERS = ["paper", "verdict", "scale", "q"];
const FEW = 30; // claims that are shown at once; of more, a list of their items

/** The claims that the filters of the address let through, by item. */
function filterClaims({ paper, verdict, scale, q }) {
  const words = readWords(q ?? "");
  return index.items
    .filter((item) => (!paper || item.name.startsWith(`${paper}/`)) && (!scale || item.scale === scale))
    .map((item) => ({ item, claims: item.claims.filter((claim) => (!verdict || claim.status === verdict) && hasWords(item, claim, words)) }))
    .filter(({ claims }) => claims.length);
}

/** The view of all claims. */
function showLedger(query) {
  const all = index.items.flatMap(({ claims }) => claims);
  const list = el("div", { id: "claims" });
  const found = el("p", { role: "status" });
  function update(changes) {
    if (changes) changeQuery(changes);
    const now = readAddress().query;
    const shown = filterClaims(now);
    const number = shown.reduce((sum, { claims }) => sum + claims.length, 0);
    const isAll = !FILTERS.some((name) => now[name]);
    found.replaceChildren(isAll ? `All ${count(number, "claim")}` : `${number.toLocaleString("en")} of ${count(all.length, "claim")} `,
      isAll ? "" : el("button", { type: "button", class: "quiet", click: () => { location.hash = "#/claims"; } }, "Show all"));
    list.replaceChildren(...(shown.length ? shown.map((group) => showGroup(group, number <= FEW)) : [showNothing(isAll)]));
    nameFold();
    countOptions(verdicts, now);
    markSidebar();
  }
  const verdicts = makeSelect([["", "all verdicts"], ...Object.keys(VERDICTS).map((status) => [status, ""])], query.verdict ?? "", (verdict) => update({ verdict }));
  const groups = () => [...list.querySelectorAll("details.group")];
  const fold = el("button", { type: "button", class: "quiet", click: () => unfold(groups().some(({ open }) => !open)) });
  function unfold(isOpen) {
    for (const group of groups()) group.open = isOpen;
  }
  function nameFold() {
    fold.textContent = groups().some(({ open }) => !open) ? "Open all items" : "Close all items";
    fold.hidden = !groups().length;
  }
  list.addEventListener("toggle", nameFold, true); // which does not bubble
  const print = () => unfold(true);
  window.addEventListener("beforeprint", print);
  const view = [
    el("h1", {}, "What was claimed, and what holds"),
    el("p", { class: "lead" }, all.length ? `${count(all.length, "claim")} of ${count(countPapers(), "paper")}, each checked by computation: ${sayCounts(countVerdicts(all))}.`
      : "This store has no finished item yet."),
    sayGaps(),
    el("div", { class: "papers" }, index.papers.map(showPaper)),
    showFilters(query, update, verdicts), el("div", { class: "found" }, found, fold), list,
  ];
  update();
  return Object.assign(view, { update, leave: () => window.removeEventListener("beforeprint", print) });
}

/** A line on what the first view does not show. */
function sayGaps() {
  const { missing, unreadable } = index;
  const parts = [missing.length && `${count(missing.length, "item")} not finished`, unreadable.length && `${count(unreadable.length, "item")} could not be read`].filter(Boolean);
  return parts.length ? el("p", { class: "gaps" }, `Not shown: ${parts.join(", ")}. `, el("a", { href: "#/store" }, "What is missing, and why")) : null;
}

function countPapers() {
  return new Set(index.items.filter(({ claims }) => claims.length).map(({ name }) => name.split("/")[0])).size;
}

function showPaper({ name, title }) {
  const counts = countVerdicts(index.items.filter((item) => item.name.startsWith(`${name}/`)).flatMap(({ claims }) => claims));
  return el("a", { class: "paper", href: makeAddress("claims", "", { paper: name }) },
    el("strong", {}, title), el("span", { class: "soft" }, name), showBar(counts), el("span", { class: "soft small" }, sayCounts(counts)));
}

/** Names each verdict with the number of claims that choosing it would show. */
function countOptions(menu, query) {
  const counts = countVerdicts(filterClaims({ ...query, verdict: "" }).flatMap(({ claims }) => claims));
  for (const option of menu.options) {
    if (option.value) option.textContent = `${VERDICTS[option.value].short} (${counts[option.value]})`;
  }
}

function showFilters(query, update, verdicts) {
  const scales = [...new Set(index.items.map(({ scale }) => scale))];
  return el("form", { class: "filters", submit: (event) => event.preventDefault() },
    labelled("Paper", makeSelect([["", "all papers"], ...index.papers.map(({ name }) => [name, name])], query.paper ?? "", (paper) => update({ paper }))),
    labelled("Verdict", verdicts),
    labelled("Scale", makeSelect([["", "all scales"], ...scales.map((scale) => [scale, scale])], query.scale ?? "", (scale) => update({ scale }))));
}

/** The claims of an item under its title; they unfold. */
function showGroup({ item, claims }, isOpen) {
  const counts = countVerdicts(claims);
  const shown = claims.map((claim) => showClaim(item, claim, item.claims.indexOf(claim), { figure: true }));
  const group = el("details", { class: "group", "data-item": item.name },
    el("summary", {}, el("h2", {}, showShortName(item), item.title), el("code", { class: "soft" }, item.name), showMarks(counts), showBar(counts)),
    el("p", { class: "soft small" }, `${item.scale} scale · `, el("a", { href: makeAddress("item", item.name) }, "the figure and all about it")),
    el("div", { class: "claims" }, shown));
  group.open = isOpen || shown.some(({ open }) => open);
  return group;
}

function showNothing(isAll) {
  return isAll
    ? el("p", { class: "notice" }, "Nothing here yet. ", el("a", { href: "#/store" }, "What is missing, and the command that makes it"))
    : el("p", { class: "notice" }, "No claim has all of these words and filters.");
}

/** One claim; it opens. */
function showClaim(item, claim, place, { figure }) {
  const body = el("div", { class: "claim-body" });
  const fold = el("details", { class: "claim", "data-claim": `${item.name}/${place}`, toggle: open },
    el("summary", {},
      el("span", { class: "what" }, showVerdict(claim.status), el("span", { class: "text" }, claim.text), el("span", { class: "soft small" }, claim.where)),
      el("span", { class: "said" }, el("span", { class: "tag" }, "Paper, or criterion"), claim.expected),
      el("span", { class: "seen" }, el("span", { class: "tag" }, "Here"), claim.observed)),
    body);
  const key = `${item.name}/${place}`;
  function open() {
    if (fold.open && !body.hasChildNodes()) body.append(...explainClaim(item, claim, figure));
    const { query } = readAddress();
    if (fold.open || query.open === key) changeQuery({ open: fold.open ? key : "" });
  }
  if (readAddress().query.open === key) {
    fold.open = true;
    requestAnimationFrame(() => fold.scrollIntoView({ block: "nearest" }));
  }
  return fold;
}

function explainClaim(item, claim, figure) {
  const facts = [
    ["Values it rests on", `n = ${claim.n.toLocaleString("en")}`],
    ["Note", claim.note],
    ["Same check on data without the effect", claim.null && `${claim.null.outcome}: ${claim.null.observed}`],
    ["Can be decided from", `${claim.decided_at} scale on; this is ${item.scale} scale`],
  ];
  return [
    el("dl", {}, facts.filter(([, text]) => text).map(([name, text]) => el("div", {}, el("dt", {}, name), el("dd", {}, text)))),
    figure ? showFigure(item) : null,
    figure ? later(nameNumbers(item), () => showNumbers(item)) : null,
    figure ? later("Settings that vary, and the rest", () => showSettings(item)) : null,
    el("p", { class: "small soft" }, "To repeat it:"), showCommand(makeCommand(item)),
    figure ? el("p", {}, el("a", { href: makeAddress("item", item.name) }, `All about ${item.name}`)) : null,
  ].filter(Boolean);
}
