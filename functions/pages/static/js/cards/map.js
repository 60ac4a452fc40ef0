/**
 * A sketch of where results are: points by latitude and longitude on a plain grid, numbered as the cards. It asks
 * nobody for tiles, so it works without a network and tells nobody what was looked for.
 */

import { el, svg } from "../dom.js";
import { clip, number as figure } from "../format.js";
import { recordOf } from "./kinds.js";
import { scaleBar, graticule, viewOf } from "./projection.js";
import { spread } from "./spread.js";
import { place, text } from "./values.js";

const WIDTH = 640;
const HEIGHT = 280;
const RADIUS = 11;
const LABEL_WIDTH = 60; // of a degree at most: nearer to the edge it would be cut
const MOST_POINTS = 200;
const LABEL_LENGTH = 80;

/**
 * A `<figure>` for the items that say where they are, each with its number in the list (from 1); null where fewer than
 * two places differ. With `onPick(index)` each point is a button that calls it with the item's index.
 */
export function mapSketch(items, { onPick = null } = {}) {
  const points = placed(items);
  if (new Set(points.map((point) => `${point.latitude},${point.longitude}`)).size < 2) {
    return null;
  }
  const view = viewOf(points, WIDTH, HEIGHT);
  const pins = points.map((point) => ({ ...point, ...view.project(point) }));
  const apart = spread(pins, { radius: RADIUS, width: WIDTH, height: HEIGHT });
  const missing = items.length - points.length;
  return el(
    "figure",
    { class: "map-sketch" },
    svg(
      "svg",
      { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: onPick ? "group" : "img", "aria-label": spoken(points) },
      gridLines(view),
      apart.map((pin) => leader(pin)),
      apart.map((pin) => marker(pin, onPick)),
      bar(view),
    ),
    el("figcaption", { class: "small muted" }, caption(missing)),
  );
}

function placed(items) {
  const points = items.slice(0, MOST_POINTS).map((item, index) => {
    const record = recordOf(item);
    const point = place(record);
    return point && { ...point, index, name: clip(text(item.name) || text(record.name), LABEL_LENGTH) };
  });
  return points.filter(Boolean);
}

function spoken(points) {
  const all = points.map((point) => `${point.index + 1} ${point.name}`).join(", ");
  return `Map sketch of ${points.length} results: ${clip(all, 600)}`;
}

function caption(missing) {
  const left = missing > 0 ? ` ${missing === 1 ? "One does not say" : `${missing} do not say`} where.` : "";
  return `Numbers as on the cards, north is up.${left}`;
}

function gridLines(view) {
  return graticule(view).map(({ x, y, label }) => {
    const isMeridian = x !== undefined;
    const ends = isMeridian ? { x1: x, x2: x, y1: 0, y2: HEIGHT } : { x1: 0, x2: WIDTH, y1: y, y2: y };
    const at = isMeridian ? { x: x + 4, y: 12 } : { x: 4, y: y - 4 };
    const line = svg("line", { ...ends, class: "map-grid" });
    return [line, (x ?? 0) < WIDTH - LABEL_WIDTH && svg("text", { ...at, class: "map-degrees" }, label)];
  });
}

/** From where a number stands to the place that it means, where it had to make room. */
function leader({ x, y, shownX, shownY }) {
  const dot = svg("circle", { cx: x, cy: y, r: 3, class: "map-dot" });
  return [svg("line", { x1: x, y1: y, x2: shownX, y2: shownY, class: "map-leader" }), dot];
}

function marker(pin, onPick) {
  const numeral = `${pin.index + 1}`;
  const drawn = [
    svg("circle", { cx: pin.shownX, cy: pin.shownY, r: RADIUS, class: "map-pin" }),
    svg("text", { x: pin.shownX, y: pin.shownY, dy: "0.35em", class: "map-number" }, numeral),
    svg("title", {}, `${numeral}: ${pin.name}`),
  ];
  if (!onPick) {
    return svg("g", {}, drawn);
  }
  const pick = () => onPick(pin.index);
  const attributes = { role: "button", tabindex: "0", "aria-label": `${numeral}: ${pin.name}`, class: "map-button" };
  return svg("g", { ...attributes, onclick: pick, onkeydown: (event) => pressed(event, pick) }, drawn);
}

function pressed(event, pick) {
  if (event.key === "Enter" || event.key === " ") {
    event.preventDefault();
    pick();
  }
}

function bar(view) {
  const { km, width } = scaleBar(view, WIDTH / 4);
  const x = WIDTH - width - 14;
  const y = HEIGHT - 14;
  const label = km < 1 ? `${figure(km * 1000)} m` : `${figure(km)} km`;
  const path = `M${x} ${y - 5}v5h${width}v-5`;
  return [
    svg("path", { d: path, class: "map-scale" }),
    svg("text", { x: x + width / 2, y: y - 8, class: "map-scale-text" }, label),
  ];
}
