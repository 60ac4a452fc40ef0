/** Trails: rating, length, shape and time; how hard, and whether the dog may come; where it is on a map. */

import { details, mapLink } from "./parts.js";
import { rating } from "./quantities.js";
import { gradeRank, trailFacts } from "./trailwords.js";
import { at, place, text } from "./values.js";

const EXCERPT = 260;

function where(record) {
  const locality = text(at(record, "address", "addressLocality"));
  const region = text(at(record, "address", "addressRegion"));
  return [...new Set([locality, region].filter(Boolean))].join(", ");
}

function time(known) {
  return known.time
    ? { spoken: `About ${known.time}`, text: /^[~<>]/.test(known.time) ? known.time : `~${known.time}` }
    : "";
}

export const trail = {
  name: "trail",
  types: ["LocalBusiness", "TouristAttraction", "Trail"],
  parts(record, name) {
    const known = trailFacts(record);
    return {
      byline: where(record),
      facts: [rating(record, 5), known.length, known.shape, time(known)],
      chips: [known.difficulty, known.dogs, known.wheelchairs],
      excerpt: EXCERPT,
      body: [details(known.others)],
      link: mapLink(place(record), name),
    };
  },
  sorts: [
    { id: "shortest", label: "Shortest first", of: (record) => trailFacts(record).km },
    { id: "longest", label: "Longest first", of: (record) => trailFacts(record).km, isDescending: true },
    { id: "quickest", label: "Least time first", of: (record) => trailFacts(record).minutes },
    { id: "easiest", label: "Easiest first", of: (record) => gradeRank(trailFacts(record).difficulty) },
    { id: "rated", label: "Highest rated", of: (record) => rating(record, 5)?.value ?? null, isDescending: true },
  ],
};
