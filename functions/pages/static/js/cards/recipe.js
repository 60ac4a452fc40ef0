/** Recipes: rating, times, servings and calories; cuisine, category and diets; the ingredients in a fold. */

import { foldedList } from "./parts.js";
import { calories, duration, minutes, rating, servings } from "./quantities.js";
import { at, number, terms, text, texts } from "./values.js";

const KEYWORDS = 4;

function facts(record) {
  return [
    rating(record, 5),
    { label: "Total", text: duration(record.totalTime) || duration(record.totalTimeText) },
    { label: "Prep", text: duration(record.prepTime) },
    { label: "Cook", text: duration(record.cookTime) },
    servings(record.recipeYield),
    calories(at(record, "nutrition", "calories")),
  ];
}

/** "Vegan" of `https://schema.org/VeganDiet`, "Gluten free" of `GlutenFreeDiet`. */
export function dietWords(value) {
  return texts(value).map((diet) => {
    const name = diet.split(/[/#]/).at(-1).replace(/Diet$/, "");
    const words = name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
    return words.slice(0, 1).toUpperCase() + words.slice(1);
  });
}

export const recipe = {
  name: "recipe",
  types: ["Recipe"],
  parts(record) {
    const ingredients = texts(record.recipeIngredient);
    return {
      byline: texts(record.author).join(", "),
      facts: facts(record),
      chips: [
        ...terms(record.recipeCuisine),
        ...terms(record.recipeCategory),
        ...dietWords(record.suitableForDiet),
        ...terms(record.keywords).slice(0, KEYWORDS),
      ],
      body: [foldedList(`Ingredients (${ingredients.length})`, ingredients)],
    };
  },
  sorts: [
    { id: "quickest", label: "Quickest first", of: (record) => minutes(record.totalTime) },
    { id: "rated", label: "Highest rated", of: (record) => rating(record, 5)?.value ?? null, isDescending: true },
    { id: "calories", label: "Fewest calories", of: (record) => number(text(at(record, "nutrition", "calories"))) },
    { id: "ingredients", label: "Fewest ingredients", of: (record) => texts(record.recipeIngredient).length || null },
  ],
};
