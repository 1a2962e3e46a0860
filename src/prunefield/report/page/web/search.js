// Search: all words must occur in a claim. A place such as "Figure 4", "Fig. 4" or "fig4" is one word and is matched whole.

const KIND = "(fig(?:ure)?|tab(?:le)?|theorem|thm|lemma|claim|prop(?:osition)?|sec(?:tion)?|eq(?:uation)?|appendix|algorithm)";
const NUMBER = "[a-z]?\\.?\\d+(?:\\.\\d+)*[a-z]*"; // 4, 4a, s1, b.1
const ASIDE = "(?:\\s*\\([^()]*\\))?"; // Figs. 3 (κ = 3.86), 6 and 7
const NEXT = `${ASIDE}\\s*(?:,\\s*(?:and\\s+)?|and\\s|or\\s|to\\s|–)\\s*`;
const PLACE = new RegExp(`\\b${KIND}(?:s(?=[.\\s]))?\\.?\\s*(${NUMBER}(?:${NEXT}${NUMBER})*)\\b`, "g");

/** The places that a text names, as "fi4" for Figure 4, and its other words. */
function readWords(text) {
  const places = new Set();
  const rest = text.toLowerCase().replace(/−/g, "-").replace(PLACE, (_, kind, numbers) => {
    for (const [, number, panels] of fillRanges(numbers.replace(/\([^()]*\)/g, "")).matchAll(/\b([a-z]?\.?\d+(?:\.\d+)*)([a-z]*)/g)) {
      for (const panel of ["", ...panels]) places.add(`${kind.slice(0, 2)}${number}${panel}`);
    }
    return " ";
  });
  return { places, words: rest.split(/\s+/).filter(Boolean) };
}

/** "1 to 4" as "1,2,3,4". */
function fillRanges(numbers) {
  return numbers.replace(/\b(\d+)\s*(?:to|–)\s*(\d+)\b(?!\.\d)/g, (_, from, to) =>
    Array.from({ length: Math.min(20, Math.max(1, to - from + 1)) }, (_, place) => Number(from) + place).join(","));
}

/** Whether a claim has all words and places of a search. */
function hasWords(item, claim, { places, words }) {
  const text = [item.name, item.title, claim.text, claim.where, claim.expected, claim.observed, claim.note, claim.status].join(" \n").toLowerCase().replace(/−/g, "-");
  return words.every((word) => text.includes(word)) && hasAll(readWords(text).places, places);
}

/** The name of an item without its paper, such as fig4, softly; nothing if the title begins with it, as "Theorem 4.4: …" does. */
function showShortName({ name, title }) {
  const short = name.slice(name.indexOf("/") + 1);
  const isSaid = title.toLowerCase().replace(/\s/g, "").startsWith(short.toLowerCase());
  return isSaid ? null : el("span", { class: "short" }, short, " ");
}

function hasAll(set, values) {
  return [...values].every((value) => set.has(value));
}
