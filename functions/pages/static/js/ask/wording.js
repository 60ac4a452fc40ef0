// A question without one of its conditions.

const LOOSE_ENDS = /^(?:[\s,;]|(?:and|but|or|with|for|in|of)\s)+|(?:[\s,;]|\s(?:and|but|or|with|for|in|of))+$/giu;

/** The question without these words; null where it does not have them, "" where it has no others. */
export function without(question, words) {
  const parts = String(words ?? "").trim().split(/\s+/).filter(Boolean);
  if (!parts.length) {
    return null;
  }
  const phrase = parts.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("\\s+");
  const found = new RegExp(`(?<![\\p{L}\\p{N}])${phrase}(?![\\p{L}\\p{N}])`, "iu");
  return found.test(question) ? tidy(question.replace(found, " ")) : null;
}

const tidy = (text) =>
  text
    .replace(/\s+/g, " ")
    .replace(/\s+([,;.?!])/g, "$1")
    .replace(/([,;])(?:\s*[,;])+/g, "$1")
    .replace(/\b(with|for|in|of)\s+(?:and|but|or)\b/gi, "$1")
    .replace(/\b(?:and|but|or)\s+(?=(?:and|but|or|with|for|in|of)\b)/gi, "")
    .replace(LOOSE_ENDS, "")
    .trim();
