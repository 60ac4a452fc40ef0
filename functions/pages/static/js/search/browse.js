// Browsing: all sources, or with ?source=… the entries of one, page by page.
import { fetchJson, tablesUrl } from "../api.js";
import { announce, append, clear, el } from "../dom.js";
import { number, plural } from "../format.js";
import { readSources } from "./catalog.js";
import { countdown } from "./countdown.js";
import { readFailure } from "./failures.js";
import { title } from "./leaf.js";
import { browsePage, entryPage } from "./links.js";
import { failure, waitInWords } from "./said.js";
import { clipped, finite, record, records, text } from "./shape.js";

const PAGE_SIZE = 50;
const MOST_RETRIES = 10;
const TITLE = document.title;
const [place, heading, lead, form, box] = ["list", "heading", "lead", "form", "query"].map((id) =>
  document.getElementById(id),
);

// Every source by its directory; null until the manifest was read.
let sources = null;
let shown = wanted();
let endWait = () => {};

form.addEventListener("submit", narrowed);
addEventListener("popstate", () => show(0));
show(0);

/** Read the manifest if that was not done yet: null, or the reply that is none. */
async function failedSources() {
  if (sources) return null;
  const { sources: listed, reply } = await readSources();
  if (reply.ok) sources = new Map(listed.map((source) => [source.directory, source]));
  return reply.ok ? null : reply;
}

function wanted() {
  const given = new URLSearchParams(location.search);
  const value = (name) => (given.get(name) ?? "").trim();
  return { source: value("source"), words: value("q"), token: value("page") };
}

/** Show what the address asks for: all at once, so that nothing moves that is read already. */
async function show(tries) {
  endWait();
  const own = (shown = wanted());
  place.setAttribute("aria-busy", "true");
  const [reply, failed] = await Promise.all([own.source ? fetchJson(agentsAddress(own)) : null, failedSources()]);
  if (own !== shown) return;
  place.removeAttribute("aria-busy");
  box.value = own.words;
  form.hidden = !own.source;
  if (own.source) name(own.source);
  if (reply?.ok) drawEntries(record(reply.body), own);
  else if (reply ?? failed) drawFailure(readFailure(reply ?? failed), tries);
  else drawSources();
}

function agentsAddress({ source, words, token }) {
  const asked = new URLSearchParams({ publisherId: source, orderBy: "displayName", pageSize: String(PAGE_SIZE) });
  if (words) asked.set("q", words);
  if (token) asked.set("pageToken", token);
  return tablesUrl(`/agents?${asked}`);
}

/** The heading of a source's list: its title, once that is known. */
function name(directory) {
  const source = sources?.get(directory);
  const words = source?.title ?? directory;
  heading.textContent = clipped(words, 300);
  lead.textContent = clipped(source?.description ?? "", 600);
  document.title = `${clipped(words, 100)} · ${TITLE}`;
}

function drawSources() {
  heading.textContent = "Browse by source";
  document.title = TITLE;
  const all = [...sources.values()].sort((one, other) => one.title.localeCompare(other.title));
  const tables = all.reduce((sum, source) => sum + (source.tables ?? 0), 0);
  lead.textContent = `${plural(tables, "table")} of ${plural(all.length, "source")}.`;
  const empty = el("p", { class: "empty" }, "No source is published yet.");
  append(clear(place), all.length ? el("ul", { class: "plain-list source-grid" }, all.map(sourceCard)) : empty);
}

function sourceCard(source) {
  const label = `source-${source.directory}`;
  return el(
    "li",
    {},
    el(
      "article",
      { class: "card source-card foreign", "aria-labelledby": label },
      el(
        "h2",
        { id: label },
        el("a", { class: "result-title", href: browsePage(source.directory) }, clipped(source.title, 200)),
      ),
      el(
        "p",
        { class: "small muted" },
        clipped(source.publisher, 100),
        source.tables !== null && ` · ${plural(source.tables, "table")}`,
      ),
      el("p", { class: "small", dir: "auto" }, clipped(source.description, 300)),
      source.identifier &&
        el(
          "p",
          { class: "small" },
          el(
            "a",
            { href: entryPage(source.identifier) },
            "How it is asked",
            visuallyHidden(`: ${clipped(source.title, 80)}`),
          ),
        ),
    ),
  );
}

