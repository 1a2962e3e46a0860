// Verdicts: a mark, a word and a colour each, so that none of them is needed to tell two apart.

const VERDICTS = {
  "reproduced": { mark: "✓", short: "reproduced", look: "good" },
  "corrected": { mark: "✎", short: "corrected", look: "fixed" },
  "not reproduced": { mark: "✕", short: "not reproduced", look: "bad" },
  "not testable at this scale": { mark: "○", short: "not decided here", look: "open" },
};

function showVerdict(status) {
  const { mark, short, look } = VERDICTS[status] ?? { mark: "?", short: status, look: "open" };
  return el("span", { class: `verdict ${look}` }, el("span", { "aria-hidden": "true" }, mark), ` ${short}`);
}

/** How many claims have each verdict. */
function countVerdicts(claims) {
  const counts = Object.fromEntries(Object.keys(VERDICTS).map((status) => [status, 0]));
  for (const { status } of claims) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The counts as words: "12 reproduced, 3 corrected". */
function sayCounts(counts) {
  const parts = Object.entries(counts).filter(([, number]) => number);
  return parts.map(([status, number]) => `${number} ${VERDICTS[status]?.short ?? status}`).join(", ") || "no claims";
}

/** The counts as a bar. */
function showBar(counts) {
  const total = Object.values(counts).reduce((sum, number) => sum + number, 0);
  const bar = el("span", { class: "bar", role: "img", "aria-label": sayCounts(counts) });
  for (const [status, number] of Object.entries(counts)) {
    if (!number) continue;
    const part = el("span", { class: VERDICTS[status]?.look ?? "open", title: `${number} ${status}` });
    part.style.flexGrow = number / total;
    bar.append(part);
  }
  return bar;
}

/** The counts as small marks with numbers, for the list of items. */
function showMarks(counts) {
  return el("span", { class: "marks" }, el("span", { class: "hidden" }, sayCounts(counts)),
    Object.entries(counts).filter(([, number]) => number).map(([status, number]) => {
      const { mark, look } = VERDICTS[status] ?? { mark: "?", look: "open" };
      return el("span", { class: look, "aria-hidden": "true" }, `${mark}${number}`);
    }));
}
