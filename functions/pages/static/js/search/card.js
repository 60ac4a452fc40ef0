// One result as a card.
import { el, outerLink } from "../dom.js";
import { facts, title, topics } from "./leaf.js";
import { browsePage, entryPage, publishedDocument, questionPage } from "./links.js";
import { clipped, finite, text, texts } from "./shape.js";
import { why } from "./why.js";

const LONGEST_DESCRIPTION = 600;
const LONGEST_QUESTION = 200;
const MOST_TAGS = 12;
const MOST_QUESTIONS = 4;

/**
 * The card of an entry as POST /search gives it. `number` names its parts, `onTag` is called with a tag that is chosen,
 * `sources` are the manifest's by directory.
 */
export function resultCard(entry, { number, onTag, sources }) {
  const heading = `result-${number}`;
  return el(
    "article",
    { class: "card result", "aria-labelledby": heading },
    el(
      "div",
      { class: "result-head" },
      el("h3", { id: heading, class: "foreign", dir: "auto" }, titleLink(entry)),
      scoreOf(entry),
    ),
    origin(entry, sources),
    description(entry),
    factsOf(entry),
    questions(entry),
    tags(entry, onTag),
    links(entry),
    why(entry),
  );
}

function titleLink(entry) {
  const id = text(entry.identifier) || text(entry["okf:sourceDocument"]);
  return id ? el("a", { href: entryPage(id), class: "result-title" }, title(entry)) : title(entry);
}

function scoreOf(entry) {
  const score = finite(entry.score);
  if (score === null) return null;
  const rounded = String(Math.round(score));
  return el(
    "p",
    { class: "score", title: `Score ${rounded} of 100` },
    el("span", { class: "score-label" }, "Score "),
    rounded,
  );
}

function origin(entry, sources) {
  const directory = text(entry["okf:sourceDirectory"]);
  const name = sources.get(directory)?.title ?? directory;
  const others = [clipped(text(entry["okf:publisher"]), 80), clipped(text(entry["okf:type"]), 80)].filter(Boolean);
  if (!name && !others.length) return null;
  return el(
    "p",
    { class: "small muted foreign" },
    name && el("a", { href: browsePage(directory) }, clipped(name, 120)),
    others.map((other) => ` · ${other}`),
  );
}

function description(entry) {
  const words = text(entry.description).trim();
  return words && el("p", { class: "foreign", dir: "auto" }, clipped(words, LONGEST_DESCRIPTION));
}

function factsOf(entry) {
  const pairs = facts(entry);
  if (!pairs.length) return null;
  return el(
    "dl",
    { class: "pairs" },
    pairs.map(([name, value]) => [
      el("dt", {}, name),
      el("dd", { class: name === "Variable" ? "foreign mono" : "foreign" }, value),
    ]),
  );
}

function questions(entry) {
  const asked = texts(entry.representativeQueries).slice(0, MOST_QUESTIONS);
  if (!asked.length) return null;
  const link = (words) => el("a", { href: questionPage(words), dir: "auto" }, words);
  return el(
    "div",
    { class: "answers" },
    el("p", { class: "eyebrow" }, "Answers questions like"),
    el(
      "ul",
      { class: "foreign" },
      asked.map((words) => el("li", {}, link(clipped(words, LONGEST_QUESTION)))),
    ),
  );
}

function tags(entry, onTag) {
  const found = topics(entry).slice(0, MOST_TAGS);
  if (!found.length) return null;
  const chip = (tag) => {
    const label = { "aria-label": `Only tables with the tag ${clipped(tag, 60)}` };
    return el(
      "button",
      { type: "button", class: "chip foreign", ...label, onclick: () => onTag(tag) },
      clipped(tag, 60),
    );
  };
  return el(
    "ul",
    { class: "chips" },
    found.map((tag) => el("li", {}, chip(tag))),
  );
}

function links(entry) {
  const path = text(entry["okf:sourceDocument"]);
  const access = text(entry["okf:accessDescriptor"]);
  const id = text(entry.identifier) || path;
  const about = el("span", { class: "visually-hidden" }, ` of ${clipped(title(entry), 80)}`);
  const named = (words) => [words, about.cloneNode(true)];
  return el(
    "p",
    { class: "row small result-links" },
    id && el("a", { href: entryPage(id) }, named("Document")),
    access && el("a", { href: entryPage(access) }, named("Source and access")),
    path && el("a", { href: publishedDocument(path) }, named("As published")),
    text(entry["okf:resource"]).startsWith("http") && outerLink(entry["okf:resource"], {}, named("Publisher’s API")),
  );
}
