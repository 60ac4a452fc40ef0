"""Questions that a collection's own records answer."""

from __future__ import annotations

from build_jobs.item_questions import described, predicates


def film(name: str, genre: str, actor: str, year: str, description: str = "") -> dict[str, object]:
    people = [{"@type": "Person", "name": actor}]
    return {"name": name, "genre": genre, "actor": people, "datePublished": year, "description": description}


FILMS = [film(f"Film {n}", "Drama" if n % 2 else "Western", f"Actor {n}", str(1950 + n)) for n in range(40)]


def test_a_question_is_right_for_every_record_that_says_so_and_for_no_other():
    asked = {each.text: each.right for each in predicates("movies", FILMS, 500)}
    assert asked["a drama film with Actor 3"] == {3}
    assert asked["western movies from the 1960s"] == {10, 12, 14, 16, 18}


def test_a_question_that_most_of_a_collection_answers_is_not_asked():
    same = [film(f"Film {n}", "Drama", "Actor", "1950") for n in range(10)]
    assert predicates("movies", same, 500) == []


def test_the_same_records_give_the_same_questions():
    assert predicates("movies", FILMS, 5) == predicates("movies", FILMS, 5)
    assert predicates("movies", FILMS, 5, seed=1) != predicates("movies", FILMS, 5)


def test_a_kind_without_questions_of_its_own_has_none():
    assert predicates("reviews", FILMS, 5) == []


def test_trails_recipes_and_homes_are_asked_what_they_say():
    trail = {
        "address": {"addressRegion": "Otago"},
        "additionalProperty": [{"name": "Difficulty", "value": "Easy"}, {"name": "Dogs", "value": "No dogs"}],
    }
    other = {"address": {"addressRegion": "Otago"}, "additionalProperty": [{"name": "Dogs", "value": "Dogs allowed"}]}
    asked = {each.text: each.right for each in predicates("trails", [trail, other, *[{}] * 10], 50)}
    assert asked == {"easy walk in Otago": {0}, "a track in Otago where I can take my dog": {1}}
    soup = {"recipeIngredient": ["200 g lentils", "1 bunch spinach"]}
    asked = {each.text: each.right for each in predicates("recipes", [soup, *[{}] * 10], 50)}
    assert asked["something with lentils and spinach"] == {0}
    home = {"containedInPlace": "Old Town", "numberOfBedrooms": 3, "yearBuilt": 1921}
    asked = {each.text: each.right for each in predicates("homes", [home, *[{}] * 10], 50)}
    assert asked["a house in Old Town built in the 1920s"] == {0}


def test_a_description_does_not_give_the_name_away():
    told = "Moon is a film. A miner alone on the far side finds himself in a crashed rover. Another sentence of it."
    named = "Moon is a film. The Moon is where a miner alone finds himself in a crashed rover one day."
    films = [film("Moon", "Drama", "x", "2009", told), film("Moon", "Drama", "x", "2009", named)]
    assert [(each.text, each.right) for each in described(films, 9)] == [
        ("A miner alone on the far side finds himself in a crashed rover.", {0})
    ]
