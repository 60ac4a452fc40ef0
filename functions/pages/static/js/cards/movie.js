/** Movies and series: year, length, content rating and rating of 10; genres; who made it and who is in it. */

import { details } from "./parts.js";
import { duration, minutes, rating, year } from "./quantities.js";
import { number, terms, text, texts } from "./values.js";

const ACTORS = 5;
const EXCERPT = 280;

export const movie = {
  name: "movie",
  types: ["Movie", "TVSeries", "TVEpisode"],
  parts(record) {
    const directors = texts(record.director);
    return {
      facts: [
        year(record.datePublished),
        duration(record.duration) || duration(record.timeRequired),
        text(record.contentRating),
        rating(record, 10),
      ],
      chips: terms(record.genre),
      excerpt: EXCERPT,
      body: [
        details([
          [directors.length > 1 ? "Directors" : "Director", directors.join(", ")],
          ["Starring", texts(record.actor).slice(0, ACTORS).join(", ")],
        ]),
      ],
    };
  },
  sorts: [
    { id: "newest", label: "Newest first", of: (record) => number(year(record.datePublished)), isDescending: true },
    { id: "oldest", label: "Oldest first", of: (record) => number(year(record.datePublished)) },
    { id: "rated", label: "Highest rated", of: (record) => rating(record, 10)?.value ?? null, isDescending: true },
    {
      id: "shortest",
      label: "Shortest first",
      of: (record) => minutes(record.duration) ?? minutes(record.timeRequired),
    },
  ],
};
