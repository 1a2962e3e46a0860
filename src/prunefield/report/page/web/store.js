// The store: what failed, what is missing and the command that makes it; versions, machine, time.

function showStore() {
  const { store, missing, problems } = index;
  const total = Object.values(store.statuses).reduce((sum, number) => sum + number, 0);
  const parts = [
    el("h1", {}, "What is missing, and how the rest was made"),
    el("p", { class: "lead" }, `${count(index.items.length, "item")} finished, ${missing.length} not, ${Object.keys(problems).length} unreadable; ${count(total, "run")} in ${store.root}.`),
    showProblems(problems),
    showMissing(missing, store),
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
  return parts.flat().filter(Boolean);
}

function showProblems(problems) {
  const names = Object.entries(problems);
  return names.length ? [el("h2", {}, "Items that could not be read"),
    el("ul", { class: "plain" }, names.map(([name, text]) => el("li", {}, el("code", {}, name), `: ${text}`)))] : [];
}

function showMissing(missing, store) {
  if (!missing.length) return [el("p", { class: "notice good" }, "No item is missing.")];
  const seconds = missing.reduce((sum, gap) => sum + gap.seconds, 0);
  const scales = [...new Set(missing.map(({ scale }) => scale))];
  return [
    el("h2", {}, "Items that are not finished"),
    el("p", {}, `Together they take about ${showSeconds(seconds)} on one core:`),
    scales.map((scale) => showCommand(`prunefield reproduce --scale ${scale} --store ${store.quoted}`)),
    el("ul", { class: "plain" }, missing.map((gap) => el("li", {},
      el("strong", {}, gap.title), ` (${gap.name}): ${gap.done} of ${count(gap.needed, "run")} at ${gap.scale} scale, about ${showSeconds(gap.seconds)} to go`,
      showCommand(gap.command)))),
  ];
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
