/** Homes: price, rooms, sizes and year; what it is and whether it is sold; schools, heating, fees and features. */

import { details, foldedList, mapLink } from "./parts.js";
import { area, costNumber, grouped, money, squareFeet, year } from "./quantities.js";
import { at, each, isObject, number, place, text, texts } from "./values.js";

const SCHOOLS = 3;
function counted(value, unit) {
  const count = number(value);
  return count === null || count < 0 ? "" : `${grouped(count)} ${unit}`;
}

function rooms(record) {
  return counted(record.numberOfBedrooms, "bd") || counted(record.numberOfRooms, "rooms");
}

/** "$1,495,000": the record's own price, else that of its first offer. */
export function price(record) {
  const own = money(record.price, record.priceCurrency);
  return own || money(at(record, "offers", "price"), at(record, "offers", "priceCurrency"));
}

function priceNumber(record) {
  return costNumber(record.price) ?? costNumber(at(record, "offers", "price"));
}

function facts(record) {
  return [
    rooms(record),
    counted(record.numberOfBathroomsTotal ?? record.numberOfBathrooms, "ba"),
    area(record.floorSize),
    { label: "Lot", text: area(record.lotSize, { isLot: true }) },
    { label: "Built", text: year(record.yearBuilt) },
  ];
}

function kind(record) {
  const isHouse = texts(record["@type"]).includes("SingleFamilyResidence");
  return text(record.propertyType) || (isHouse ? "Single family" : "");
}

function parking(record) {
  const named = at(record, "parking", "name");
  const spaces = number(at(record, "parking", "numberOfSpaces"));
  return text(named) || (spaces ? `${grouped(spaces)}-car parking` : "");
}

/** Features, amenities and appliances that the home has, in the record's order; those it is said to lack are left out. */
export function features(record) {
  const lists = [record.features, record.amenities, record.appliances, record.amenityFeature];
  const all = lists.flatMap((list) => each(list)).filter((one) => !(isObject(one) && one.value === false));
  return texts(all);
}

function unlessNone(value) {
  return texts(value)
    .filter((one) => one.toLowerCase() !== "none")
    .join(", ");
}

function climate(record) {
  const pairs = [unlessNone(record.heating), unlessNone(record.cooling)];
  return [...new Set(pairs.filter(Boolean))].join(" / ");
}

function body(record) {
  const has = features(record);
  const schools = [text(record.schoolDistrict), ...texts(record.schools).slice(0, SCHOOLS)];
  return [
    details([
      ["Schools", schools.filter(Boolean).join(" · ")],
      ["Heating / cooling", climate(record)],
      ["HOA", money(record.hoaFee)],
    ]),
    foldedList(`Features (${has.length})`, has),
  ];
}

export const home = {
  name: "home",
  types: ["SingleFamilyResidence", "House", "RealEstateListing", "Apartment", "Residence"],
  parts(record, name) {
    const parts = ["streetAddress", "addressLocality", "addressRegion"].map((key) => text(at(record, "address", key)));
    return {
      byline: [parts[0], text(record.containedInPlace), parts[1], parts[2]].filter(Boolean).join(", "),
      price: price(record),
      facts: facts(record),
      chips: [kind(record), text(record.listingStatus), parking(record)],
      body: body(record),
      link: mapLink(place(record), name),
    };
  },
  sorts: [
    { id: "cheapest", label: "Cheapest first", of: priceNumber },
    { id: "dearest", label: "Most expensive first", of: priceNumber, isDescending: true },
    { id: "largest", label: "Largest first", of: (record) => squareFeet(record.floorSize), isDescending: true },
    { id: "land", label: "Most land", of: (record) => squareFeet(record.lotSize, { isLot: true }), isDescending: true },
    { id: "beds", label: "Most bedrooms", of: (record) => number(record.numberOfBedrooms), isDescending: true },
    { id: "newest", label: "Newest first", of: (record) => number(year(record.yearBuilt)), isDescending: true },
  ],
};
