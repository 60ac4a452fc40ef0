/** One result as a card: the frame that all kinds share, around what its kind says of the record. */

import { el, outerLink, safeUrl } from "../dom.js";
import { clip } from "../format.js";
import { kindOf, recordOf } from "./kinds.js";
import { fact } from "./quantities.js";
import { unknownLine } from "./unknown.js";
import { each, isObject, text } from "./values.js";
import { why } from "./why.js";

const TITLE_LENGTH = 300;
const BYLINE_LENGTH = 200;
const REASON_LENGTH = 1200;
const MOST_CHIPS = 8;

/** What people call the sites of the deployed collections; another site goes by its own name. */
const SOURCES = {
  nytimes: "NYT Cooking",
  imdb: "IMDb",
  wirecutter: "Wirecutter",
  alltrails: "AllTrails",
  zillow: "Zillow",
};

const BARE = { byline: "", price: "", facts: [], chips: [], body: [], link: null };

/**
 * An `<article>` for an item as the stream has it (docs/sites.md). It takes anything for an item: what is missing or of
 * a wrong type is left out, and everything is shown as text.
 *
 * Options: `provisional` (a candidate, which may yet go), `showWhy` (on demand: score, relevance, how it was found;
 * true unless said otherwise), `restrictions` (the content of that message of the stream: it names the conditions of
 * which an item's record says nothing), `number` (its place in the list, as a map has it).
 */
export function renderCard(item, options = {}) {
  const { provisional = false, showWhy = true, restrictions = null, number = null } = options;
  const known = isObject(item) ? item : {};
  const record = recordOf(known);
  const name = nameOf(known, record);
  const kind = kindOf(record);
  const parts = { ...BARE, ...kind?.parts(record, name) };
  const image = picture(record);
  const classes = ["card", "item-card", provisional && "is-provisional", image && "has-image"];
  return el(
    "article",
    { class: classes.filter(Boolean).join(" "), dataset: { kind: kind?.name ?? "other" } },
    image,
    el(
      "div",
      { class: "card-main" },
      header(known, record, name, parts.price, number),
      meta(parts.byline, known),
      factRow(parts.facts),
      chipRow(parts.chips),
      words(known, record, parts.excerpt),
      parts.body,
      foot(parts.link, unknownLine(known, restrictions), showWhy && !provisional && why(known, name)),
    ),
  );
}

function nameOf(item, record) {
  const name = [item.name, record.name, record.headline].map(text).find(Boolean);
  return clip(name ?? "Without a name", TITLE_LENGTH);
}

function header(item, record, name, price, number) {
  const numeral = number !== null && el("span", { class: "card-number" }, number);
  const link = outerLink(addressOf(item, record), {}, name);
  const title = el("h3", { class: "card-title foreign", dir: "auto" }, numeral, numeral && " ", link);
  return el(
    "div",
    { class: "card-header" },
    title,
    price && el("p", { class: "card-price foreign", dir: "auto" }, price),
  );
}

function addressOf(item, record) {
  return safeUrl(item.url) || safeUrl(text(record.url));
}

/** The record's first picture, over https only: the pages' policy lets no other be asked for. */
function picture(record) {
  const addresses = each(record.image).map((one) => safeUrl(isObject(one) ? (one.url ?? one.contentUrl) : one));
  const src = addresses.find((address) => address.startsWith("https:"));
  if (!src) {
    return null;
  }
  const attributes = {
    class: "card-image",
    alt: "",
    loading: "lazy",
    decoding: "async",
    referrerpolicy: "no-referrer",
  };
  const image = el("img", attributes);
  image.addEventListener("error", () => {
    image.closest(".item-card")?.classList.remove("has-image");
    image.remove();
  });
  image.src = src; // behind the rest: loading begins here, and has to be lazy and without a referrer by then
  return image;
}

function meta(byline, item) {
  const site = text(item.site);
  const source = Object.hasOwn(SOURCES, site) ? SOURCES[site] : fact(site);
  const said = [clip(byline, BYLINE_LENGTH), source].filter(Boolean);
  const parts = said.map((one) => el("span", { class: "foreign", dir: "auto" }, one));
  return said.length > 0 && el("p", { class: "card-meta" }, parts);
}

/** Facts are texts, `{text, label}` or `{text, spoken}`; those without a text are left out. */
function factRow(facts) {
  const said = facts.map((one) => (typeof one === "string" ? { text: one } : one)).filter((one) => one?.text);
  return said.length > 0 && el("ul", { class: "card-facts plain-list" }, said.map(factLine));
}

function factLine({ text: shown, label, spoken }) {
  const attributes = { class: "foreign", dir: "auto" };
  if (spoken) {
    return el("li", attributes, el("span", { "aria-hidden": "true" }, shown), hidden(spoken));
  }
  return el("li", attributes, label && el("span", { class: "card-fact-label" }, `${label} `), shown);
}

function hidden(spoken) {
  return el("span", { class: "visually-hidden" }, spoken);
}

function foot(...parts) {
  return parts.some(Boolean) && el("div", { class: "card-foot" }, parts);
}

function chipRow(chips) {
  const distinct = new Map();
  for (const chip of chips.filter(Boolean)) {
    const key = chip.toLowerCase().replaceAll("-", " ");
    if (!distinct.has(key) && distinct.size < MOST_CHIPS) {
      distinct.set(key, el("li", { class: "chip foreign", dir: "auto" }, fact(chip)));
    }
  }
  return distinct.size > 0 && el("ul", { class: "chips card-chips" }, [...distinct.values()]);
}

/** Why the item is here, and what its own description says beside that. */
function words(item, record, excerpt) {
  const reason = clip(text(item.description), REASON_LENGTH);
  const own = excerpt ? clip(beside(reason, text(record.description)), excerpt) : "";
  return [
    reason && el("p", { class: "card-reason foreign", dir: "auto" }, reason),
    own && el("p", { class: "card-own foreign", dir: "auto" }, own),
  ];
}

/** A description without the part of it that is the reason: a ranker without a writer quotes a sentence of it. */
function beside(reason, description) {
  const quoted = reason.replace(/\s*…$/, "");
  const at = quoted ? description.indexOf(quoted) : -1;
  if (at < 0) {
    return description;
  }
  const before = description.slice(0, at).trim();
  const after = description.slice(at + quoted.length).replace(/^[\s.,;:!?]+/, "");
  const isCut = after !== "" && (before !== "" || quoted !== reason);
  return [before, isCut && "…", after].filter(Boolean).join(" ");
}
