// A conversation as a file, and a question as an address.

import { el, safeUrl } from "../dom.js";
import { moment } from "../format.js";
import { isModel, modelLabel, MODES } from "./models.js";

/** A conversation whole, as it is stored. */
export function asJson(thread, records) {
  const { title, scope, corpus, createdAt, updatedAt } = thread;
  const head = { format: "ask-samples", version: 1, exportedAt: new Date().toISOString() };
  return `${JSON.stringify({ ...head, title, site: scope, corpus, createdAt, updatedAt, turns: records }, null, 2)}\n`;
}

/** The same to be read: questions as headings, results as lists. */
export function asMarkdown(thread, records, label) {
  const head = [`# ${plain(thread.title)}`, `${plain(label)} · ${moment(thread.createdAt)}`];
  return `${[...head, ...records.map(turnAsMarkdown)].join("\n\n")}\n`;
}

function turnAsMarkdown(record) {
  const ranked = record.restrictions?.ranking_model;
  const parts = [
    `## ${plain(record.question)}`,
    record.interpretedAs && record.interpretedAs !== record.question && `*Interpreted as: ${plain(record.interpretedAs)}*`,
    ranked && `Ranked by ${plain(modelLabel(ranked))}.`,
    record.answer && plain(record.answer),
    record.results.map(resultAsMarkdown).join("\n") || "No results.",
    ...record.notices.map((notice) => `> ${plain(notice)}`),
  ];
  return parts.filter(Boolean).join("\n\n");
}

function resultAsMarkdown(item, place) {
  const name = plain(typeof item.name === "string" ? item.name : "") || "Without a name";
  const url = safeUrl(item.url).replaceAll("(", "%28").replaceAll(")", "%29");
  const why = plain(typeof item.description === "string" ? item.description : "");
  return `${place + 1}. ${url ? `[${name}](${url})` : name}${why ? ` — ${why}` : ""}`;
}

/** Text on one line that Markdown takes as text. */
function plain(text) {
  return String(text ?? "").replace(/\s+/g, " ").trim().replace(/[\\`*_{}[\]<>#|~&]/g, "\\$&");
}

/** Hand the reader a file. */
export function download(text, name, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { href: address, download: name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  // A browser reads the file after the click; a minute is more than any takes.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A name for the file, of what every file system takes. */
export function fileName(title, ending) {
  const words = title.normalize("NFKD").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return `${words.join("-").slice(0, 60).replace(/-$/, "") || "conversation"}.${ending}`;
}

/** The address at which this page asks the same question in the same way. */
export function shareLink(record, address = window.location) {
  const link = new URL("./", address.href);
  link.searchParams.set("q", record.question);
  link.searchParams.set("mode", record.mode);
  if (record.model) {
    link.searchParams.set("model", record.model);
  }
  return link.href;
}

/** What such an address asks: `{question, mode, model}`; null where it asks nothing. What it names and we lack is "". */
export function sharedQuestion(address) {
  const question = (address.searchParams.get("q") ?? "").trim();
  const mode = address.searchParams.get("mode") ?? "";
  const model = address.searchParams.get("model") ?? "";
  return question ? { question, mode: MODES.includes(mode) ? mode : "", model: isModel(model) ? model : "" } : null;
}

/** This page's address without what it asked for, so that a reload does not ask, and pay, again. */
export function askedAddress(address) {
  const left = new URL(address.href);
  for (const name of ["q", "mode", "model"]) {
    left.searchParams.delete(name);
  }
  left.hash = "";
  return left.href;
}
