// The search page: what is asked lies in the page's address, and everything shown follows from that.
import { postJson, tablesUrl } from "../api.js";
import { announce, append, clear, el } from "../dom.js";
import * as addresses from "./address.js";
import { resultCard } from "./card.js";
import { exampleQuestions, readCounts, readSources, wordsThatMatch } from "./catalog.js";
import { countdown } from "./countdown.js";
import { curlOf } from "./curl.js";
import { readFailure } from "./failures.js";
import { FilterGroup, activeChips } from "./filters.js";
import { listenToKeys } from "./keys.js";
import { absolute } from "./links.js";
import { examples, noMatch, skeleton } from "./nothing.js";
import { report } from "./report.js";
import { countInWords, failure, notices, waitInWords } from "./said.js";
import { record, records } from "./shape.js";

const TITLE = document.title;
const MOST_EXAMPLES = 8;
const MOST_ANSWERS_KEPT = 20;
const MOST_RETRIES = 10;
const SETTLE_MS = 350; // several boxes are often set one after another, and each search may cost money

const part = (id) => document.getElementById(id);
const [form, box, stop, chips, results, order, size] = [
  "form",
  "query",
  "stop",
  "chips",
  "results",
  "order",
  "size",
].map(part);
const groups = {
  sources: new FilterGroup("Sources", (value, chosen) => choose("sources", value, chosen)),
  publishers: new FilterGroup("Publishers", (value, chosen) => choose("publishers", value, chosen)),
};
// What was answered, by what was asked: going back costs nothing.
const answers = new Map();

let asked = addresses.read(location.search);
let sources = new Map();
let running = new AbortController();
let endWait = () => {};
let settling = 0;
let countedFor = null;
let counts = null;
let focusLost = false;

start();

function start() {
  part("filters").append(groups.sources.element, groups.publishers.element);
  form.addEventListener("submit", submitted);
  stop.addEventListener("click", stopped);
  order.addEventListener("change", () => go({ ...asked, order: order.value }));
  size.addEventListener("change", () => go({ ...asked, size: Number(size.value) }));
  document.addEventListener("click", followed);
  addEventListener("popstate", () => show(addresses.read(location.search)));
  foldFilters(matchMedia("(max-width: 760px)"));
  listenToKeys({ box, results, onStop: () => !stop.hidden && (stopped(), true) });
  for (const link of document.querySelectorAll("a[data-route]")) link.href = tablesUrl(link.dataset.route);
  listSources(0);
  show(asked);
}

/** Go on to another question, as a new place in the history. */
function go(next) {
  history.pushState(null, "", addresses.written(next) || location.pathname);
  show(next);
}

function show(next) {
  asked = next;
  box.value = asked.question;
  order.value = asked.order;
  size.value = String(asked.size);
  document.title = asked.question ? `${asked.question} · ${TITLE}` : TITLE;
  chips.replaceChildren(...activeChips(asked, nameOf, removed));
  document.documentElement.classList.toggle("asked", asked.question !== "");
  count();
  if (asked.question) search(0);
  else idle();
}

function idle() {
  halt();
  const questions = exampleQuestions([...sources.values()], MOST_EXAMPLES);
  append(clear(results), examples(questions));
}

/** Ask the service, or show what it said before. `tries` is how often this question was put off so far. */
async function search(tries) {
  halt();
  const key = addresses.written(asked);
  if (answers.has(key)) {
    draw(answers.get(key));
    return;
  }
  const own = running;
  wait();
  const began = performance.now();
  const options = { signal: own.signal };
  const reply = await postJson(tablesUrl("/search"), addresses.searchBody(asked), options).catch(aborted);
  if (own !== running || !reply) return;
  settle();
  const answer = { reply, elapsedMs: performance.now() - began };
  if (!reply.ok || !Array.isArray(record(reply.body).results)) {
    drawFailure(answer, tries, search);
    return;
  }
  keep(key, answer);
  draw(answer);
  if (!sources.size) listSources(0);
}

function aborted(error) {
  if (error.name === "AbortError") return null;
  throw error;
}

