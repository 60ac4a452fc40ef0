/**
 * What a trail's record says of it: how long, which shape, how hard, how much time, whether the dog may come.
 * A property says it before the running text does; in the text only what is surely the trail's own counts.
 */

import { clip } from "../format.js";
import { grouped } from "./quantities.js";
import { capitalised, plainNumber, properties, terms, text } from "./values.js";

const APOSTROPHE = "['’ʼ]";
const KM_OF = { km: 1, mi: 1.609344, m: 0.001 };

// The names that a property may go by; of several the first counts.
const TIME = ["walk duration", "duration", "time", "walking time"];
const LENGTH = ["distance", "length", "trail length"];
const SHAPE = ["route type", "shape", "trail type"];
const GRADE = ["difficulty", "grade"];
const DOGS = ["dogs", "dogs allowed", "pets"];
const WHEELCHAIRS = ["wheelchairs and buggies", "wheelchair accessible", "wheelchairs", "accessibility"];
const SHOWN = new Set([...TIME, ...LENGTH, ...SHAPE, ...GRADE, ...DOGS, ...WHEELCHAIRS, "duration category", "region"]);

const MOST_READ = 4000; // characters of a description
const read = new WeakMap();

/** What is known of a trail, each in words ("" where nothing is said), and what can be sorted by as a number or null. */
export function trailFacts(record) {
  if (!read.has(record)) {
    read.set(record, factsOf(record));
  }
  return read.get(record);
}

function factsOf(record) {
  const said = text(record.description).slice(0, MOST_READ);
  const stated = properties(record);
  const length = lengthOf(stated, said);
  const time = timeOf(stated, said);
  return {
    length,
    km: kilometres(length),
    shape: shapeOf(stated, said),
    difficulty: difficultyOf(stated, said),
    time,
    minutes: minutesOf(time),
    dogs: dogsOf(stated, said),
    wheelchairs: wheelchairsOf(stated),
    others: othersOf(stated),
  };
}

function stating(stated, names) {
  return names.map((name) => stated.get(name)).find((value) => (value ?? null) !== null);
}

// --- length ---

const UNIT = "(km|kms|kilomet(?:er|re)s?|mi|miles?)";
// Never from within a longer number, and of a few digits: else a text of digits alone is read in quadratic time.
const NUMBER = "(?<![\\d.,])(\\d{1,3},\\d{3}|\\d{1,4}(?:[.,]\\d{1,2})?)";
const SAID_LENGTHS = [
  new RegExp(`\\bthis\\s+(?:\\w+\\s+)?${NUMBER}[\\s-]*${UNIT}\\b`, "i"),
  new RegExp(
    `${NUMBER}[\\s-]*${UNIT}[\\s-]+(?:loop|circuit|round[\\s-]trip|out[\\s-]and[\\s-]back|trail|walk|hike)\\b`,
    "i",
  ),
];

function lengthOf(stated, said) {
  const value = stating(stated, LENGTH);
  if (value !== undefined) {
    const bare = plainNumber(value);
    return bare === null ? clip(text(value), 60) : `${bare} km`;
  }
  const found = SAID_LENGTHS.map((pattern) => pattern.exec(said)).find(Boolean);
  return found ? `${grouped(decimal(found[1]))} ${unitOf(found[2])}` : "";
}

/** "3,5" is three and a half, "1,200" a thousand and more. */
function decimal(digits) {
  return Number(/,\d{3}$/.test(digits) ? digits.replace(",", "") : digits.replace(",", "."));
}

function unitOf(word) {
  return word.toLowerCase().startsWith("k") ? "km" : word.toLowerCase().startsWith("mi") ? "mi" : "m";
}

function kilometres(length) {
  const found = /(\d+(?:[.,]\d+)?)\s*(km|kilom|mi|m)/i.exec(length);
  return found ? decimal(found[1]) * KM_OF[unitOf(found[2])] : null;
}

// --- shape ---

const SHAPES = [
  ["Loop", "loop"],
  ["Out and back", "out[\\s-](?:and|&)[\\s-]back"],
  ["Point to point", "point[\\s-]to[\\s-]point"],
];

function shapeOf(stated, said) {
  const value = text(stating(stated, SHAPE));
  const named = SHAPES.find(([, pattern]) => new RegExp(`\\b${pattern}\\b`, "i").test(value));
  if (value) {
    return named ? named[0] : capitalised(clip(value, 40));
  }
  return SHAPES.find(([, pattern]) => new RegExp(`\\b${pattern}\\s+trail\\b`, "i").test(said))?.[0] ?? "";
}

// --- difficulty ---

// "moderately challenging" is a grade of its own, neither moderate nor challenging: the adverb is read with its word.
const SAID_GRADE =
  /\bconsidered an?\s+((?:(?:moderately|very|extremely|quite)\s+)?(?:easy|moderate|challenging|hard|difficult|strenuous))\b/i;

