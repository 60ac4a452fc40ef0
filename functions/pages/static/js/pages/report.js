/** What the reports have in common: tiles, tables, a plot with its numbers beside it, and what went wrong. */

import { clear, el } from "../dom.js";

/** Figures in a row: `[[label, text], …]`. */
export function tiles(pairs) {
  const made = pairs.map(([label, text]) => el("div", { class: "tile" }, el("dt", null, label), el("dd", null, text || "–")));
  return el("dl", { class: "tiles" }, made);
}

/** Names and what they are, one pair a line: `[[name, text], …]`. */
export function pairs(given) {
  return el("dl", { class: "pairs" }, given.map(([name, text]) => [el("dt", null, name), el("dd", { class: "foreign" }, text || "–")]));
}

/**
 * A table. `columns` are `{label, numeric}`; a row is a list of texts or nodes, of which the first names it.
 * It scrolls by itself, so that it is reached with the keyboard, too.
 */
export function table(caption, columns, rows) {
  const head = columns.map(({ label, numeric }) => el("th", { scope: "col", class: numeric && "number" }, label));
  const body = rows.map((cells) => el("tr", null, cells.map((cell, place) => cellOf(cell, place, columns[place]))));
  const made = el("table", { class: "table" }, el("caption", null, caption), el("thead", null, el("tr", null, head)), el("tbody", null, body));
  return el("div", { class: "table-scroll", role: "region", "aria-label": caption, tabindex: "0" }, made);
}

function cellOf(cell, place, column) {
  const tag = place === 0 ? "th" : "td";
  return el(tag, { scope: place === 0 && "row", class: column.numeric ? "number" : "foreign" }, cell);
}

/** A plot, what its colours mean where there are several, and the same numbers as a table. */
export function figure(heading, names, plot, numbers) {
  const key = (name, place) => el("li", null, el("span", { class: `key key-${(place % 5) + 1}` }), el("span", { class: "foreign" }, name));
  const legend = names.length > 1 ? el("ul", { class: "legend plain-list" }, names.map(key)) : null;
  const body = el("div", { class: "figure" }, el("div", { class: "figure-plot" }, legend, plot), numbers);
  return el("section", { class: "stack-tight" }, el("h2", null, heading), body);
}

/** Say what the service said: its notices, or why there is no report. */
export function tell(notices) {
  const box = clear(document.getElementById("said"));
  for (const { tone, text } of notices) {
    box.append(el("p", { class: `notice notice-${tone} foreign` }, text));
  }
}

/** Why a report could not be had, in a sentence. */
export function failure(answer) {
  if (answer.status === 404) {
    return "This deployment does not serve these numbers.";
  }
  const again = answer.retryAfter === null ? "" : ` Try again in ${answer.retryAfter} s.`;
  return `${answer.error}.${again}`;
}

/** A list of objects, whatever came; the rest is left out. */
export function objects(value) {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Whether it is an object with keys. */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The pairs of an object, whatever came; those whose value is no object are left out. */
export function entries(value) {
  return isObject(value) ? Object.entries(value).filter(([, each]) => isObject(each)) : [];
}
