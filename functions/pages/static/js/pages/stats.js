/** The stats page: /stats.json as figures, plots and tables. */

import { fetchJson, tablesUrl } from "../api.js";
import { announce, clear, el } from "../dom.js";
import { cost, moment, ms, number, plural } from "../format.js";
import { bars, lines } from "../plots.js";
import { entries, failure, figure, isObject, objects, table, tell, tiles } from "./report.js";

const MOST_MODELS = 5;

/**
 * What the page shows of a reply: `{days, models, total}`. `days` are oldest first, one a calendar day from the first
 * to the last that has numbers, so that a day without searches is seen as one.
 */
export function report(body) {
  const counted = new Map(entries(body.days).filter(([day]) => /^\d{4}-\d{2}-\d{2}$/.test(day)));
  const days = calendar([...counted.keys()].sort()).map((day) => ({ day, ...(counted.get(day) ?? {}) }));
  const models = entries(body.models).sort(([, a], [, b]) => amount(b.cost_usd) - amount(a.cost_usd) || amount(b.calls) - amount(a.calls));
  return { days, models, total: isObject(body.total) ? body.total : {} };
}

function calendar(days) {
  const all = [];
  for (let at = Date.parse(days[0]); at <= Date.parse(days.at(-1)) && all.length < 400; at += 86_400_000) {
    all.push(new Date(at).toISOString().slice(0, 10));
  }
  return all;
}

