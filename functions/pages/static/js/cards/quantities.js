/**
 * Amounts as people read them: durations, money, areas, servings, calories, ratings. What is no amount is shown as it
 * was given, and what says nothing is "".
 */

import * as format from "../format.js";
import { at, each, isObject, number, plainNumber, text } from "./values.js";

const FACT_LENGTH = 80;
const LONGEST_READ = 60; // a longer text is a sentence, no amount

/** The minutes of an ISO 8601 duration, or null. */
export function minutes(value) {
  const all = each(value).map((one) => format.durationMinutes(one));
  return all.find((one) => one !== null) ?? null;
}

/** "1 hr 15 min" of an ISO 8601 duration; another text as it is given, with its line breaks as ";". */
export function duration(value) {
  const iso = each(value).find((one) => format.durationMinutes(one) !== null);
  if (iso !== undefined) {
    return format.duration(iso);
  }
  const given = text(value);
  return /^P[\dT]/i.test(given) || typeof value === "number" ? "" : fact(given.replaceAll(/<\/?br\s*\/?>/gi, "; "));
}

/** Money without cents: a number is dollars, or of the currency named; anything else is shown as given. */
export function money(value, currency = "USD") {
  const first = each(value)[0];
  const amount = isObject(first) ? (each(first.price)[0] ?? each(first.value)[0]) : first;
  const figure = plainNumber(amount);
  if (figure === null) {
    return fact(text(amount));
  }
  return inCurrency(figure, text(at(value, "priceCurrency")) || text(currency) || "USD");
}

function inCurrency(figure, currency) {
  if (currency === "USD") {
    return format.money(figure);
  }
  if (!/^[A-Z]{3}$/.test(currency)) {
    return `${grouped(Math.round(figure))} ${format.clip(currency, 12)}`;
  }
  return figure.toLocaleString("en-US", { style: "currency", currency, maximumFractionDigits: 0 });
}

const MILLIONS = /(\d+(?:\.\d+)?)\s*(k|mm?|million)\b/i;

/** What something costs as a number to sort by: of 1200, "$1,200", "$1.2M", "850k" and objects; else null. */
export function costNumber(value) {
  const found = MILLIONS.exec(text(value).slice(0, LONGEST_READ));
  return found ? Number(found[1]) * (found[2].toLowerCase() === "k" ? 1e3 : 1e6) : number(value);
}

const SQFT = { name: "sq ft", sqft: 1 };
const ACRES = { name: "acre", plural: "acres", sqft: 43_560 };
const HECTARES = { name: "hectare", plural: "hectares", sqft: 107_639.1 };
const SQM = { name: "m²", sqft: 10.7639 };
const UNITS = [
  [/ACR|\bac\b/i, ACRES],
  [/\bHAR?\b|hectare/i, HECTARES],
  [/\bMTK\b|\bSQM\b|\bm2\b|m²|\bsq(?:uare|\.)?\s*m(?:et(?:er|re)s?)?\b/i, SQM],
];
const LEAST_LOT_SQFT = 200; // no lot is smaller than a room: without a unit, a smaller number is acres

/** "1,620 sq ft", "0.35 acres", and the units that a value names itself. */
export function area(value, { isLot = false } = {}) {
  const given = areaGiven(value);
  const figure = plainNumber(given);
  if (figure === null) {
    return fact(text(given));
  }
  if (figure <= 0) {
    return "";
  }
  const unit = areaUnit(value, figure, isLot);
  return `${grouped(figure)} ${figure === 1 ? unit.name : (unit.plural ?? unit.name)}`;
}

/** An area in square feet, to sort by; or null. */
export function squareFeet(value, { isLot = false } = {}) {
  const size = number(areaGiven(value));
  return size === null || size <= 0 ? null : size * areaUnit(value, size, isLot).sqft;
}

function areaGiven(value) {
  const first = each(value)[0];
  return isObject(first) ? each(first.value)[0] : first;
}

function areaUnit(value, size, isLot) {
  const first = each(value)[0];
  const said = isObject(first) ? `${text(first.unitCode)} ${text(first.unitText)}`.trim() : text(first);
  const known = UNITS.find(([pattern]) => pattern.test(said.slice(0, LONGEST_READ)));
  if (known) {
    return known[1];
  }
  const isBare = said === "" || plainNumber(said) !== null;
  return isLot && isBare && size < LEAST_LOT_SQFT ? ACRES : SQFT;
}

const SERVINGS = new RegExp(
  "^(?:serves\\s+)?((?:about\\s+|~\\s*)?\\d+(?:\\s*(?:[-–—]|to|or)\\s*\\d+)?\\+?(?:\\s+or\\s+more)?)" +
    "\\s*(?:servings?|serves|persons?|people|portions?)?\\.?$",
  "i",
);

/** "Serves 4" of "4 servings", "4" and 4; "1 loaf" stays as it is. */
export function servings(value) {
  const given = text(value);
  const found = given.length < LONGEST_READ ? SERVINGS.exec(given) : null;
  return found ? `Serves ${found[1]}` : fact(given);
}

/** "310 cal" of "310", 310 and "310 calories". */
export function calories(value) {
  const given = text(value);
  const found = given.length < LONGEST_READ ? /^(~?\d[\d.,]*)\s*(?:k?cal(?:orie)?s?)?$/i.exec(given) : null;
  return found ? `${found[1]} cal` : fact(given);
}

/** `{text: "4.8/5 (212)", spoken: "Rated 4.8 of 5 by 212", value}`, or null where no rating is said. */
export function rating(record, outOf) {
  const value = number(at(record, "aggregateRating", "ratingValue") ?? at(record, "reviewRating", "ratingValue"));
  if (value === null || value < 0) {
    return null;
  }
  const said = record.aggregateRating ?? record.reviewRating;
  const best = number(at(said, "bestRating")) ?? outOf;
  const count = number(at(said, "ratingCount") ?? at(said, "reviewCount")) ?? 0;
  const [score, most, times] = [value, best, count].map(grouped);
  return {
    text: `${score}/${most}${count > 0 ? ` (${times})` : ""}`,
    spoken: `Rated ${score} of ${most}${count > 0 ? ` by ${times}` : ""}`,
    value,
  };
}

/** The year that a date names, or "". */
export function year(value) {
  const found = /(?<!\d)(?:1[89]\d\d|20\d\d)(?!\d)/.exec(text(value).slice(0, LONGEST_READ));
  return found ? found[0] : "";
}

/** The day of an ISO date as it is written, "2026-08-14", or as much as is said of it; "" of another text. */
export function day(value) {
  return /^\d{4}(?:-\d{2}(?:-\d{2})?)?/.exec(text(value))?.[0] ?? "";
}

/** A number with thousands separators and at most two decimals. */
export function grouped(figure) {
  return format.number(figure, 2);
}

/** A text short enough for a fact or a chip. */
export function fact(given) {
  return format.clip(given, FACT_LENGTH);
}
