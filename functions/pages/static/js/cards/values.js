/**
 * Reads what a schema.org record says, whatever shape it says it in: a text, a number, an object, a list of any of
 * these. Nothing here throws: what cannot be read is absent. Everything is bounded, since a record may be hostile.
 */

import { decodeEntities } from "../dom.js";

const LARGEST = 1e15; // beyond it a number is a slip
const MOST_CHARACTERS = 20_000; // of one text: patterns look at no more
const MOST_VALUES = 200; // of one list
const DEEPEST = 6; // lists within lists
const SAYING = ["name", "value", "text", "@value"];

/** The values of a list, and of lists within it, or the one value; none for null. */
export function each(value, depth = 0) {
  if (value === null || value === undefined || depth > DEEPEST) {
    return [];
  }
  if (!Array.isArray(value)) {
    return [value];
  }
  const found = [];
  for (const member of value.slice(0, MOST_VALUES)) {
    found.push(...each(member, depth + 1));
    if (found.length >= MOST_VALUES) {
      break;
    }
  }
  return found.slice(0, MOST_VALUES);
}

/** Whether a value is an object with properties, as a record is: no list, no null. */
export function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function said(value, depth = 0) {
  if (typeof value === "string") {
    return decodeEntities(value.slice(0, MOST_CHARACTERS)).trim();
  }
  if (typeof value === "number") {
    return Math.abs(value) < LARGEST ? String(value) : "";
  }
  if (!isObject(value) || depth > 2) {
    return "";
  }
  for (const key of SAYING) {
    const inner = each(value[key]).map((one) => said(one, depth + 1));
    const first = inner.find(Boolean);
    if (first) {
      return first;
    }
  }
  return "";
}

/** Everything a value says, distinct and in order: texts, numbers, and what objects are named. */
export function texts(value) {
  const all = each(value).map((one) => said(one));
  return [...new Set(all.filter(Boolean))];
}

/** The first thing a value says, or "". */
export function text(value) {
  return texts(value)[0] ?? "";
}

/** The distinct terms of a value: a text is split at its commas and semicolons. */
export function terms(value) {
  const parts = texts(value).flatMap((one) => one.slice(0, 2000).split(/[,;|]/));
  return [...new Set(parts.map((part) => part.trim()).filter(Boolean))];
}

const WHOLE_NUMBER = /^-?(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?$/;
const SOME_NUMBER = /\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?/;

/** The number that a value is as a whole (4.5, "1,185,000"), or null. "$49" and "built 1988" are none. */
export function plainNumber(value) {
  const digits = typeof value === "string" && value.length < 40 ? value.trim() : value;
  if (typeof digits === "string" && !WHOLE_NUMBER.test(digits)) {
    return null;
  }
  const read = typeof digits === "string" ? Number(digits.replaceAll(",", "")) : digits;
  return typeof read === "number" && Math.abs(read) < LARGEST ? read : null;
}

/** The first number that a value says, anywhere in it ("$1,200 a month", "built 1988"), or null. */
export function number(value) {
  for (const one of each(value)) {
    const read = plainNumber(one) ?? numberWithin(said(one));
    if (read !== null) {
      return read;
    }
  }
  return null;
}

function numberWithin(words) {
  return plainNumber(SOME_NUMBER.exec(words.slice(0, 400))?.[0]);
}

/** What lies at a path of names; a list on the way is entered at its first object that has it. */
export function at(record, ...path) {
  let here = record;
  for (const name of path) {
    here = each(here).find((one) => isObject(one) && (one[name] ?? null) !== null)?.[name];
  }
  return here;
}

/** A record's `additionalProperty` by name, in lower case; of two with one name the first counts. */
export function properties(record) {
  const found = new Map();
  for (const one of each(record.additionalProperty)) {
    const name = isObject(one) ? text(one.name).toLowerCase() : "";
    if (name && !found.has(name)) {
      found.set(name, one.value);
    }
  }
  return found;
}

/** `{latitude, longitude}` of a place on this Earth, or null. */
export function place(record) {
  const latitude = plainNumber(at(record, "geo", "latitude"));
  const longitude = plainNumber(at(record, "geo", "longitude"));
  const isReal = latitude !== null && longitude !== null && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180;
  return isReal ? { latitude, longitude } : null;
}

/** With its first letter a capital. */
export function capitalised(words) {
  return words.slice(0, 1).toUpperCase() + words.slice(1);
}
