// The address: every view is a fragment such as #/claims?paper=redman2025&verdict=corrected, so that it can be linked.

/** The view that the address asks for. */
function readAddress() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/").map(decodePart);
  return { view: view || "claims", path: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

/** A part of the address as text; as it is if it was mistyped, as in 100%. */
function decodePart(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** A whole number of the address from 0 to `most`; the usual one if it is none, as in a link to the page of another store. */
function readWhole(text, most, usual) {
  const number = Number(text ?? NaN);
  return Number.isInteger(number) && number >= 0 && number <= most ? number : usual;
}

/** The fragment of a view; settings that are empty are left out. */
function makeAddress(view, path = "", query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const tail = kept.length ? `?${new URLSearchParams(kept)}` : "";
  return `#/${view}${path ? `/${path.split("/").map(encodeURIComponent).join("/")}` : ""}${tail}`;
}

/** Changes settings of the present view without a new entry in the history; the view redraws itself. */
function changeQuery(changes) {
  const { view, path, query } = readAddress();
  history.replaceState(null, "", makeAddress(view, path, { ...query, ...changes }));
}