function amount(value) {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

const took = (seconds) => (typeof seconds === "number" ? ms(seconds * 1000) : "");
const short = (day) => day.slice(5).replace("-", "/");

/** The models that get a colour of their own: those that cost most, then one name for the others together. */
export function shownModels(models) {
  const names = models.map(([name]) => name);
  return names.length > MOST_MODELS ? [...names.slice(0, MOST_MODELS - 1), "other models"] : names;
}

function byModel({ days, models }, value) {
  const names = shownModels(models);
  const own = new Set(names);
  return names.map((name) => {
    const of = (day) => entries(day.models).filter(([model]) => model === name || (name === "other models" && !own.has(model)));
    return { name, values: days.map((day) => of(day).reduce((sum, [, each]) => sum + amount(value(each)), 0)) };
  });
}

function searches({ days }) {
  const outcomes = [["with results", "with_results"], ["no match", "no_match"], ["failed", "failed"]];
  const series = outcomes.map(([name, key]) => ({ name, values: days.map((day) => amount(day[key])) }));
  const title = `Searches a day: ${plural(days.reduce((sum, day) => sum + amount(day.searches), 0), "search", "searches")} in all`;
  const columns = [{ label: "Day" }, { label: "Searches", numeric: true }, { label: "No match", numeric: true }, { label: "Failed", numeric: true }, { label: "Callers", numeric: true }];
  const rows = [...days].reverse().map((day) => [day.day, ...["searches", "no_match", "failed", "callers"].map((key) => number(amount(day[key])))]);
  const plot = bars({ labels: days.map((day) => short(day.day)), series, format: number, title, whole: true });
  return figure("Searches", outcomes.map(([name]) => name), plot, table("Searches by day", columns, rows));
}

function spend(found) {
  const { days, total } = found;
  const series = byModel(found, (each) => each.cost_usd);
  const plot = bars({ labels: days.map((day) => short(day.day)), series, format: cost, title: `Dollars spent a day: ${cost(amount(total.cost_usd))} in all` });
  const columns = [{ label: "Day" }, { label: "Cost", numeric: true }, { label: "Calls", numeric: true }, { label: "Tokens", numeric: true }];
  const rows = [...days].reverse().map((day) => [day.day, cost(amount(day.cost_usd)), number(amount(day.calls)), number(amount(day.tokens))]);
  return figure("Spend", series.map(({ name }) => name), plot, table("Spend by day", columns, rows));
}

function latency({ days }) {
  const kinds = [["median", "median"], ["95th percentile", "p95"]];
  const seconds = (day, key) => day.latency_seconds?.[key];
  const series = kinds.map(([name, key]) => ({ name, values: days.map((day) => seconds(day, key) ?? null) }));
  const plot = lines({ labels: days.map((day) => short(day.day)), series, format: (value) => took(value) || "0", title: "How long a search took, by day: median and 95th percentile" });
  const columns = [{ label: "Day" }, { label: "Median", numeric: true }, { label: "95th percentile", numeric: true }];
  const rows = [...days].reverse().map((day) => [day.day, ...kinds.map(([, key]) => took(seconds(day, key)) || "–")]);
  return figure("Latency", kinds.map(([name]) => name), plot, table("Latency by day", columns, rows));
}

function sites({ total }) {
  const columns = [{ label: "Site" }, ...["Questions", "Without a match", "Failed", "Left", "Median", "95th percentile"].map((label) => ({ label, numeric: true }))];
  const rows = entries(total.sites).map(([name, each]) => [
    name, ...["asks", "no_match", "failed", "left"].map((key) => number(amount(each[key]))),
    took(each.latency_seconds?.median) || "–", took(each.latency_seconds?.p95) || "–",
  ]);
  if (rows.length === 0) return null;
  return el("section", { class: "stack-tight" }, el("h2", null, "Sites"), table("Questions and latency by site", columns, rows));
}

function models({ models: found }) {
  const columns = [{ label: "Model" }, ...["Calls", "Tokens", "Cost", "Median", "95th percentile"].map((label) => ({ label, numeric: true }))];
  const rows = found.map(([name, each]) => [
    name, number(amount(each.calls)), number(amount(each.tokens)), cost(amount(each.cost_usd)),
    took(each.latency_seconds?.median) || "–", took(each.latency_seconds?.p95) || "–",
  ]);
  return el("section", { class: "stack-tight" }, el("h2", null, "Models"), table("Calls, cost and latency by model", columns, rows));
}

function summary({ total }, body) {
  const spent = isObject(body.provider) ? [["Spent by the key, ever", cost(body.provider.spend_usd) || "not known"]] : [];
  return tiles([
    ["Searches", number(amount(total.searches))],
    ["Cost", cost(amount(total.cost_usd))],
    ["Median latency", took(total.latency_seconds?.median)],
    ["Without a match", number(amount(total.no_match))],
    ["Failed", number(amount(total.failed))],
    ...spent,
  ]);
}

function show(body) {
  const found = report(body);
  const box = clear(document.getElementById("report"));
  const whose = body.scope === "all" ? "of all instances" : "of this instance alone, since it started";
  document.getElementById("scope").textContent = `Searches of the tables and questions to the sites, ${whose}. Days are UTC; as of ${moment(body.generated_at) || "now"}.`;
  box.append(summary(found, body));
  if (found.days.length === 0) {
    box.append(el("p", { class: "empty" }, "Nothing was searched or asked in these days."));
    return;
  }
  box.append(...[searches(found), spend(found), latency(found), sites(found), models(found)].filter(Boolean));
}

async function load() {
  const box = document.getElementById("report");
  const button = document.getElementById("again");
  box.setAttribute("aria-busy", "true");
  button.disabled = true;
  const answer = await fetchJson(tablesUrl(`/stats.json?days=${document.getElementById("days").value}`), { cache: "no-store" });
  button.disabled = false;
  box.setAttribute("aria-busy", "false");
  if (answer.ok && isObject(answer.body)) {
    tell(objects(answer.body.notices).map((each) => ({ tone: "warning", text: String(each.message ?? each.code ?? "") })));
    show(answer.body);
    announce("The numbers are here");
  } else {
    clear(box);
    tell([{ tone: "error", text: failure(answer) }]);
    announce("The numbers could not be read");
  }
}

document.getElementById("range").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("days").addEventListener("change", load);
document.getElementById("again").addEventListener("click", load);
load();
