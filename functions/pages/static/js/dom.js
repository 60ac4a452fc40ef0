/**
 * Making elements. Nothing here, and nothing that uses it, ever reads a string as markup: text goes in as text,
 * and an address only where it is http or https (or lies beside the page), so that a record can say what it likes.
 */

const SVG = "http://www.w3.org/2000/svg";
const ADDRESSES = new Set(["href", "src", "action", "formaction", "poster", "data", "xlink:href"]);
const FORBIDDEN = new Set(["style", "srcdoc", "innerhtml", "outerhtml"]);

/**
 * An element with attributes and children.
 *
 * Attributes: `class`, `dataset` (an object), a function under `onclick`, `oninput` … (added as a listener), a boolean
 * (present or absent), null or undefined (absent), anything else as text. `href` and `src` are left out where
 * `linkUrl` refuses them. Children: nodes, text, numbers, lists of these; null, undefined and false are nothing.
 */
export function el(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for an element of SVG. */
export function svg(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    set(element, name, value);
  }
  append(element, children);
  return element;
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) {
    return;
  }
  const lower = name.toLowerCase();
  if (lower.startsWith("on")) {
    if (typeof value !== "function") {
      throw new TypeError(`${name} takes a function`);
    }
    element.addEventListener(lower.slice(2), value);
  } else if (FORBIDDEN.has(lower)) {
    throw new TypeError(`${name} is not set here`);
  } else if (name === "dataset") {
    Object.assign(element.dataset, value);
  } else if (ADDRESSES.has(lower)) {
    const address = linkUrl(value, attributesAllow(element));
    if (address) {
      element.setAttribute(name, address);
    }
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function attributesAllow(element) {
  return element.localName === "a" ? ["blob:"] : [];
}

/** Put children behind those that are there, as `el` takes them. */
export function append(parent, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) {
      parent.append(child instanceof Node ? child : String(child));
    }
  }
  return parent;
}

/** Take all children away. Returns the element. */
export function clear(element) {
  element.replaceChildren();
  return element;
}

/** An absolute http or https address as given by others, normalised, or "" for anything else. */
export function safeUrl(value) {
  if (typeof value !== "string") {
    return "";
  }
  try {
    const url = new URL(value.trim());
    return url.protocol === "https:" || url.protocol === "http:" ? url.href : "";
  } catch {
    return "";
  }
}

/** An address of our own: relative ones stay as they are, absolute ones must be http, https or of `more` schemes. */
export function linkUrl(value, more = []) {
  const text = String(value);
  try {
    const { protocol } = new URL(text, document.baseURI);
    return ["http:", "https:", ...more].includes(protocol) ? text : "";
  } catch {
    return "";
  }
}

/** A link to somewhere else, in a tab of its own; where the address is not http or https, its children alone. */
export function outerLink(address, attributes, ...children) {
  const href = safeUrl(address);
  if (!href) {
    return el("span", attributes, ...children);
  }
  return el("a", { ...attributes, href, target: "_blank", rel: "noopener noreferrer" }, ...children);
}

/** Text with its HTML entities decoded (`&amp;` → `&`). A textarea holds text alone, so no element ever comes of it. */
export function decodeEntities(text) {
  if (typeof text !== "string" || !text.includes("&")) {
    return typeof text === "string" ? text : "";
  }
  const box = document.createElement("textarea");
  box.innerHTML = text.replaceAll("<", "&lt;");
  return box.value;
}

/** Say something to those who listen, once, through the page's one polite live region. */
export function announce(text) {
  const region = document.getElementById("live") ?? liveRegion();
  region.textContent = "";
  // A region that gets the same words again is read again only if it was seen empty in between.
  requestAnimationFrame(() => {
    region.textContent = text;
  });
}

function liveRegion() {
  const region = el("div", { id: "live", role: "status", "aria-live": "polite", class: "visually-hidden" });
  document.body.append(region);
  return region;
}

/** Put text into the clipboard. Resolves to whether that worked. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByHand(text);
  }
}

/** Where the page is not in a secure context there is no clipboard but the one of a selection. */
function copiedByHand(text) {
  const box = el("textarea", { class: "visually-hidden", "aria-hidden": "true", tabindex: "-1" });
  const before = document.activeElement;
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  before?.focus?.();
  return done;
}

/** A button that copies what `text()` gives and says so. */
export function copyButton(label, text, attributes = {}) {
  const button = el("button", { type: "button", class: "button button-small", ...attributes }, label);
  button.addEventListener("click", async () => {
    const said = (await copyText(text())) ? "Copied" : "Could not copy";
    button.textContent = said;
    announce(said);
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}
