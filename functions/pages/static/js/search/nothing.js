// When a search has nothing to show: before it is asked, while it runs, and where nothing matched.
import { el } from "../dom.js";
import { number, plural } from "../format.js";
import { questionPage } from "./links.js";
import { finite, record } from "./shape.js";

/** What could be asked: questions that the collection says it answers. */
export function examples(questions, heading = "Questions this collection answers") {
  if (!questions.length) return null;
  const link = (words) => el("a", { class: "chip foreign", href: questionPage(words), dir: "auto" }, words);
  return el(
    "section",
    { class: "stack-tight", "aria-labelledby": "examples" },
    el("h2", { id: "examples" }, heading),
    el(
      "ul",
      { class: "chips" },
      questions.map((words) => el("li", {}, link(words))),
    ),
  );
}

/** The shape of results that are on their way. */
export function skeleton() {
  const line = (width) => el("div", { class: `skeleton-line ${width}` });
  const card = () => el("div", { class: "card skeleton" }, line("half"), line("full"), line("full"), line("third"));
  return el("div", { class: "stack", "aria-hidden": "true" }, card(), card(), card());
}

/**
 * Nothing matched, and what could be tried: `actions` are `{label, act}`. The words that some table holds come in by
 * `words(found)` once they are known.
 */
export function noMatch(eligibility, actions) {
  const words = el("div", { class: "stack-tight" });
  const element = el(
    "div",
    { class: "stack no-match" },
    el("h2", { tabindex: "-1" }, "No table matches"),
    el("p", {}, reason(record(eligibility))),
    actions.length > 0 && el("h3", {}, "What could be tried"),
    actions.length > 0 &&
      el(
        "ul",
        { class: "plain-list row" },
        actions.map((action) => el("li", {}, button(action))),
      ),
    words,
  );
  return { element, words: (found) => words.replaceChildren(...wordsFound(found)) };
}

function button({ label, act }) {
  return el("button", { type: "button", class: "button foreign", onclick: act }, label);
}

function reason({ topScore, threshold }) {
  const top = finite(topScore);
  if (top === null) return "The filters left no table to look at.";
  const needed = finite(threshold) ?? 50;
  return `The best of the tables looked at scored ${number(top)} of 100; a result needs ${number(needed)}.`;
}

function wordsFound(found) {
  if (!found.length) return [el("p", { class: "muted" }, "None of the question’s words stands in a table here.")];
  const link = ([word, total]) =>
    el("a", { class: "chip", href: questionPage(word) }, `${word} · ${plural(total, "table")}`);
  return [
    el("p", { class: "label" }, "Words of the question that stand in tables here"),
    el(
      "ul",
      { class: "chips" },
      found.map((each) => el("li", {}, link(each))),
    ),
  ];
}