function visuallyHidden(words) {
  return el("span", { class: "visually-hidden" }, words);
}

function drawEntries(body, own) {
  const entries = records(body.items);
  const access = text(entries[0]?.["okf:accessDescriptor"]);
  const total = finite(body.total) ?? entries.length;
  const first = (finite(body.offset) ?? 0) + 1;
  const range = entries.length
    ? `${number(first)}–${number(first + entries.length - 1)} of ${plural(total, "table")}`
    : "No table";
  const said = own.words ? `${range} with “${clipped(own.words, 80)}”` : range;
  append(
    clear(place),
    el(
      "p",
      { class: "row small" },
      el("a", { href: browsePage("") }, "All sources"),
      access && [
        el("span", { "aria-hidden": "true" }, "·"),
        el("a", { href: entryPage(access) }, "How this source is asked"),
      ],
      el("span", { class: "spacer" }),
      el("span", { class: "muted" }, said),
    ),
    entries.length > 0 && el("ul", { class: "plain-list entry-list" }, entries.map(entryRow)),
    pager(own, text(body.pageToken), first),
  );
  announce(said);
}

function entryRow(entry) {
  const id = text(entry.identifier) || text(entry["okf:sourceDocument"]);
  return el(
    "li",
    { class: "foreign" },
    el("p", { dir: "auto" }, id ? el("a", { href: entryPage(id) }, title(entry)) : title(entry)),
    el("p", { class: "small muted two-lines", dir: "auto" }, clipped(text(entry.description), 400)),
  );
}

/** Tokens only lead forward, so the way back lies in the history's state, and where that is lost, at the first page. */
function pager(own, next, first) {
  const before = Array.isArray(history.state?.before) ? history.state.before : null;
  const turn = (token, trail) => () => go({ ...own, token }, { before: trail });
  const button = (words, act) => el("button", { type: "button", class: "button", onclick: act }, words);
  const parts = [];
  if (first > 1 && before?.length) parts.push(button("Previous", turn(text(before.at(-1)), before.slice(0, -1))));
  else if (first > 1) parts.push(button("First page", turn("", [])));
  if (next) parts.push(button("Next", turn(next, [...(before ?? []), own.token])));
  return parts.length ? el("nav", { class: "row", "aria-label": "Pages of the list" }, parts) : null;
}

function go({ source, words, token }, state = null) {
  const asked = new URLSearchParams({ source, ...(words && { q: words }), ...(token && { page: token }) });
  history.pushState(state, "", `?${asked}`);
  show(0);
  heading.focus();
  scrollTo({ top: 0 });
}

function narrowed(event) {
  event.preventDefault();
  go({ ...shown, words: box.value.trim(), token: "" });
}

function drawFailure(failed, tries) {
  const stale = shown.token && failed.code === "invalid_request";
  const actions = [{ label: "Try again", act: () => show(0), primary: true }];
  if (stale) actions.unshift({ label: "Begin at the first page", act: () => go({ ...shown, token: "" }) });
  if (shown.source) actions.push({ label: "All sources", act: () => location.assign(browsePage("")) });
  append(
    clear(place),
    failure({ ...failed, heading: stale ? "The collection has changed since" : failed.heading, actions }),
  );
  announce(failed.heading);
  if (!failed.passing || tries >= MOST_RETRIES) return;
  const line = place.querySelector(".wait");
  const say = (left) => {
    line.textContent = `Trying again in ${waitInWords(left)}.`;
  };
  endWait = countdown(failed.waitS, say, () => show(tries + 1));
}
