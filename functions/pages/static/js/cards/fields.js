/** What the columns are called that a question's conditions are about, as people say it. */

const NAMES = {
  area_sqft: "floor area",
  baths: "bathrooms",
  beds: "bedrooms",
  content_rating: "content rating",
  cook_minutes: "time to cook",
  day: "date",
  diets: "diet",
  dogs: "dogs",
  hoa_fee: "HOA fee",
  hours: "time",
  hours_most: "time",
  length_km: "length",
  lot_acres: "lot",
  minutes: "time",
  postal_code: "postal code",
  prep_minutes: "time to prepare",
  price_max: "price",
  price_min: "price",
};

/** "length" of `length_km`; a column without a name of its own goes by its word. */
export function fieldName(field) {
  return Object.hasOwn(NAMES, field) ? NAMES[field] : field.replaceAll("_", " ");
}
