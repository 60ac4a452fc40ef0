// Questions to begin with: [question, what it tests].

export const LEADS = {recipes: "From easy to hard: the further down, the more a question demands."};

export const SAMPLES = {
  recipes: [
    ["lentil soup", "A plain subject, and many right answers."],
    ["banana bread", "A dish by its name."],
    ["creme brulee", "A name typed without its accents."],
    ["breakfast with eggs in a tomato sauce", "A dish described instead of named."],
    ["cold soup for a hot day", "An occasion and a temperature."],
    ["Ethiopian flatbread", "A cuisine and a kind of dish."],
    ["vegetarian dinner under 40 minutes", "A diet and a limit that is compared, not guessed."],
    ["quick chicken dinner for six", "Three demands, one of them loose."],
    ["dessert with fewer than 300 calories", "A figure that a record may not give."],
    ["bread that I do not have to knead", "Something that is to be missing."],
    ["a numbing Sichuan dish without pork", "A cuisine, a taste and an exclusion."],
    ["brownies without wheat flour", "An ingredient left out, in a dish that usually has it."],
    ["something for children who cannot eat nuts", "An allergy, where a wrong answer matters."],
    ["coconut soup without meat or fish", "Two exclusions, hidden fish sauce included."],
    ["what can I do with old rice and a jar of kimchi?", "A dish found by its leftovers."],
    ["slow cooker meat for a crowd", "A device, and a number that is only hinted at."],
    ["dessert for Passover", "A custom that rules ingredients out."],
    ["halal lamb for guests", "A rule, an ingredient and an occasion."],
    ["a showstopper Thanksgiving main that is vegan and gluten-free", "An occasion against two diets at once."],
  ],
  movies: [
    ["farmers hire swordsmen to defend their village", "A plot told in other words."],
    ["films by Alfred Hitchcock", "A director, looked up and not guessed."],
    ["time loop comedy", "A device of the plot and a genre."],
    ["science fiction from the 1970s, longest first", "A genre, a decade and an order."],
    ["千と千尋の神隠し", "A title in its own script."],
    ["silent science fiction about a city and a robot", "Form, genre and subject together."],
    ["a bear who loves marmalade", "A film remembered by one detail."],
  ],
  reviews: [
    ["robot vacuum for two cats and a long-haired dog", "A product for a particular household."],
    ["cheap headphones that cancel noise, under 100 dollars", "A limit on the price, said twice."],
    ["a quiet keyboard for an open office", "A need, and where it arises."],
    ["clean wildfire smoke out of my bedroom", "A problem instead of a product."],
    ["my shoulder hurts when I sleep on my side", "A complaint, from which the product follows."],
    ["camera outside the house without a monthly fee", "Something that must not cost anything."],
    ["stroller that fits in an airplane overhead bin", "A size that is told by its use."],
    ["present for somebody who loves cooking", "A wide question with a purpose."],
    ["first espresso machine for a beginner", "A level of skill."],
  ],
  trails: [
    ["short easy walk where my dog can run off leash", "Length, difficulty, and what dogs may do."],
    ["waterfall hike that allows dogs", "A sight and a rule."],
    ["wheelchair accessible path", "A demand that few records speak of."],
    ["loop under 5 miles, easiest first", "A shape, a limit in miles and an order."],
    ["hike that ends at a hot spring", "A destination."],
    ["hardest exposed scrambling route on a ridge", "The far end of the scale."],
  ],
  homes: [
    ["4-bedroom house with a pool", "A count and a feature."],
    ["3 bedrooms under $1.5M, cheapest first", "Two conditions and an order, and nothing left to look up."],
    ["newest homes over 2,500 sq ft", "An order and an area."],
    ["single-level home adapted for a wheelchair", "A need that several features meet."],
    ["waterfront home with a dock for my boat", "A place that is told by its use."],
    ["house with an apartment for the grandparents", "A feature under another name."],
    ["craftsman bungalow with original details", "A style, and what is left of it."],
  ],
};

/** What a question tests, where it is one of the samples; else "". */
export function testedBy(kind, question) {
  return (SAMPLES[kind] ?? []).find(([text]) => text === question)?.[1] ?? "";
}
