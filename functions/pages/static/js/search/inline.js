// The words within a block of Markdown: code, emphasis, links. Every search forward that failed is remembered, so that
// a text of ten thousand opening marks is passed once and not ten thousand times.
import { el } from "../dom.js";

const DEEPEST = 4;
const LONGEST_TARGET = 2_000;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const ADDRESS = /https?:\/\/[^\s<>"'`]+/y;
const WORD = /[\p{L}\p{N}_]/u;

/** Elements and texts; `link` says where a target leads: an address, or "" for nowhere. */
export function inline(words, link, depth = 0) {
  return new Scan(words, link, depth).run();
}

class Scan {
  constructor(words, link, depth) {
    this.words = words;
    this.link = link;
    this.depth = depth;
    this.found = [];
    this.plain = "";
    this.failed = new Set();
    this.ticks = runsOfTicks(words);
    this.brackets = matchingBrackets(words);
  }

  run() {
    for (let at = 0; at < this.words.length;) at = this.step(at);
    this.flush();
    return this.found;
  }

  step(at) {
    const mark = this.words[at];
    if (mark === "\\") return this.escaped(at);
    if (mark === "`") return this.code(at);
    if (this.depth < DEEPEST) {
      if (mark === "[" || (mark === "!" && this.words[at + 1] === "[")) return this.labelled(at);
      if (mark === "*" || mark === "_") return this.emphasis(at, mark);
    }
    if (mark === "<") return this.bracketed(at);
    if (mark === "h") return this.address(at);
    return this.say(mark, at + 1);
  }

  say(text, next) {
    this.plain += text;
    return next;
  }

  put(element, next) {
    this.flush();
    this.found.push(element);
    return next;
  }

  flush() {
    if (this.plain) this.found.push(this.plain);
    this.plain = "";
  }

  escaped(at) {
    const next = this.words[at + 1];
    return next !== undefined && ESCAPABLE.test(next) ? this.say(next, at + 2) : this.say("\\", at + 1);
  }

  code(at) {
    const length = runLength(this.words, at, "`");
    const end = this.ticks.closing(at, length);
    if (end < 0) return this.say("`".repeat(length), at + length);
    const inside = this.words.slice(at + length, end).replaceAll("\n", " ");
    const padded = inside.startsWith(" ") && inside.endsWith(" ") && inside.trim();
    return this.put(el("code", {}, padded ? inside.slice(1, -1) : inside), end + length);
  }

  /** `[label](target)`, or an image, which is a link to it: a page asks nothing of another host by itself. */
  labelled(at) {
    const opening = this.words[at] === "!" ? at + 1 : at;
    const closing = this.brackets.get(opening);
    const target = closing === undefined ? null : this.target(closing + 1);
    if (!target) return this.say(this.words.slice(at, opening + 1), opening + 1);
    const label = inline(this.words.slice(opening + 1, closing), () => "", this.depth + 1);
    return this.anchor(at, label, target);
  }

  /** A link; where its target leads nowhere, the words as they were written. */
  anchor(at, label, { address, title = "", next }) {
    const href = this.link(address);
    if (!href) return this.say(this.words.slice(at, next), next);
    const away = /^https?:/i.test(href) ? { rel: "noopener noreferrer" } : {};
    return this.put(el("a", { href, title: title || null, ...away }, label.length ? label : address), next);
  }

  target(at) {
    if (this.words[at] !== "(") return null;
    const most = Math.min(this.words.length, at + LONGEST_TARGET);
    let open = 0;
    for (let end = at; end < most; end += 1) {
      if (this.words[end] === "(") open += 1;
      else if (this.words[end] === ")") open -= 1;
      if (open === 0) return { ...targetOf(this.words.slice(at + 1, end)), next: end + 1 };
    }
    return null;
  }

  emphasis(at, mark) {
    const marks = this.words[at + 1] === mark ? mark + mark : mark;
    const end = this.opens(at, marks) ? this.closing(at + marks.length, marks) : -1;
    if (end < 0) return this.say(marks, at + marks.length);
    const inside = this.words.slice(at + marks.length, end);
    const children = inline(inside, this.link, this.depth + 1);
    return this.put(el(marks.length === 2 ? "strong" : "em", {}, children), end + marks.length);
  }

  opens(at, marks) {
    const next = this.words[at + marks.length];
    if (next === undefined || /\s/.test(next)) return false;
    return marks[0] === "*" || at === 0 || !WORD.test(this.words[at - 1]);
  }

  closing(from, marks) {
    if (this.failed.has(marks)) return -1;
    for (let at = from + 1; at < this.words.length; at += 1) {
      const here = this.words[at];
      if (here === "\\") at += 1;
      else if (here === "`") at = this.ticks.after(at, runLength(this.words, at, "`")) - 1;
      else if (here === marks[0] && this.closes(at, marks)) return at;
      else if (here === marks[0]) at += runLength(this.words, at, here) - 1;
    }
    this.failed.add(marks);
    return -1;
  }

  closes(at, marks) {
    const length = runLength(this.words, at, marks[0]);
    if (length < marks.length || (marks.length === 1 && length === 2) || /\s/.test(this.words[at - 1])) return false;
    const after = this.words[at + length];
    return marks[0] === "*" || after === undefined || !WORD.test(after);
  }

  bracketed(at) {
    const inside = /<(https?:\/\/[^\s<>]{1,2000})>/y;
    inside.lastIndex = at;
    const found = inside.exec(this.words);
    return found ? this.anchor(at, found[1], { address: found[1], next: at + found[0].length }) : this.say("<", at + 1);
  }

  address(at) {
    ADDRESS.lastIndex = at;
    const free = at === 0 || !WORD.test(this.words[at - 1]);
    const found = free ? ADDRESS.exec(this.words) : null;
    if (!found) return this.say("h", at + 1);
    const address = withoutPunctuation(found[0]);
    return this.anchor(at, address, { address, next: at + address.length });
  }
}

function runLength(words, at, mark) {
  let end = at;
  while (words[end] === mark) end += 1;
  return end - at;
}

/** Where runs of backticks of each length stand; asked from left to right. */
function runsOfTicks(words) {
  const starts = new Map();
  for (const run of words.matchAll(/`+/g)) {
    const length = run[0].length;
    if (!starts.has(length)) starts.set(length, []);
    starts.get(length).push(run.index);
  }
  const closing = (at, length) => {
    const places = starts.get(length) ?? [];
    return places[firstAfter(places, at)] ?? -1;
  };
  const after = (at, length) => {
    const end = closing(at, length);
    return end < 0 ? at + length : end + length;
  };
  return { closing, after };
}

function firstAfter(places, at) {
  let low = 0;
  for (let high = places.length; low < high;) {
    const middle = (low + high) >> 1;
    if (places[middle] > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

function matchingBrackets(words) {
  const open = [];
  const pairs = new Map();
  for (let at = 0; at < words.length; at += 1) {
    if (words[at] === "\\") at += 1;
    else if (words[at] === "[") open.push(at);
    else if (words[at] === "]" && open.length) pairs.set(open.pop(), at);
  }
  return pairs;
}

/** The parts of `<address> "title"`. */
function targetOf(words) {
  const [address = ""] = words.trim().split(/\s/, 1);
  const title = words.trim().slice(address.length).trim();
  const bare = address.startsWith("<") && address.endsWith(">") ? address.slice(1, -1) : address;
  return { address: bare, title: /^(["']).*\1$/s.test(title) ? title.slice(1, -1) : title };
}

function withoutPunctuation(address) {
  let end = address.length;
  while (end > 0 && ".,;:!?)]}*_".includes(address[end - 1])) end -= 1;
  const cut = address.slice(0, end);
  // "…/Life_(unit)" keeps the bracket that it opened.
  return address[end] === ")" && cut.includes("(") && !cut.includes(")") ? address.slice(0, end + 1) : cut;
}