/** The grades from the hardest down, with their rank. The first that a text contains is its grade. */
const LADDER = [
  [5, /very (?:hard|difficult)|expert|extreme/i],
  [4, /moderately (?:challenging|difficult|hard)|hard|strenuous|challenging|difficult|advanced/i],
  [2, /moderate|intermediate|medium/i],
  [1, /(?<!very )\beasy\b/i],
  [0, /very easy|easiest/i],
];

function difficultyOf(stated, said) {
  const value = terms(stating(stated, GRADE));
  return value.length > 0
    ? capitalised(clip(value.join(", "), 60))
    : capitalised((SAID_GRADE.exec(said)?.[1] ?? "").toLowerCase());
}

/** Where a grade stands from 0, very easy, to 5, expert; of several the hardest. null where none is named. */
export function gradeRank(difficulty) {
  return LADDER.find(([, pattern]) => pattern.test(difficulty))?.[0] ?? null;
}

// --- time ---

// A full stop ends the sentence unless it stands within a number: "an average of 1 h 5.5 min to complete".
const AVERAGE = /\baverage of\s+((?:[^.]|\.(?=\d)){1,60}?)\s+to complete\b/i;

function timeOf(stated, said) {
  const value = text(stating(stated, TIME));
  return value ? clip(value, 60) : (AVERAGE.exec(said)?.[1] ?? "");
}

const MINUTES_OF = { d: 24 * 60, h: 60, m: 1 };

/** The least minutes that a time in words is: "1 hr 30 min" is 90, "2-3 days" is two of them. */
function minutesOf(time) {
  const first = time.split(/[,;(]|(?<=[a-z])\s*(?:-|–|—|\bto\b)\s*(?=\d)/i)[0];
  const found = [...first.matchAll(/(\d+(?:\.\d+)?)(?:\s*[-–—]\s*\d+(?:\.\d+)?)?\s*(d|h|m)/gi)];
  const seen = new Set();
  let total = 0;
  for (const [, amount, unit] of found) {
    if (seen.has(unit)) {
      break; // a second way of going: "1 hr return 40 min one way" has said it by then
    }
    seen.add(unit);
    total += Number(amount) * MINUTES_OF[unit.toLowerCase()];
  }
  return total > 0 ? total : null;
}

// --- dogs ---

const PETS = "(?:dogs?|pets|pups?)";
const DENIED = new RegExp(
  `\\bno\\s+${PETS}\\b|\\b${PETS}\\s+(?:(?:are|is|were)\\s+)?(?:not|never)\\s+(?:allowed|permitted|welcome)` +
    `|\\b${PETS}\\s+(?:are|is|were)n${APOSTROPHE}t\\s+(?:allowed|permitted|welcome)` +
    `|\\b${PETS}\\s+(?:are\\s+)?(?:prohibited|forbidden|banned)` +
    `|\\bleave\\s+(?:your\\s+|the\\s+)?${PETS}\\s+(?:at\\s+)?home|\\b${PETS}\\s+(?:must|should)\\s+stay\\s+(?:at\\s+)?home`,
  "i",
);
const WELCOMED = new RegExp(
  `\\b${PETS}\\b[^.;]{0,40}?\\b(?:allowed|permitted|welcome)\\b|\\bdog[\\s-]friendly\\b`,
  "i",
);
const STATED_NO = /^(?:no|not allowed|false)$/i;
const STATED_YES = /^(?:yes|allowed|welcome|true)$/i;

function dogsOf(stated, said) {
  const value = stating(stated, DOGS);
  if (typeof value === "boolean") {
    return value ? "Dogs allowed" : "No dogs";
  }
  const words = text(value);
  if (words) {
    return statedDogs(words);
  }
  return DENIED.test(said) ? "No dogs" : WELCOMED.test(said) ? "Dogs allowed" : "";
}

function statedDogs(words) {
  if (STATED_NO.test(words) || DENIED.test(words)) {
    return "No dogs";
  }
  const first = clip(words.split(/\.\s/)[0].replace(/\.$/, ""), 80);
  return STATED_YES.test(words)
    ? "Dogs allowed"
    : /\bdogs?\b|\bpets\b/i.test(first)
      ? capitalised(first)
      : `Dogs: ${first}`;
}

// --- the rest ---

function wheelchairsOf(stated) {
  const value = stating(stated, WHEELCHAIRS);
  const words = text(value);
  if (value === true || /^yes$/i.test(words)) {
    return "Wheelchairs and buggies";
  }
  return words && !/^(?:no\b|not )/i.test(words) ? `Wheelchairs and buggies: ${clip(words, 60)}` : "";
}

const MOST_OTHERS = 6;

/** What the record states besides: `[["Activities", "Walking, Cycling"]]`. */
function othersOf(stated) {
  const found = [];
  for (const [name, value] of stated) {
    const words = typeof value === "boolean" ? (value ? "yes" : "no") : text(value);
    if (!SHOWN.has(name) && words && found.length < MOST_OTHERS) {
      found.push([capitalised(clip(name, 40)), clip(words, 200)]);
    }
  }
  return found;
}
