/** Latitudes and longitudes on a plain sheet: which part of the Earth it shows, its grid and its scale. */

const KM_A_DEGREE = 111.32;
const MARGIN = 0.12; // of the sheet on each side, so that no pin touches its edge
const LEAST_SPAN_DEGREES = 0.002; // some 200 m: below it a scale would pretend to more than records know
const STEPS = [1, 2, 5];

/**
 * The smallest view of a sheet that holds all points: `{project({latitude, longitude}) → {x, y}, unit, …}`. Degrees of
 * longitude are narrowed as they are at the middle latitude. Points around the date line stay together.
 */
export function viewOf(points, width, height) {
  const start = firstLongitude(points.map((point) => point.longitude));
  const eastOf = (longitude) => (((longitude - start) % 360) + 360) % 360;
  const latitudes = points.map((point) => point.latitude);
  const easts = points.map((point) => eastOf(point.longitude));
  const middle = { latitude: mean(latitudes), east: mean(easts) };
  const narrowing = Math.max(0.05, Math.cos((middle.latitude * Math.PI) / 180));
  const tall = Math.max(LEAST_SPAN_DEGREES, span(latitudes));
  const wide = Math.max(LEAST_SPAN_DEGREES, span(easts) * narrowing);
  const unit = Math.min((width * (1 - 2 * MARGIN)) / wide, (height * (1 - 2 * MARGIN)) / tall);
  return {
    width,
    height,
    unit, // pixels of a degree of latitude
    narrowing,
    start,
    middle,
    project: ({ latitude, longitude }) => ({
      x: width / 2 + (eastOf(longitude) - middle.east) * narrowing * unit,
      y: height / 2 - (latitude - middle.latitude) * unit,
    }),
  };
}

function mean(values) {
  return (Math.min(...values) + Math.max(...values)) / 2;
}

function span(values) {
  return Math.max(...values) - Math.min(...values);
}

/** The longitude behind the widest gap, going east: from there on all points lie closest together. */
function firstLongitude(longitudes) {
  const sorted = [...new Set(longitudes)].sort((one, other) => one - other);
  const gaps = sorted.map((longitude, index) => {
    const before = index > 0 ? sorted[index - 1] : sorted.at(-1) - 360;
    return longitude - before;
  });
  return sorted[gaps.indexOf(Math.max(...gaps))];
}

/** The largest of 1, 2, 5, 10, 20 … times any power of ten that is at most `most`. */
export function roundBelow(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return Math.max(...STEPS.map((step) => step * power).filter((value) => value <= most * (1 + 1e-9)), power);
}

/** A bar of a round number of kilometres, at most `most` wide: `{km, width}`. */
export function scaleBar(view, most) {
  const km = roundBelow((most / view.unit) * KM_A_DEGREE);
  return { km, width: (km / KM_A_DEGREE) * view.unit };
}

/** The grid: `{x, label}` of each meridian and `{y, label}` of each parallel on the sheet, three to eight of each. */
export function graticule(view) {
  const across = view.width / (view.unit * view.narrowing);
  const down = view.height / view.unit;
  return [
    ...lines(view.start + view.middle.east, across).map((longitude) => ({
      x: view.width / 2 + (longitude - view.start - view.middle.east) * view.narrowing * view.unit,
      label: degrees(around(longitude), "E", "W"),
    })),
    ...lines(view.middle.latitude, down)
      .filter((latitude) => Math.abs(latitude) <= 90)
      .map((latitude) => ({
        y: view.height / 2 - (latitude - view.middle.latitude) * view.unit,
        label: degrees(latitude, "N", "S"),
      })),
  ];
}

function lines(middle, across) {
  const step = roundBelow(across / 3);
  const first = Math.ceil((middle - across / 2) / step);
  const last = Math.floor((middle + across / 2) / step);
  return Array.from({ length: Math.min(12, last - first + 1) }, (_, index) => (first + index) * step);
}

function around(longitude) {
  return ((((longitude + 180) % 360) + 360) % 360) - 180;
}

function degrees(value, positive, negative) {
  const size = Number(Math.abs(value).toFixed(4));
  return size === 0 ? "0°" : `${size}° ${value > 0 ? positive : negative}`;
}
