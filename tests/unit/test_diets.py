"""What a recipe is made of, and which diets that suits: sure, ruled out, or not said."""

from __future__ import annotations

import itertools
import json
import lzma
import os
from pathlib import Path

import pytest

from shared.contracts.constraints import Constraint
from shared.contracts.items import Item
from shared.index.columns import Columns
from shared.index.items import Items, write_items
from shared.sites.kinds import suited
from shared.sites.kinds.diets import RULES, contents, ingredients, lacks, suits
from shared.sites.kinds.foods import foods, tokens
from shared.sites.kinds.recipes import columns


def recipe(*lines, **said):
    return {"recipeIngredient": list(lines), **said}


def suited_by(diet, record):
    known = columns(record)
    return suits(diet, known["diets"], known["contains"], known["may_contain"], bool(known["ingredients"]))


def made_without(food, record):
    known = columns(record)
    return lacks(food, known["ingredients"], known["contains"], known["may_contain"])


@pytest.mark.parametrize(
    ("line", "groups"),
    [
        ("1 can coconut milk", set()), ("2 cups almond milk", {"nuts"}), ("¼ cup peanut butter", {"peanut"}),
        ("2 tbsp unsalted butter", {"dairy"}), ("1 tsp cream of tartar", set()), ("cocoa butter", set()),
        ("2 cups all-purpose flour", {"gluten"}), ("250 g glutinous rice flour", set()), ("buckwheat flour", set()),
        ("2 large eggplants", set()), ("3 eggs, separated", {"egg"}), ("4 egg yolks", {"egg"}),
        ("1 butternut squash", set()), ("a pinch of nutmeg", set()), ("1 cup desiccated coconut", set()),
        ("½ cup chopped walnuts", {"nuts"}), ("1 can water chestnuts", set()), ("2 cups groundnuts", {"peanut"}),
        ("200 g vegan butter", set()), ("2 cups gluten-free flour", set()), ("3 beefsteak tomatoes", set()),
        ("1 can kidney beans", set()), ("4 oz goat cheese", {"dairy"}), ("1 cup oyster mushrooms", set()),
        ("2 tbsp soy sauce", {"soy", "gluten"}), ("1 tbsp cider vinegar", set()), ("12 oz ginger ale", set()),
        ("½ cup red wine", {"alcohol"}), ("3 slices bacon", {"pork", "meat"}), ("1 lb shrimp", {"shellfish"}),
        ("1 tbsp fish sauce", {"fish"}), ("1 honeydew melon", set()), ("2 tbsp honey", {"honey"}),
        ("1 envelope gelatine", {"gelatin"}), ("crème fraîche", {"dairy"}), ("2 cups vegetable stock", set()),
        ("2 cups chicken broth", {"meat", "poultry"}), ("1 cup panko", {"gluten"}), ("corn tortillas", set()),
    ],
)  # fmt: skip
def test_what_an_ingredient_holds_is_told_from_what_only_sounds_like_it(line, groups):
    assert set(contents(recipe(line))[0]) == groups


@pytest.mark.parametrize(
    ("line", "doubtful"),
    [
        ("2 tbsp butter or oil", "dairy"), ("1 cup margarine", "dairy"), ("4 cups stock", "meat"), ("oats", "gluten"),
        ("1 tbsp Worcestershire sauce", "fish"), ("dark chocolate", "dairy"), ("chicken or vegetable stock", "meat"),
    ],
)  # fmt: skip
def test_what_may_be_in_it_is_doubtful(line, doubtful):
    sure, open_ = contents(recipe(line))
    assert doubtful in open_
    assert doubtful not in sure


def test_what_the_method_asks_for_and_the_list_forgot_is_doubtful():
    record = recipe("2 potatoes", "salt", recipeInstructions=[{"@type": "HowToStep", "text": "Fry in the butter."}])
    assert contents(record) == ((), ("dairy",))
    assert suited_by("dairy-free", record) is None


@pytest.mark.parametrize(
    ("diet", "lines", "verdict"),
    [
        ("vegan", ["2 carrots", "olive oil"], True), ("vegan", ["1 lb beef"], False), ("vegan", ["2 tbsp honey"], None),
        ("vegan", ["1 cup milk", "2 eggs"], None), ("vegan", ["1 sachet gelatin"], False), ("vegan", [], None),
        ("vegetarian", ["1 cup milk", "2 eggs"], True), ("vegetarian", ["1 cup chicken stock"], False),
        ("pescatarian", ["1 lb salmon"], True), ("pescatarian", ["4 slices ham"], False),
        ("gluten-free", ["1 cup rice"], True), ("gluten-free", ["8 oz spaghetti"], False),
        ("gluten-free", ["1 cup oats"], None), ("dairy-free", ["1 can coconut milk"], True),
        ("dairy-free", ["1 cup cream"], False), ("nut-free", ["peanut butter"], False), ("egg-free", ["2 eggs"], False),
        ("halal", ["2 carrots"], True), ("halal", ["1 lb chicken"], None), ("halal", ["½ cup wine"], False),
        ("kosher", ["1 lb beef", "1 cup cream"], False), ("kosher", ["1 lb shrimp"], False),
        ("keto", ["1 lb beef"], None), ("shellfish-free", ["6 clams"], False),
    ],
)  # fmt: skip
def test_a_diet_is_suited_ruled_out_or_left_open(diet, lines, verdict):
    assert suited_by(diet, recipe(*lines)) is verdict


