// Values of a document's front matter, whatever they are, as lists of names and texts.
import { el, outerLink, safeUrl } from "../dom.js";
import { clipped, text } from "./shape.js";

const DEEPEST = 6;
const MOST_VALUES = 200;
const LONGEST_VALUE = 4_000;

/** A definition list of a record's keys and values, nested as the record is. */
export function definitions(given, depth = 0) {
  const pairs = Object.entries(given).slice(0, MOST_VALUES);
  const rest = Object.keys(given).length - pairs.length;
  const rows = pairs.map(([name, value]) => [
    el("dt", { class: "foreign" }, clipped(name, 100) || "(no name)"),
    el("dd", { class: "foreign" }, valueOf(value, depth)),
  ]);
  if (rest > 0) rows.push([el("dt", {}, "…"), el("dd", {}, `and ${rest} more`)]);
  return el("dl", { class: depth ? "pairs nested" : "pairs" }, rows);
}

function valueOf(value, depth) {
  if (value === null || value === undefined) return el("span", { class: "muted" }, "none");
  if (typeof value !== "object") return word(text(value));
  if (depth >= DEEPEST) return clipped(JSON.stringify(value), LONGEST_VALUE);
  if (Array.isArray(value)) return listOf(value, depth);
  return Object.keys(value).length ? definitions(value, depth + 1) : el("span", { class: "muted" }, "empty");
}

function listOf(values, depth) {
  if (!values.length) return el("span", { class: "muted" }, "empty");
  const shown = values.slice(0, MOST_VALUES);
  if (shown.length === values.length && shown.every((value) => typeof value !== "object")) {
    const said = shown.map(text);
    if (said.join(", ").length < 300 && !said.some((each) => each.includes(", "))) return said.join(", ");
  }
  const more = values.length > shown.length && el("li", {}, `and ${values.length - shown.length} more`);
  return el(
    "ul",
    { class: "value-list" },
    shown.map((value) => el("li", {}, valueOf(value, depth + 1))),
    more,
  );
}

function word(said) {
  const shown = clipped(said, LONGEST_VALUE);
  return safeUrl(said) && !/\s/.test(said) ? outerLink(said, {}, shown) : el("span", { dir: "auto" }, shown || "“”");
}
