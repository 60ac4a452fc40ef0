/** Reviews: what they say in one line, when somebody last looked, and the picks with their prices. */

import { foldedList } from "./parts.js";
import { costNumber, day, money, rating } from "./quantities.js";
import { at, each, isObject, text, texts } from "./values.js";

const EXCERPT = 280;
const OPEN_PICKS = 3;

function dated(record) {
  const changed = day(record.dateModified);
  const published = day(record.datePublished);
  return changed ? { label: "Updated", text: changed } : { label: "Published", text: published };
}

/** The picks in words, "Bramble R7 · $549", in the record's order; of two with one name the first counts. */
export function picks(record) {
  const found = new Map();
  for (const part of each(record.hasPart)) {
    const name = text(part);
    if (name && !found.has(name)) {
      found.set(name, isObject(part) ? price(part) : "");
    }
  }
  return [...found].map(([name, cost]) => (cost ? `${name} · ${cost}` : name));
}

function price(part) {
  return money(at(part, "offers", "price"), at(part, "offers", "priceCurrency"));
}

function leastPrice(record) {
  const prices = each(record.hasPart).map((part) => (isObject(part) ? costNumber(at(part, "offers", "price")) : null));
  const known = prices.filter((one) => one !== null);
  return known.length > 0 ? Math.min(...known) : null;
}

/** A date as a number to sort by: 2026-08-14 is 20260814, and 2026-08 is 20260800. */
function dayNumber(record) {
  const digits = (day(record.dateModified) || day(record.datePublished)).replaceAll("-", "");
  return digits ? Number(digits.padEnd(8, "0")) : null;
}

export const review = {
  name: "review",
  types: ["Article", "NewsArticle", "Review"],
  parts(record, name) {
    const second = text(record.alternativeHeadline);
    const named = picks(record);
    const title = named.length === 1 ? "The pick" : `Picks (${named.length})`;
    return {
      byline: texts(record.author).join(", "),
      facts: [second.toLowerCase() === name.toLowerCase() ? "" : second, dated(record), rating(record, 5)],
      chips: [],
      excerpt: EXCERPT,
      body: [foldedList(title, named, { isOpen: named.length <= OPEN_PICKS })],
    };
  },
  sorts: [
    { id: "newest", label: "Newest first", of: dayNumber, isDescending: true },
    { id: "oldest", label: "Oldest first", of: dayNumber },
    { id: "cheapest", label: "Cheapest pick first", of: leastPrice },
    { id: "rated", label: "Highest rated", of: (record) => rating(record, 5)?.value ?? null, isDescending: true },
  ],
};