function keep(key, answer) {
  answers.set(key, answer);
  if (answers.size > MOST_ANSWERS_KEPT) answers.delete(answers.keys().next().value);
}

/** End what is under way: a request, a countdown, a search about to begin. */
function halt() {
  focusLost = focusLost || results.contains(document.activeElement);
  running.abort();
  running = new AbortController();
  endWait();
  endWait = () => {};
  clearTimeout(settling);
  settle();
}

function wait() {
  stop.hidden = false;
  results.setAttribute("aria-busy", "true");
  const said = el("p", { class: "row muted" }, el("span", { class: "spinner", "aria-hidden": "true" }), "Searching…");
  results.replaceChildren(said, skeleton());
  announce("Searching");
}

function settle() {
  stop.hidden = true;
  results.removeAttribute("aria-busy");
}

function stopped() {
  halt();
  results.replaceChildren(
    failure({
      heading: "Stopped",
      message: "The search was stopped.",
      actions: [{ label: "Search again", act: () => search(0), primary: true }],
    }),
  );
  announce("The search was stopped");
  box.focus();
}

function draw({ reply, elapsedMs }) {
  const body = record(reply.body);
  const found = records(body.results);
  const beside = [
    notices(body.notices, record(body.filter).ignored),
    report(body.usage, { elapsedMs, timing: reply.timing, command: command() }),
  ];
  if (found.length) drawFound(found, beside);
  else drawNoMatch(body, beside);
  keepFocus();
}

function drawFound(found, beside) {
  const heading = `${countInWords(found.length)} found`;
  const card = (entry, at) =>
    el("li", {}, resultCard(entry, { number: at + 1, onTag: (tag) => choose("tags", tag, true), sources }));
  append(
    clear(results),
    el("h2", { tabindex: "-1", class: "small muted" }, heading),
    beside[0],
    el("ol", { class: "plain-list stack result-list" }, found.map(card)),
    moreButton(found.length),
    beside[1],
  );
  announce(heading);
}

function moreButton(found) {
  const next = addresses.SIZES.find((each) => each > asked.size);
  if (found < asked.size || next === undefined) return null;
  const onclick = () => go({ ...asked, size: next });
  return el("button", { type: "button", class: "button", onclick }, `Look for up to ${next}`);
}

function drawNoMatch(body, beside) {
  const nothing = noMatch(body.eligibility, waysOut());
  const questions = exampleQuestions([...sources.values()], MOST_EXAMPLES);
  append(clear(results), nothing.element, beside[0], examples(questions), beside[1]);
  announce("No table matches");
  wordsThatMatch(asked.question, { signal: running.signal }).then(nothing.words).catch(aborted);
}

function waysOut() {
  const ways = Object.keys(groups)
    .concat("tags")
    .flatMap((key) =>
      asked[key].map((value) => ({
        label: `Without ${nameOf(key, value)}`,
        act: () => go(addresses.without(asked, key, value)),
      })),
    );
  if (ways.length > 1) ways.unshift({ label: "Without any filter", act: () => go(addresses.withoutFilters(asked)) });
  if (asked.judged) ways.push(unjudged());
  return ways;
}

function unjudged() {
  return { label: "Show what is nearest in meaning, not judged", act: () => go({ ...asked, judged: false }) };
}

/** What was asked, for a shell. */
function command() {
  return curlOf({ method: "POST", url: absolute(tablesUrl("/search")), body: addresses.searchBody(asked) });
}

/** `retry(tries)` asks again what failed. */
function drawFailure({ reply, elapsedMs }, tries, retry) {
  const failed = readFailure(reply);
  const actions = [{ label: "Try again", act: () => retry(0), primary: true }];
  if (failed.unjudgedHelps && asked.judged) actions.push(unjudged());
  if (failed.code === "unknown_name")
    actions.unshift({ label: "Search without filters", act: () => go(addresses.withoutFilters(asked)) });
  const element = failure({ ...failed, actions });
  append(
    clear(results),
    element,
    report(record(reply.body).usage, { elapsedMs, timing: reply.timing, command: command() }),
  );
  announce(`${failed.heading}. ${failed.message}`);
  if (failed.waitS !== null) countDown(failed, element.querySelector(".wait"), tries, retry);
  keepFocus();
}

