/** Values as people read them. Each takes anything and gives "" for what it cannot read. */

const LOCALE = "en-US";

function finite(value) {
  const read = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof read === "number" && Number.isFinite(read) ? read : null;
}

/** 24287 → "24,287"; at most `decimals` places. */
export function number(value, decimals = 0) {
  const read = finite(value);
  return read === null ? "" : read.toLocaleString(LOCALE, { maximumFractionDigits: decimals });
}

/** 0.83 → "83 %". */
export function percent(value, decimals = 0) {
  const read = finite(value);
  return read === null ? "" : `${number(read * 100, decimals)} %`;
}

/** What a model costs: four decimals under a cent, else two. 0.0041 → "$0.0041", 12.3 → "$12.30". */
export function cost(value) {
  const read = finite(value);
  if (read === null) {
    return "";
  }
  const decimals = read !== 0 && Math.abs(read) < 0.01 ? 4 : 2;
  return money(read, decimals);
}

/** A price in US dollars, without cents unless `decimals` says so. 1250000 → "$1,250,000". */
export function money(value, decimals = 0) {
  const read = finite(value);
  if (read === null) {
    return "";
  }
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return read.toLocaleString(LOCALE, { style: "currency", currency: "USD", ...digits });
}

/** Milliseconds: 340 → "340 ms", 1840 → "1.8 s", 75000 → "1 min 15 s". */
export function ms(value) {
  const read = finite(value);
  if (read === null || read < 0) {
    return "";
  }
  if (read < 1000) {
    return `${number(read)} ms`;
  }
  if (read < 60_000) {
    return `${number(read / 1000, 1)} s`;
  }
  const seconds = Math.round(read / 1000);
  return joined([`${Math.floor(seconds / 60)} min`, seconds % 60 ? `${seconds % 60} s` : ""]);
}

/** 2048 → "2 KB". */
export function bytes(value) {
  const read = finite(value);
  if (read === null || read < 0) {
    return "";
  }
  const units = ["bytes", "KB", "MB", "GB", "TB"];
  const step = Math.min(units.length - 1, read < 1 ? 0 : Math.floor(Math.log2(read) / 10));
  return step === 0 ? plural(read, "byte") : `${number(read / 1024 ** step, step > 1 ? 1 : 0)} ${units[step]}`;
}

/** plural(1, "result") → "1 result"; plural(0, "match", "matches") → "0 matches". */
export function plural(count, one, many = `${one}s`) {
  return `${number(count)} ${Number(count) === 1 ? one : many}`;
}

const DURATION =
  /^P(?:(\d+(?:\.\d+)?)W)?(?:(\d+(?:\.\d+)?)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;

/** An ISO 8601 duration in minutes: "PT1H15M" → 75, "P1DT2H" → 1560. null for what is none, or is nothing. */
export function durationMinutes(value) {
  const found = typeof value === "string" ? DURATION.exec(value.trim()) : null;
  if (!found) {
    return null;
  }
  const [weeks, days, hours, minutes, seconds] = found.slice(1).map((part) => Number(part ?? 0));
  const all = weeks * 10_080 + days * 1440 + hours * 60 + minutes + seconds / 60;
  return all > 0 && all < 1e9 ? all : null;
}

/** The same in words: "PT75M" → "1 hr 15 min", "P1D" → "1 day". Under a minute, and for what is none: "". */
export function duration(value) {
  const minutes = Math.floor((durationMinutes(value) ?? 0) + 1e-9);
  const days = Math.floor(minutes / 1440);
  const hours = Math.floor((minutes % 1440) / 60);
  const rest = minutes % 60;
  return joined([days && plural(days, "day"), hours && `${hours} hr`, rest && `${rest} min`]);
}

function joined(parts) {
  return parts.filter(Boolean).join(" ");
}

function dateOf(value) {
  const date = value instanceof Date ? value : new Date(typeof value === "number" || typeof value === "string" ? value : NaN);
  return Number.isNaN(date.getTime()) ? null : date;
}

/** A day: "2026-10-09" → "Oct 9, 2026". A date without a time is that day everywhere. */
export function day(value) {
  const date = dateOf(value);
  if (!date) {
    return "";
  }
  const zone = typeof value === "string" && /^\d{4}-\d{2}-\d{2}$/.test(value.trim()) ? { timeZone: "UTC" } : {};
  return date.toLocaleDateString(LOCALE, { year: "numeric", month: "short", day: "numeric", ...zone });
}

/** A moment: "Oct 9, 2026, 15:42". */
export function moment(value) {
  const date = dateOf(value);
  return date ? `${day(date)}, ${clock(date)}` : "";
}

/** How long ago, as a list of conversations says it: "14:05", "Yesterday", "3 days ago", then "Oct 4". */
export function ago(value, now = new Date()) {
  const date = dateOf(value);
  if (!date) {
    return "";
  }
  const midnight = (of) => new Date(of.getFullYear(), of.getMonth(), of.getDate()).getTime();
  const days = Math.round((midnight(now) - midnight(date)) / 86_400_000);
  if (days <= 0) {
    return clock(date);
  }
  if (days === 1) {
    return "Yesterday";
  }
  if (days < 7) {
    return `${days} days ago`;
  }
  const year = date.getFullYear() === now.getFullYear() ? {} : { year: "numeric" };
  return date.toLocaleDateString(LOCALE, { month: "short", day: "numeric", ...year });
}

// Made once: a list of 500 conversations spent 0.4 s on making one for each.
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });

function clock(date) {
  return CLOCK.format(date);
}

/** Text cut at a word where it is longer than `most`, with an ellipsis. */
export function clip(text, most) {
  if (typeof text !== "string" || text.length <= most) {
    return typeof text === "string" ? text : "";
  }
  const cut = text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "");
  const space = cut.lastIndexOf(" ");
  return `${cut.slice(0, space > most * 0.6 ? space : cut.length).trimEnd()}…`;
}
