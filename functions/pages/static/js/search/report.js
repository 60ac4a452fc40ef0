// What an answer took: calls of models, time by stage, cost.
import { copyButton, el } from "../dom.js";
import { cost, ms, number, plural } from "../format.js";
import { finite, record, records, text } from "./shape.js";

const MOST_CALLS = 50;
const STAGES = {
  "embed-query": "Embed the question",
  rerank: "Judge",
  phrase: "Phrasings",
  embed: "Embed",
  scan: "Nearest in meaning",
  keyword: "Keywords",
  select: "Candidates",
  records: "Read records",
  cards: "Write cards",
  judge: "Judge",
  widen: "Widen",
  merge: "Merge",
  reply: "Write the reply",
  total: "All in the service",
};

/**
 * A fold with the report of one answer; null where the reply has none. `elapsedMs` is what the reader waited, `timing`
 * the reply's Server-Timing header, or null, `command` the search as a command line.
 */
export function report(usage, { elapsedMs, timing, command }) {
  const said = record(usage);
  if (!Object.keys(said).length) return null;
  const times = stages(timing);
  return el(
    "details",
    { class: "report" },
    el("summary", { class: "small" }, "Report: ", summary(said, elapsedMs)),
    el("div", { class: "report-parts" }, callsTable(said), times.length > 0 && stagesTable(times)),
    copyButton("Copy search as curl", () => command),
  );
}

function summary(usage, elapsedMs) {
  const parts = [
    plural(finite(usage.llm_calls) ?? 0, "model call"),
    plural(finite(usage.total_tokens) ?? 0, "token"),
    cost(finite(usage.cost_usd) ?? 0),
    ms(elapsedMs),
  ];
  return parts.filter(Boolean).join(" · ");
}

function callsTable(usage) {
  const calls = records(usage.call_events);
  const dropped = calls.length - Math.min(calls.length, MOST_CALLS) + (finite(usage.call_events_dropped) ?? 0);
  const head = el("tr", {}, ["Call", "Model", "Outcome"].map(column), ["Time", "Tokens", "Cost"].map(figures));
  return scrolling(
    "Model calls",
    el(
      "table",
      { class: "table" },
      el("caption", {}, "Model calls"),
      el("thead", {}, head),
      el("tbody", {}, calls.slice(0, MOST_CALLS).map(callRow), calls.length === 0 && emptyRow("No model was asked.")),
      el("tfoot", {}, dropped > 0 && emptyRow(`${plural(dropped, "more call")} not shown.`), priceRow(usage)),
    ),
  );
}

function callRow(call) {
  const figure = (value) => el("td", { class: "number" }, value);
  return el(
    "tr",
    {},
    el("td", {}, stageName(text(call.stage))),
    el("td", { class: "foreign" }, text(call.model)),
    el("td", {}, text(call.outcome) === "success" ? "done" : text(call.outcome).replaceAll("_", " ")),
    figure(ms(finite(call.elapsed_ms) ?? 0)),
    figure(number(finite(call.tokens) ?? 0)),
    figure(cost(finite(call.cost_usd) ?? 0)),
  );
}

function priceRow(usage) {
  const priced = usage.cost_source === "provider" ? "as the provider reported it" : "by the price table";
  return emptyRow(`Together ${cost(finite(usage.cost_usd) ?? 0)}, ${priced}.`);
}

function emptyRow(words) {
  return el("tr", {}, el("td", { colspan: "6", class: "muted" }, words));
}

function stagesTable(times) {
  const longest = Math.max(...times.map(([, spent]) => spent), 1);
  const bar = (spent) => el("meter", { min: "0", max: String(longest), value: String(spent), "aria-hidden": "true" });
  const row = ([name, spent]) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, stageName(name)),
      el("td", {}, bar(spent)),
      el("td", { class: "number" }, ms(spent)),
    );
  return scrolling(
    "Time by stage",
    el(
      "table",
      { class: "table" },
      el("caption", {}, "Time by stage"),
      el("thead", {}, el("tr", {}, column("Stage"), el("td", {}), figures("Time"))),
      el("tbody", {}, times.map(row)),
    ),
  );
}

/** The stages of a Server-Timing header that took a millisecond or more, as `[name, ms]`. */
export function stages(timing) {
  return text(timing)
    .split(",")
    .map((part) => /^\s*([\w-]{1,40});dur=(\d+(?:\.\d+)?)\s*$/.exec(part))
    .filter(Boolean)
    .map(([, name, spent]) => [name, Number(spent)])
    .filter(([, spent]) => spent >= 1);
}

function stageName(name) {
  return Object.hasOwn(STAGES, name) ? STAGES[name] : name;
}

function column(name) {
  return el("th", { scope: "col" }, name);
}

function figures(name) {
  return el("th", { scope: "col", class: "number" }, name);
}

function scrolling(label, table) {
  return el("div", { class: "table-scroll", tabindex: "0", role: "group", "aria-label": label }, table);
}