function countDown({ waitS, passing }, line, tries, retry) {
  const alone = passing && tries < MOST_RETRIES;
  const say = (left) => {
    line.textContent = alone
      ? `Trying again in ${waitInWords(left)}.`
      : `It can be tried again in ${waitInWords(left)}.`;
  };
  const end = () => {
    line.textContent = "It can be tried again now.";
    if (alone) retry(tries + 1);
  };
  endWait = countdown(waitS, say, end);
}

/** Who chose a link or button that is gone now goes on at what came of it. */
function keepFocus() {
  if (focusLost && document.activeElement === document.body) results.querySelector("h2")?.focus();
  focusLost = false;
}

function submitted(event) {
  event.preventDefault();
  const question = box.value.trim();
  if (!question) return;
  const next = addresses.read(addresses.written({ ...asked, question }));
  if (addresses.written(next) === addresses.written(asked)) search(0);
  else go(next);
}

/** Links to other questions are followed in place; those of other pages, and into new tabs, by the browser. */
function followed(event) {
  const link = event.target.closest?.("a[href]");
  if (
    !link ||
    event.defaultPrevented ||
    event.button ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  if (!link.getAttribute("href").startsWith("./?")) return;
  event.preventDefault();
  go({ ...addresses.withoutFilters(asked), question: addresses.read(link.search).question });
  scrollTo({ top: 0 });
}

function choose(key, value, chosen) {
  const others = asked[key].filter((each) => each !== value);
  asked = { ...asked, [key]: chosen ? [...others, value] : others };
  halt();
  settling = setTimeout(() => go(asked), SETTLE_MS);
}

function removed(key, value) {
  go(key === "judged" ? { ...asked, judged: true } : addresses.without(asked, key, value));
  box.focus();
}

function nameOf(key, value) {
  return key === "sources" ? (sources.get(value)?.title ?? value) : value;
}

async function listSources(tries) {
  const { sources: listed, reply } = await readSources();
  if (!reply.ok) {
    if (!asked.question) drawFailure({ reply }, tries, listSources);
    return;
  }
  sources = new Map(listed.map((source) => [source.directory, source]));
  part("total").textContent = totalInWords(listed);
  drawCounts();
  chips.replaceChildren(...activeChips(asked, nameOf, removed));
  if (!asked.question) idle();
}

function totalInWords(listed) {
  const tables = listed.reduce((sum, source) => sum + (source.tables ?? 0), 0);
  return tables ? `${countInWords(tables)} of ${listed.length} sources. ` : "";
}

/** Counts depend on what is chosen and not on the question. */
async function count() {
  const chosen = addresses.written({
    ...addresses.NOTHING,
    sources: asked.sources,
    publishers: asked.publishers,
    tags: asked.tags,
  });
  if (chosen === countedFor) return;
  countedFor = chosen;
  drawCounts();
  const found = await readCounts(asked);
  if (chosen !== countedFor) return;
  counts = found;
  if (!found) countedFor = null;
  drawCounts();
}

/** The boxes by the counts, or by the manifest where there are none. */
function drawCounts() {
  groups.sources.update(counts?.sources ?? manifestCounts("directory"), asked.sources, (value) =>
    nameOf("sources", value),
  );
  groups.publishers.update(counts?.publishers ?? manifestCounts("publisher"), asked.publishers);
}

function manifestCounts(by) {
  const sums = new Map();
  for (const source of sources.values()) sums.set(source[by], (sums.get(source[by]) ?? 0) + (source.tables ?? 0));
  return [...sums].sort(([, one], [, other]) => other - one);
}

/** Beside the results there is room for the filters; above them, on a phone, they are folded away. */
function foldFilters(narrow) {
  const fold = () => {
    part("filter-fold").open = !narrow.matches;
  };
  narrow.addEventListener("change", fold);
  fold();
}
