/** The status page: /status.json, the ledger of the releases that are served. */

import { fetchJson, tablesUrl } from "../api.js";
import { announce, clear, el } from "../dom.js";
import { moment, number, percent, plural } from "../format.js";
import { entries, failure, isObject, objects, pairs, table, tell } from "./report.js";

const VERDICTS = {
  right: ["right", "good"],
  partly: ["partly right", "info"],
  missed: ["missed", "bad"],
  no_match_right: ["rightly no match", "good"],
  no_match_wrong: ["wrongly answered", "bad"],
};
const OUTCOMES = { passed: "good", failed: "bad", skipped: "warning", forced: "warning" };
const WRONG = new Set(["partly", "missed", "no_match_wrong"]);

const text = (value) => (typeof value === "string" || typeof value === "number" ? String(value) : "");

function badge(word, tone) {
  return el("span", { class: tone ? `badge badge-${tone}` : "badge" }, word);
}

function verdictOf(value) {
  return Object.hasOwn(VERDICTS, value) ? VERDICTS[value] : [text(value) || "not judged", ""];
}

/** Recall, rank and no-match of each suite, one a row. */
function scores(catalog) {
  const columns = [{ label: "Questions of" }, ...["How many", "Right one first", "Right one in ten", "Mean reciprocal rank", "No match where none is right"].map((label) => ({ label, numeric: true }))];
  const rows = entries(catalog.scores).map(([suite, each]) => [
    suite, number(each.questions), percent(each.recall_at_1, 1) || "–", percent(each.recall_at_10, 1) || "–",
    number(each.mrr, 3) || "–", percent(each.no_match_right, 1) || "–",
  ]);
  return rows.length ? table(`Scores of ${text(catalog.catalog)}`, columns, rows) : null;
}

function gate(found) {
  if (!isObject(found)) {
    return null;
  }
  const checks = objects(found.checks);
  const columns = [{ label: "Check" }, { label: "Verdict" }, { label: "What it said" }];
  const rows = checks.map((each) => [text(each.name), badge(text(each.verdict), OUTCOMES[each.verdict]), text(each.message)]);
  const words = { passed: "The gate let it pass.", forced: "It was published against the gate's word.", none: "No gate was asked." };
  return el("section", { class: "stack-tight" },
    el("h3", null, "Gate"),
    el("p", { class: "row" }, badge(text(found.verdict) || "unknown", OUTCOMES[found.verdict]), words[found.verdict] ?? ""),
    rows.length ? table("Checks of the gate", columns, rows) : null);
}

/** One sample question, folded: what was expected and what came. */
function question(each) {
  const [word, tone] = verdictOf(each.verdict);
  const rank = typeof each.rank === "number" ? el("span", { class: "muted small" }, `first right one at place ${number(each.rank)}`) : null;
  const expected = Array.isArray(each.expected) ? each.expected.map(text).filter(Boolean) : [];
  const results = objects(each.results);
  const row = (result) => el("li", { class: "foreign" },
    text(result.title) || text(result.identifier), " ",
    el("span", { class: "muted small" }, text(result.score) && `score ${text(result.score)}`), " ",
    result.right === true ? badge("right", "good") : null);
  const fold = el("details", { class: "question" },
    el("summary", null, badge(word, tone), el("span", { class: "foreign" }, text(each.text)), rank));
  fold.addEventListener("toggle", () => {
    if (fold.open && fold.childElementCount === 1) {
      fold.append(el("div", { class: "question-body stack-tight small" },
        el("p", null, expected.length ? "Expected: " : "Expected: nothing, the catalog has no answer.", expected.length ? el("code", { class: "foreign" }, expected.join(", ")) : null),
        results.length ? el("ol", null, results.map(row)) : el("p", { class: "muted" }, "Nothing came back.")));
    }
  });
  return fold;
}

function questions(catalog, place) {
  const all = objects(catalog.questions);
  if (all.length === 0) {
    return el("p", { class: "muted" }, "No sample question was kept.");
  }
  const list = el("div");
  const only = el("input", { type: "checkbox", id: `wrong-${place}` });
  const count = el("span", { class: "muted small" });
  const draw = () => {
    const shown = all.filter((each) => !only.checked || WRONG.has(each.verdict));
    clear(list).append(...shown.map(question));
    count.textContent = plural(shown.length, "question");
  };
  only.addEventListener("change", draw);
  draw();
  return el("section", { class: "stack-tight" },
    el("h3", null, "Sample questions"),
    el("div", { class: "row row-between" }, el("label", { class: "check small" }, only, "Only those that went wrong"), count),
    list);
}

function catalogOf(catalog, place) {
  const name = text(catalog.label) || text(catalog.catalog) || "A catalog";
  return el("article", { class: "card stack" },
    el("h2", { class: "foreign" }, name),
    pairs([["Release", text(catalog.release)], ["Evaluated", moment(catalog.evaluated_at)], ["Embedder", text(catalog.embedder)], ["Judge", text(catalog.judge)]]),
    scores(catalog), gate(catalog.gate), questions(catalog, place));
}

async function load() {
  const box = document.getElementById("report");
  const answer = await fetchJson(tablesUrl("/status.json"), { cache: "no-store" });
  box.setAttribute("aria-busy", "false");
  if (!answer.ok || !isObject(answer.body)) {
    tell([{ tone: answer.status === 404 ? "info" : "error", text: failure(answer) }]);
    announce("The ledger could not be read");
    return;
  }
  tell(objects(answer.body.notices).map((each) => ({ tone: "warning", text: text(each.message) || text(each.code) })));
  const catalogs = objects(answer.body.catalogs);
  clear(box).append(...catalogs.map(catalogOf));
  if (catalogs.length === 0) {
    box.append(el("p", { class: "empty" }, "No release that is served now was evaluated before it was published."));
  }
  announce(plural(catalogs.length, "catalog"));
}

load();
