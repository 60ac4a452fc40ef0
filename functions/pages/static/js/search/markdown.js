// A document's Markdown as elements. What it does not know is shown as text, HTML too; nothing in it is ever parsed as
// HTML, and each step passes over its text once, so that no text, however odd, keeps the page busy.
import { inline } from "./inline.js";
import { el } from "../dom.js";

const DEEPEST = 6;
const LONGEST = 100_000;
const MOST_COLUMNS = 60;
const FENCE = /^ {0,3}(`{3,}|~{3,})([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?=[ \t]|$)/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?: +|$)/;
const QUOTE = /^ {0,3}> ?/;

/**
 * The document below a heading of level `above`. `link` says where a target leads: an address, or "" for nowhere.
 * A document of more than 100,000 characters is shown as it was written.
 */
export function markdown(source, { link, above = 2 }) {
  const container = el("div", { class: "markdown" });
  if (source.length > LONGEST) container.append(el("pre", { class: "as-written", tabindex: "0" }, source));
  else new Document(link, above).blocks(source.split(/\r\n|[\n\r\u2028\u2029]/), container, 0);
  return container;
}

class Document {
  constructor(link, above) {
    this.link = link;
    this.above = above;
    this.level = above;
  }

  blocks(lines, parent, depth) {
    for (let at = 0; at < lines.length;) {
      if (!lines[at].trim()) at += 1;
      else at = this.block(lines, at, parent, depth);
    }
  }

  /** One block that begins at a line; returns the line after it. */
  block(lines, at, parent, depth) {
    const line = lines[at];
    const fence = FENCE.exec(line);
    if (fence) return this.code(lines, at, fence, parent);
    if (HEADING.test(line)) return this.heading(line, at, parent);
    if (isRule(line)) return put(parent, el("hr", {}), at + 1);
    if (isTable(lines, at)) return this.table(lines, at, parent);
    if (depth < DEEPEST && QUOTE.test(line)) return this.quote(lines, at, parent, depth);
    if (depth < DEEPEST && ITEM.test(line)) return this.list(lines, at, parent, depth);
    if (line.startsWith("    ") || line.startsWith("\t")) return indented(lines, at, parent);
    return this.paragraph(lines, at, parent, depth);
  }

  code(lines, at, [, fence, language], parent) {
    const closes = (line) => line.trim().length >= fence.length && isOnly(line.trim(), fence[0]);
    let end = at + 1;
    while (end < lines.length && !closes(lines[end])) end += 1;
    return put(parent, codeBlock(lines.slice(at + 1, end).join("\n"), language), end + 1);
  }

  heading(line, at, parent) {
    const marks = HEADING.exec(line)[1].length;
    // A level that the heading before does not lead to would be a gap for who reads by headings.
    this.level = Math.min(this.above + marks, this.level + 1, 6);
    const words = line.trim().slice(marks).trim();
    return put(parent, el(`h${this.level}`, {}, this.inline(withoutClosingMarks(words))), at + 1);
  }

  table(lines, at, parent) {
    const sides = cells(lines[at + 1]).map(side);
    const row = (tag, line) => {
      const found = cells(line);
      return el(
        "tr",
        {},
        found.map((words, column) => this.cell(tag, words, sides[column])),
      );
    };
    let end = at + 2;
    const body = el("tbody", {});
    while (end < lines.length && lines[end].includes("|") && lines[end].trim()) body.append(row("td", lines[end++]));
    const table = el("table", {}, el("thead", {}, row("th", lines[at])), body);
    return put(
      parent,
      el("div", { class: "scrolling", tabindex: "0", role: "group", "aria-label": "Table" }, table),
      end,
    );
  }

  cell(tag, words, at) {
    return el(tag, { ...(tag === "th" && words && { scope: "col" }), ...(at && { class: at }) }, this.inline(words));
  }

  quote(lines, at, parent, depth) {
    let end = at;
    while (end < lines.length && QUOTE.test(lines[end])) end += 1;
    const quote = el("blockquote", {});
    this.blocks(
      lines.slice(at, end).map((line) => line.replace(QUOTE, "")),
      quote,
      depth + 1,
    );
    return put(parent, quote, end);
  }

  list(lines, at, parent, depth) {
    const [, , mark] = ITEM.exec(lines[at]);
    const ordered = /\d/.test(mark);
    const first = Number.parseInt(mark, 10);
    const list = el(ordered ? "ol" : "ul", ordered && first !== 1 ? { start: String(first) } : {});
    let next = at;
    while (next < lines.length && isItem(lines[next], ordered)) next = this.item(lines, next, list, depth);
    return put(parent, list, next);
  }

  item(lines, at, list, depth) {
    const marker = ITEM.exec(lines[at])[0];
    const own = [lines[at].slice(marker.length)];
    const inner = marker.trimEnd().length + 1;
    let end = at + 1;
    while (end < lines.length) {
      const next = afterBlanks(lines, end);
      const belongs =
        next < lines.length && (indent(lines[next]) >= inner || (next === end && !interrupts(lines[end])));
      if (!belongs) break;
      if (next > end) own.push("");
      own.push(lines[next].slice(Math.min(indent(lines[next]), marker.length)));
      end = next + 1;
    }
    const item = el("li", {});
    this.blocks(own, item, depth + 1);
    // Without a blank line in it an item is no row of paragraphs.
    if (!own.includes("")) for (const words of item.querySelectorAll(":scope > p")) unwrap(words);
    return put(list, item, afterBlanks(lines, end));
  }

  paragraph(lines, at, parent, depth) {
    let end = at + 1;
    while (end < lines.length && lines[end].trim() && !(depth < DEEPEST && interrupts(lines[end]))) end += 1;
    const words = lines
      .slice(at, end)
      .map((line) => line.trim())
      .join("\n");
    return put(parent, el("p", {}, this.inline(words)), end);
  }

  inline(words) {
    return inline(words, this.link);
  }
}

/** An element's children in its place. */
function unwrap(element) {
  while (element.firstChild) element.before(element.firstChild);
  element.remove();
}

function put(parent, element, next) {
  parent.append(element);
  return next;
}

function codeBlock(text, language = "") {
  return el("pre", { tabindex: "0", dataset: { language: language.trim() } }, el("code", {}, text));
}

function indented(lines, at, parent) {
  let end = at;
  while (end < lines.length && /^( {4}|\t)/.test(lines[end])) end += 1;
  return put(
    parent,
    codeBlock(
      lines
        .slice(at, end)
        .map((line) => line.replace(/^( {4}|\t)/, ""))
        .join("\n"),
    ),
    end,
  );
}

/** Whether a line ends the paragraph before it. */
function interrupts(line) {
  return HEADING.test(line) || FENCE.test(line) || QUOTE.test(line) || ITEM.test(line) || isRule(line);
}

function isRule(line) {
  const marks = line.replaceAll(/[ \t]/g, "");
  return marks.length >= 3 && "-*_".includes(marks[0]) && isOnly(marks, marks[0]);
}

function isOnly(words, mark) {
  for (const each of words) if (each !== mark) return false;
  return true;
}

function isItem(line, ordered) {
  const found = ITEM.exec(line);
  return found !== null && !isRule(line) && /\d/.test(found[2]) === ordered;
}

function afterBlanks(lines, at) {
  let next = at;
  while (next < lines.length && !lines[next].trim()) next += 1;
  return next;
}

function indent(line) {
  return line.length - line.trimStart().length;
}

function isTable(lines, at) {
  if (!lines[at].includes("|") || !lines[at + 1]?.includes("-")) return false;
  const marks = cells(lines[at + 1]);
  const fits = marks.length <= MOST_COLUMNS && marks.length === cells(lines[at]).length;
  return fits && marks.every((mark) => side(mark) !== null);
}

/** The cells of a row of a table; `\|` is no border. */
function cells(line) {
  const found = [""];
  for (let at = 0; at < line.length; at += 1) {
    if (line[at] === "\\" && line[at + 1] === "|") found[found.length - 1] += line[++at];
    else if (line[at] === "|") found.push("");
    else found[found.length - 1] += line[at];
  }
  const trimmed = found.map((cell) => cell.trim());
  if (trimmed.length > 1 && !trimmed[0]) trimmed.shift();
  if (trimmed.length > 1 && !trimmed.at(-1)) trimmed.pop();
  return trimmed;
}

/** Which side a column is set to by its mark; "" for none, null where it is no mark. */
function side(mark) {
  if (!/^:?-+:?$/.test(mark)) return null;
  if (!mark.endsWith(":")) return "";
  return mark.startsWith(":") ? "centred" : "number";
}

function withoutClosingMarks(words) {
  let end = words.length;
  while (end > 0 && words[end - 1] === "#") end -= 1;
  return end === 0 || words[end - 1] === " " ? words.slice(0, end).trim() : words;
}
