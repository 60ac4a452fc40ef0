/** The parts that the bodies of several kinds of cards are made of. */

import { el } from "../dom.js";
import { clip } from "../format.js";

const MOST_LINES = 60;
const LINE_LENGTH = 300;
const MOST_IN_A_COLUMN = 5;

/** A fold with a list of lines; nothing where there are none. */
export function foldedList(title, lines, { isOpen = false } = {}) {
  if (lines.length === 0) {
    return null;
  }
  // The direction is the text's own, not the line's: the mark of a line that runs from the right would lie outside.
  const foreign = (line) => el("span", { class: "foreign", dir: "auto" }, clip(line, LINE_LENGTH));
  const shown = lines.slice(0, MOST_LINES).map((line) => el("li", {}, foreign(line)));
  const rest = lines.length - shown.length;
  return el(
    "details",
    { class: "card-fold", open: isOpen },
    el("summary", {}, title),
    el(
      "ul",
      { class: lines.length > MOST_IN_A_COLUMN ? "in-columns" : null },
      shown,
      rest > 0 && el("li", { class: "muted" }, `and ${rest} more`),
    ),
  );
}

/** Names and what they say, one pair a line, without those that say nothing. */
export function details(pairs) {
  const said = pairs.filter(([, value]) => value);
  if (said.length === 0) {
    return null;
  }
  const rows = said.flatMap(([name, value]) => [
    el("dt", {}, name),
    el("dd", { class: "foreign", dir: "auto" }, clip(value, LINE_LENGTH)),
  ]);
  return el("dl", { class: "pairs card-details" }, rows);
}

/** A link that looks a place up on a map of somebody else, in a tab of its own; it is asked only when followed. */
export function mapLink(point, name) {
  if (!point) {
    return null;
  }
  const address = `https://www.google.com/maps/search/?api=1&query=${point.latitude},${point.longitude}`;
  const attributes = { href: address, target: "_blank", rel: "noopener noreferrer", class: "card-map-link" };
  return el("a", attributes, "Map", el("span", { class: "visually-hidden" }, ` of ${clip(name, 80)}`), " ↗");
}