@pytest.mark.parametrize(("diet", "declared"), [("vegan", "VeganDiet"), ("dairy-free", "vegan"), ("keto", "keto diet")])
def test_what_a_recipe_declares_is_believed(diet, declared):
    assert suited_by(diet, recipe("2 tbsp butter", suitableForDiet=declared, keywords=declared)) is True


@pytest.mark.parametrize(
    ("food", "lines", "verdict"),
    [
        ("cream", ["1 cup heavy cream"], False), ("cream", ["1 can coconut cream"], None),
        ("cream", ["cream of tartar"], True),
        ("butter", ["peanut butter"], True),
        ("butter", ["1 stick of butter, softened"], False), ("eggs", ["1 egg"], False), ("eggs", ["1 eggplant"], True),
        ("mushrooms", ["8 oz cremini mushrooms"], False), ("peanut butter", ["2 tbsp peanut butter"], False),
        ("peanuts", ["2 tbsp peanut butter"], False), ("coconut", ["1 can coconut milk"], False),
        ("onions", ["1 green onion"], False), ("meat", ["1 lb pork"], False), ("meat", ["2 carrots"], True),
        ("nuts", ["1 cup granola"], None), ("seafood", ["6 oysters"], False), ("tomatoes", [], None),
        ("flour", ["1 cup rice flour"], None), ("flour", ["2 cups flour"], False),
        ("cheese", ["250 g mozzarella"], False), ("cheese", ["100 g vegan mozzarella"], True),
        ("cheese", ["2 carrots"], True), ("pasta", ["400 g macaroni"], False), ("pasta", ["1 spaghetti squash"], True),
        ("milk", ["1 cup buttermilk"], False), ("goat", ["4 oz goat cheese"], True),
    ],
)  # fmt: skip
def test_whether_a_recipe_is_made_without_a_food(food, lines, verdict):
    assert made_without(food, recipe(*lines)) is verdict


def test_an_ingredient_is_stored_without_amounts_and_in_the_singular():
    record = recipe("2 ½ cups (300 g) all-purpose flour, sifted", "3 Eggs", "3 eggs")
    assert ingredients(record) == ("all purpose flour sifted", "egg")


def test_foods_are_written_as_questions_and_ingredients_are_read():
    assert [name for name in foods() if " ".join(tokens(name)) != name] == []
    assert max(name.count(" ") for name in foods()) < 6


@pytest.fixture
def kept(tmp_path):
    lines = [
        ["2 carrots"], ["1 lb beef", "1 cup cream"], ["2 tbsp butter or oil"], [], ["8 oz pasta", "6 clams", "wine"],
        ["1 cup walnuts", "2 eggs", "honey"], ["3 slices ham"], ["1 cup oats", "almond milk"], ["tofu", "sesame oil"],
    ]  # fmt: skip
    records = [recipe(*each, keywords="vegan" if n == 2 else "") for n, each in enumerate(lines)]
    items = [Item(f"{n}", "", f"{n}", "s", record) for n, record in enumerate(records)]
    path = tmp_path / "records.db"
    write_items(path, items, [columns(record) for record in records], [("", "", "")] * len(items))
    return records, Columns(Items(path), len(records))


MET = {True: 1, False: 0, None: -1}


@pytest.mark.parametrize("diet", [*RULES, "keto"])
def test_a_diet_over_all_rows_is_what_each_row_says_alone(kept, diet):
    records, known = kept
    said = suited.diets(Constraint("c1", "diets", "has", diet, "", diet), known).tolist()
    assert said == [MET[suited_by(diet, record)] for record in records]
    denied = suited.diets(Constraint("c1", "diets", "lacks", diet, "", diet), known).tolist()
    assert denied == [each if each < 0 else 1 - each for each in said]


@pytest.mark.parametrize("food", ["butter", "cream", "nuts", "meat", "eggs", "carrots", "milk", "oil", "unheard-of"])
def test_a_food_over_all_rows_is_what_each_row_says_alone(kept, food):
    records, known = kept
    said = suited.ingredients(Constraint("c1", "ingredients", "lacks", food, "", food), known).tolist()
    assert said == [MET[made_without(food, record)] for record in records]


# Read by eye, not by a list of ours: a word of these in an ingredient line would make the diet wrong.
PLAIN = {
    "vegan": "beef pork bacon ham sausage turkey salmon tuna shrimp anchovies cheddar mozzarella parmesan yogurt ghee",
    "gluten-free": "macaroni breadcrumbs couscous barley bulgur semolina phyllo croutons linguine",
    "dairy-free": "cheddar mozzarella parmesan yogurt ghee buttermilk ricotta mascarpone feta",
    "nut-free": "walnuts almonds pecans cashews peanuts hazelnuts pistachios macadamia",
}


@pytest.mark.parametrize("diet", PLAIN)
def test_no_real_recipe_that_suits_a_diet_lists_what_it_refuses(diet):
    folder = os.environ.get("ASKBUCKET_TEST_DATA")
    if not folder:
        pytest.skip("ASKBUCKET_TEST_DATA is not set")
    with lzma.open(Path(folder) / "items-recipes.jsonl.xz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in itertools.islice(lines, 600)]
    suiting = [record for record in records if suited_by(diet, record)]
    assert len(suiting) > 50
    for record, word in itertools.product(suiting, PLAIN[diet].split()):
        assert not any(word in line.lower().split() for line in record["recipeIngredient"]), record["name"]
