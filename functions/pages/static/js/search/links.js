// Where the pages of the tables lie, as seen from each of them, and where their documents do.
import { tablesUrl } from "../api.js";
import { safeUrl } from "../dom.js";
import { text } from "./shape.js";

/** The page of one entry, by identifier or path. */
export function entryPage(id) {
  return `entry.html?${new URLSearchParams({ id })}`;
}

/** The list of a source's entries; of all sources where none is given. */
export function browsePage(source) {
  return source ? `browse.html?${new URLSearchParams({ source })}` : "browse.html";
}

/** The search page with a question. */
export function questionPage(question) {
  return `./?${new URLSearchParams({ q: question })}`;
}

/** A document as it was published. */
export function publishedDocument(path) {
  return tablesUrl(`/okf/file?${new URLSearchParams({ path })}`);
}

/** One entry as JSON. */
export function entryAddress(id) {
  return tablesUrl(`/agents/entry?${new URLSearchParams({ id })}`);
}

/** The whole address of what lies at one of the tables' routes, for use outside of the page. */
export function absolute(address) {
  return new URL(address, document.baseURI).href;
}

/**
 * Where a link in a document's body leads: http and https as they are, another document by the page of its entry;
 * "" for anything else.
 */
export function targetFrom(path, target) {
  const address = text(target).trim();
  if (safeUrl(address)) return address;
  const [file] = address.split("#");
  if (!path || !file.endsWith(".md") || /^[a-z][a-z0-9+.-]*:|^[/\\]/i.test(file)) return "";
  const [, catalog, own] = /^([a-z0-9-]+:)?(.*)$/s.exec(path);
  const joined = joinedPath(own.split("/").slice(0, -1), file.split("/"));
  return joined ? entryPage(`${catalog ?? ""}${joined}`) : "";
}

function joinedPath(folder, parts) {
  const path = [...folder];
  for (const part of parts) {
    if (part === "..") {
      if (!path.length) return "";
      path.pop();
    } else if (part !== "." && part !== "") {
      path.push(part);
    }
  }
  return path.join("/");
}
