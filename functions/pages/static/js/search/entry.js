// The page of one entry, a table or a source: ?id=<identifier or path>.
import { fetchJson } from "../api.js";
import { announce, append, clear, copyButton, el, outerLink } from "../dom.js";
import { countdown } from "./countdown.js";
import { curlOf } from "./curl.js";
import { readFailure } from "./failures.js";
import { SOURCE_TYPE, facts, frontMatter, title } from "./leaf.js";
import { absolute, browsePage, entryAddress, entryPage, publishedDocument, questionPage, targetFrom } from "./links.js";
import { markdown } from "./markdown.js";
import { waysToAsk } from "./operations.js";
import { failure, waitInWords } from "./said.js";
import { clipped, record, text, texts } from "./shape.js";
import { definitions } from "./values.js";

const LONGEST_DESCRIPTION = 5_000;
const MOST_QUESTIONS = 20;
const MOST_RETRIES = 10;
const id = new URLSearchParams(location.search).get("id")?.trim() ?? "";
const place = document.getElementById("entry");
const heading = document.getElementById("heading");

if (id) load(0);
else
  fail({
    heading: "No entry is named",
    message: "This page shows one entry: its address ends in ?id= and an identifier.",
  });

async function load(tries) {
  const reply = await fetchJson(entryAddress(id));
  place.removeAttribute("aria-busy");
  if (reply.ok) draw(record(reply.body));
  else drawFailure(readFailure(reply), tries);
}

function fail(failed, actions = []) {
  heading.textContent = "One table";
  const browse = { label: "Browse all sources", act: () => location.assign(browsePage("")) };
  append(clear(place), failure({ ...failed, actions: [...actions, browse] }));
  place.removeAttribute("aria-busy");
  announce(failed.heading);
}

function drawFailure(failed, tries) {
  fail(
    failed.code === "not_found" ? { ...failed, heading: "There is no such entry", message: clipped(id, 300) } : failed,
    [{ label: "Try again", act: () => load(0), primary: true }],
  );
  const line = place.querySelector(".wait");
  if (!failed.passing || tries >= MOST_RETRIES) return;
  countdown(
    failed.waitS,
    (left) => {
      line.textContent = `Trying again in ${waitInWords(left)}.`;
    },
    () => load(tries + 1),
  );
}

function draw(entry) {
  const name = title(entry);
  document.title = `${name} · ${document.title}`;
  heading.textContent = name;
  heading.dir = "auto";
  append(
    clear(place),
    about(entry),
    measured(entry),
    questions(entry),
    waysToAsk(entry),
    allOfIt(entry),
    documentOf(entry),
  );
}

function about(entry) {
  const directory = text(entry["okf:sourceDirectory"]);
  const access = text(entry["okf:accessDescriptor"]);
  const path = text(entry["okf:sourceDocument"]);
  const named = text(entry.identifier) || id;
  const isSource = entry.type === SOURCE_TYPE;
  return el(
    "header",
    {},
    el(
      "nav",
      { class: "trail row", "aria-label": "Where this lies" },
      el("a", { href: browsePage("") }, "All sources"),
      directory && [
        el("span", { "aria-hidden": "true" }, "›"),
        el("a", { class: "foreign", href: browsePage(directory) }, directory),
      ],
      !isSource &&
        access && [
          el("span", { "aria-hidden": "true" }, "·"),
          el("a", { href: entryPage(access) }, "How this source is asked"),
        ],
    ),
    el("p", { class: "foreign", dir: "auto" }, clipped(text(entry.description), LONGEST_DESCRIPTION)),
    el(
      "div",
      { class: "row" },
      copyButton("Copy as JSON", () => JSON.stringify(entry, null, 2)),
      copyButton("Copy as curl", () => curlOf({ method: "GET", url: absolute(entryAddress(named)) })),
      copyButton("Copy identifier", () => named),
      path && el("a", { class: "button button-small", href: publishedDocument(path) }, "As published"),
      text(entry["okf:resource"]).startsWith("http") &&
        outerLink(entry["okf:resource"], { class: "button button-small" }, "Publisher’s API"),
    ),
  );
}

function measured(entry) {
  const pairs = facts(entry);
  if (!pairs.length) return null;
  const row = ([name, value]) => [el("dt", {}, name), el("dd", { class: "foreign" }, value)];
  return section("measured", "What it measures", el("dl", { class: "pairs" }, pairs.map(row)));
}

function questions(entry) {
  const asked = texts(entry.representativeQueries).slice(0, MOST_QUESTIONS);
  if (!asked.length) return null;
  const link = (words) =>
    el("a", { class: "chip foreign", dir: "auto", href: questionPage(words) }, clipped(words, 300));
  return section(
    "questions",
    "Answers questions like",
    el(
      "ul",
      { class: "chips" },
      asked.map((words) => el("li", {}, link(words))),
    ),
  );
}

function allOfIt(entry) {
  const own = { identifier: entry.identifier, type: entry.type, tags: entry.tags, trustManifest: entry.trustManifest };
  const terms = Object.entries(frontMatter(entry)).filter(([name]) => name !== "access");
  // The document's own type is a word for people, the entry's a media type.
  const named = terms.map(([name, value]) => [name === "type" ? "document type" : name, value]);
  const known = Object.entries(own).filter(([, value]) => value !== undefined);
  return section("matter", "Front matter", definitions(Object.fromEntries([...known, ...named])));
}

function documentOf(entry) {
  const body = text(record(entry.data).content);
  if (!body.trim()) return null;
  const path = text(entry["okf:sourceDocument"]);
  return section("document", "Document", markdown(body, { link: (target) => targetFrom(path, target) }));
}

function section(name, words, ...children) {
  return el("section", { "aria-labelledby": name }, el("h2", { id: name }, words), children);
}
