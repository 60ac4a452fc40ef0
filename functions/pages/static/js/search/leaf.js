// What one entry of the registry says of its table, by the names that people know.
import { clipped, finite, record, text, texts } from "./shape.js";

export const SOURCE_TYPE = "application/okf-source+markdown";
const LONGEST_FACT = 200;

const LEVELS = {
  continent: "continents",
  region: "world regions",
  country: "countries",
  state: "states",
  county: "counties",
  metro: "metropolitan areas",
  city: "cities",
  place: "places",
  district: "districts",
  tract: "census tracts",
  zip: "ZIP codes",
};

// Where publishers keep the code of what a table measures, the surest first: as the server's own list.
const CODES = [
  "code",
  "variable",
  "concept",
  "indicator",
  "indicatorCode",
  "series",
  "measureid",
  "offense",
  "shortDesc",
  "measure",
  "scorecard",
  "field",
  "bmf",
  "profile",
  "fema",
  "irsgrants.direction",
  "bq.field",
  "bq.value_field",
  "datasetId",
  "tfield",
];

/** The front matter of an entry, without the prefix of its names. */
export function frontMatter(entry) {
  const own = Object.entries(record(entry)).filter(([name]) => name.startsWith("okf:"));
  return Object.fromEntries(own.map(([name, value]) => [name.slice(4), value]));
}

export function title(entry) {
  return clipped(text(entry.displayName).trim(), 400) || text(entry.identifier).trim() || "Untitled";
}

/** The code its publisher gave to what the table measures, or "". */
export function variable(entry) {
  const terms = frontMatter(entry);
  const found = CODES.map((path) => path.split(".").reduce((value, part) => record(value)[part], terms));
  return text(found.find((value) => text(value).trim())).trim();
}

/** The tags that name no geographic level. */
export function topics(entry) {
  return [...new Set(texts(entry.tags))].filter((tag) => !Object.hasOwn(LEVELS, tag));
}

/** What the table is about, as pairs of name and text: only what is known of it. */
export function facts(entry) {
  const terms = frontMatter(entry);
  const known = [
    ["Geography", geography(entry, terms)],
    ["Unit", text(terms.unit) || text(record(terms.facet).unit)],
    ["Variable", variable(entry)],
    ["Years", years(terms)],
    ["Import", text(record(terms.facet).importName)],
  ];
  return known.filter(([, value]) => value.trim()).map(([name, value]) => [name, clipped(value.trim(), LONGEST_FACT)]);
}

function geography(entry, terms) {
  const tags = texts(entry.tags);
  const levels = Object.keys(LEVELS)
    .filter((level) => tags.includes(level))
    .map((level) => LEVELS[level]);
  const places = finite(record(terms.coverage).places);
  const reach = places === null ? "" : ` (${places.toLocaleString("en")} places)`;
  return levels.length ? `${levels.join(", ")}${reach}` : text(terms.entityType);
}

function years(terms) {
  const dates = record(record(terms.coverage).dates);
  const span = [text(dates.first), text(dates.last)].filter(Boolean);
  return [...new Set(span)].join("–") || text(terms.latestObservation);
}
