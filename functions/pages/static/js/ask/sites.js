// The five sites: what they are called, and where each is asked.

import { siteUrl } from "../api.js";

export const SITES = {
  recipes: { label: "Recipes", placeholder: "A vegetarian dinner under 40 minutes" },
  movies: { label: "Movies", placeholder: "A heist film from the 1970s" },
  reviews: { label: "Product reviews", placeholder: "A quiet keyboard for an open office" },
  trails: { label: "Trails", placeholder: "An easy loop where my dog may come along" },
  homes: { label: "Bay Area homes", placeholder: "Four bedrooms under $1.5M with a garden" },
};

/** The kind that an address asks for: its last path segment, or "" where that is no site. */
export function kindOf(pathname) {
  const last = pathname.replace(/\/index\.html$/, "").split("/").filter(Boolean).pop() ?? "";
  return Object.hasOwn(SITES, last) ? last : "";
}

/**
 * Where a site is asked, and where its health is.
 *
 * `?ask=` in the page's address wins, then config.js, then this very host; the policy of the page lets it speak
 * to no host that config.js does not name.
 */
export function endpoints(kind, address) {
  const given = address.searchParams.get("ask");
  const ask = (given && webUrl(given, address)) || new URL(siteUrl(kind, "/ask"), address).href;
  const health = new URL(ask);
  health.pathname = health.pathname.replace(/\/ask\/?$/, "/health");
  return { ask, health: health.href };
}

function webUrl(text, base) {
  try {
    const url = new URL(text, base);
    return /^https?:$/.test(url.protocol) ? url.href : "";
  } catch {
    return "";
  }
}

/** The folder of another site's page, relative to this one, with a conversation to open there. */
export const threadAddress = (kind, id) => `../${kind}/#thread=${encodeURIComponent(id)}`;
