// The store: what failed, what is missing and the command that makes it; versions, machine, time.

const NAMED = 12; // items that a command names; for more, the command makes all items of the scale

function showStore() {
  const { store, missing, unreadable } = index;
  const total = Object.values(store.statuses).reduce((sum, number) => sum + number, 0);
  const parts = [
    el("h1", {}, "What is missing, and how the rest was made"),
    el("p", { class: "lead" }, `${count(index.items.length, "item")} finished, ${missing.length} not, ${unreadable.length} unreadable; ${count(total, "run")} in ${store.root}.`),
    showUnreadable(unreadable),
    showMissing(missing),
    showRuns("failed", "Failed runs", store, "Each has its reason. Once that is fixed, the command that started the run continues it where it can."),
    showRuns("stopped", "Interrupted runs", store, "The command that started them continues where they stopped."),
    showRuns("running", "Runs under way", store, "They were being executed when this page was made."),
    showRuns("foreign", "Folders that are not runs", store, "prunefield did not make them and leaves them alone."),
    el("h2", {}, "Runs in the store"),
    total ? showTable("Runs by kind and state", ["kind", "finished", "failed", "interrupted", "under way"],
      Object.entries(store.kinds).map(([kind, counts]) => [kind, counts.done ?? 0, counts.failed ?? 0, counts.stopped ?? 0, counts.running ?? 0]))
      : el("p", {}, "None."),
    el("h2", {}, "Versions, machine, time"),
    showVersions(index.made),
    el("p", { class: "soft" }, `This page was made by prunefield ${index.version} from the store${index.items.some(({ kept }) => kept) ? " and published values" : " alone"}.`),
  ];
  return parts;
}

/** Items that could not be read, by their problem: one damaged run is the problem of all items that use it. */
function showUnreadable(unreadable) {
  const problems = groupBy(unreadable, ({ problem }) => problem);
  return unreadable.length ? [el("h2", {}, "Items that could not be read"),
    el("ul", { class: "plain" }, [...problems].map(([problem, items]) => el("li", {},
      el("p", {}, listLinks(items)), showProblem(problem, items))))] : [];
}

/** Map.groupBy, which browsers have only since 2023 or 2024. */
function groupBy(values, name) {
  const groups = new Map();
  for (const value of values) groups.set(name(value), [...(groups.get(name(value)) ?? []), value]);
  return groups;
}

/** A problem with the commands that solve it: those that it names, then the one that makes the items again. */
function showProblem(problem, items) {
  const named = [...problem.matchAll(/`((?:prunefield|make) [^`]*)`/g)].map(([, command]) => command);
  const text = problem.split("`").map((part, place) => (place % 2 ? el("code", {}, part) : part));
  return [el("p", { class: "notice" }, text), named.map(showCommand), nameCommands(items).map(showCommand)];
}

function listLinks(items) {
  return items.flatMap(({ name }, place) => [place ? ", " : "", el("a", { href: makeAddress("item", name) }, name)]);
}

/** The commands that make items, one for each scale: by their names if they are few. */
function nameCommands(items) {
  return [...groupBy(items, ({ scale }) => scale)].map(([scale, those]) =>
    sayCommand(those.length <= NAMED ? those.map(({ name }) => name) : [], scale));
}

function sayCommand(names, scale) {
  return ["prunefield reproduce", ...names, "--scale", scale, "--store", index.store.quoted].join(" ");
}

function showMissing(missing) {
  if (!missing.length) return [el("p", { class: "notice good" }, "No item is missing.")];
  const seconds = missing.reduce((sum, gap) => sum + gap.seconds, 0);
  return [
    el("h2", {}, "Items that are not finished"),
    missing.length > 1 && [el("p", {}, `Together they take about ${showSeconds(seconds)} on one core:`), nameCommands(missing).map(showCommand)],
    el("ul", { class: "plain" }, missing.map((gap) => el("li", {},
      el("a", { href: makeAddress("item", gap.name) }, gap.title), ` (${gap.name}): ${sayProgress(gap)}`, showCommand(gap.command)))),
  ];
}

function sayProgress({ done, needed, scale, seconds }) {
  return `${done} of ${count(needed, "run")} at ${scale} scale, about ${showSeconds(seconds)} to go`;
}

/** The view of an item that is not finished or could not be read. */
function showGap(gap) {
  return [
    el("h1", {}, gap.title),
    el("p", { class: "soft" }, el("code", {}, gap.name), ` · ${gap.problem ? "could not be read" : "not finished"}`),
    gap.problem ? showProblem(gap.problem, [gap]) : [el("p", { class: "notice" }, `The store has ${sayProgress(gap)}. This command makes the rest:`), showCommand(gap.command)],
    el("p", {}, el("a", { href: "#/store" }, "All that is missing")),
  ].flat(Infinity);
}

function showRuns(status, title, store, words) {
  const listed = store[status];
  if (!listed.length) return [];
  const total = store.statuses[status];
  const more = total > listed.length ? `; the first ${listed.length} are shown` : "";
  return [el("h2", {}, title), el("p", {}, `${total.toLocaleString("en")} in all${more}. ${words}`),
    el("ul", { class: "plain" }, listed.map((run) => el("li", {}, el("code", {}, run.name),
      run.message ? `: ${run.message}` : "", run.done === undefined ? "" : `: ${Math.round(100 * run.done)}% done`)))];
}
