"""What a model wrote, held against what it was shown: figures by value, names by their words, addresses as they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shared.models.sentences import sentences
from shared.sites.grounding import checked, names
from shared.sites.kinds import KINDS
from shared.sites.values import texts

ROOT = Path(__file__).resolve().parents[2]
JUDGED = ROOT / "tests" / "fixtures" / "judged_sentences.tsv"


def records(kind: str) -> list[dict[str, Any]]:
    """The demo's items of a kind."""
    lines = (ROOT / "demo" / "items" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [record for record in map(json.loads, lines) if record.get("name")]


def stands(sentence: str, *of: object, question: str = "") -> bool:
    return not checked(sentence, of, question).dropped


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"totalTime": "PT1H30M"}, "It takes 90 minutes."),
        ({"totalTime": "PT1H30M"}, "It takes 1.5 hours."),
        ({"totalTime": "PT1H30M"}, "It takes 1 hour 30 minutes."),
        ({"totalTime": "PT1H30M"}, "It takes 1 hour and 30 minutes."),
        ({"prepTime": "PT10M", "cookTime": "PT30M"}, "Ready in 40 minutes."),
        ({"price": 250000}, "It costs $250,000."),
        ({"price": 250000}, "It costs $250K."),
        ({"price": 1495000}, "It costs about $1.5 million."),
        ({"price": 250000.0}, "It costs 250000 dollars."),
        ({"distance": "6.3 km"}, "A walk of 3.9 miles."),
        ({"distance": "6.3 km"}, "A walk of about 4 miles."),
        ({"duration": "2-3 days"}, "It takes 48 to 72 hours."),
        ({"lotSize": {"value": 13214, "unitCode": "FTK"}}, "A lot of 0.30 acres."),
        ({"ratingValue": "2.0"}, "Rated 2."),
        ({"ratingValue": 4.47}, "Rated 4.5."),
        ({"datePublished": "2019-10-25"}, "It came out on October 25, 2019."),
        ({"datePublished": "1954"}, "A film of the 1950s."),
        ({"datePublished": "1954"}, "A film of the 20th century."),
        ({"numberOfBedrooms": 4}, "A 4-bedroom house."),
        ({"numberOfBedrooms": 4}, "A four-bedroom house."),
        ({"description": "Eleven sticks."}, "11 sticks were tried."),
        ({"recipeIngredient": ["1 1/2 cups rice"]}, "Takes 1½ cups of rice."),
        ({"description": "$35 &amp; up"}, "From $35."),
    ],
)
def test_a_figure_is_known_in_every_form_that_it_can_be_said_in(record, sentence):
    assert stands(sentence, record)


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"totalTime": "PT1H30M"}, "It takes 80 minutes."),
        ({"totalTime": "PT1H30M"}, "It takes 1 hour 35 minutes."),
        ({"price": 250000}, "It costs $260,000."),
        ({"price": 250000}, "It costs $240K."),
        ({"distance": "6.3 km"}, "A walk of 6.3 miles and 5 km."),
        ({"datePublished": "1954"}, "A film of the 1960s."),
        ({"datePublished": "1954"}, "A film of 1955."),
        ({"numberOfBedrooms": 4}, "A three-bedroom house."),
        ({"description": "Eleven sticks."}, "Forty-two sticks were tried."),
        ({}, "It holds 12% fat."),
    ],
)
def test_a_figure_that_no_record_gives_takes_its_sentence_with_it(record, sentence):
    assert not stands(sentence, record)


def test_figures_and_names_may_come_from_the_question_and_addresses_may_not():
    assert stands("It fits a budget of $300K in Reno.", {}, question="homes in reno under $300,000")
    assert not stands("See https://a.example/1.", {}, question="what is https://a.example/1")


@pytest.mark.parametrize(
    "sentence",
    [
        "The film is by Ishiro Honda.",
        "It shows HONDA's talent.",
        "Here the Hondas meet.",
        "“Godzilla” has it all.",
        "Good for nights: Great noise.",
        "I like the U.S. and TV.",
        "It lies in Ames, Iowa.",
    ],
)
def test_a_name_is_known_without_its_accents_case_plural_and_possessive(sentence):
    assert stands(sentence, {"name": "Godzilla", "director": {"name": "Ishirō Honda"}, "at": ["Ames", "Iowa"]})


def test_a_name_put_together_from_two_others_is_none_that_was_given():
    record = {"actor": [{"name": "John Boles"}, {"name": "Lois Wilson"}], "description": "Set by the sea. " * 5}
    assert stands("It stars John Boles.", record)
    assert not stands("It stars John Smith.", record)
    far = {"description": f"John Boles lives {'far and far ' * 9} from Smith."}
    assert not stands("It stars John Smith.", far)


def test_only_words_with_a_capital_that_begin_no_sentence_are_names():
    assert list(names("Both John M. Stahl and Lois Wilson's friends: Soon")) == [
        ("john", "m"),
        ("stahl",),
        ("lois", "wilson"),
    ]


@pytest.mark.parametrize(
    "address",
    ["http://evil.example/x", "www.evil.example", "evil.com", "evil.co.uk/win", "mailto:a@b.example", "a@b.example",
     "javascript:alert(1)", "ftp://evil.example"],
)  # fmt: skip
def test_X02_an_address_that_no_record_holds_takes_its_sentence_with_it(address):
    held = checked(f"A fine film. Go to {address} for it.", [{"name": "A", "url": "https://films.example/1"}])
    assert (held.text, held.dropped) == ("A fine film.", 1)


def test_an_address_of_the_record_stands_with_or_without_its_scheme():
    record = {"url": "https://www.films.example/a%20b/"}
    for written in ("https://www.films.example/a%20b", "films.example/a b".replace(" ", "%20"), "films.example"):
        assert stands(f"See it ({written}).", record)
    assert not stands("See https://www.films.example/another.", record)


def test_X09_a_text_made_to_be_slow_to_read_is_read():
    for hostile in ("9" * 8_000, "1/" * 4_000, "A." * 4_000, "Aa " * 2_600, "a@" * 4_000, "½" * 8_000, "(" * 8_000):
        checked(hostile, [{"description": hostile}])


def test_what_was_dropped_is_counted_in_a_notice():
    held = checked("A film of 1954. A film of 1999. It stars John Smith.", [{"datePublished": "1954"}])
    assert held.text == "A film of 1954."
    assert [(each["code"], each["statements"]) for each in held.notices] == [("statements_dropped", 2)]
    assert checked("A film of 1954.", [{"datePublished": "1954"}]).notices == []


def own_sentences() -> Iterator[tuple[dict[str, Any], str]]:
    for name, kind in KINDS.items():
        for record in records(name):
            told = [line.removesuffix(".") for line in kind.card_text(record).split("\n")[1:2]]
            for sentence in [*sentences(" ".join(texts(record.get("description"))[:1])), *told]:
                yield record, f"{sentence.rstrip('.')}."


def test_of_what_items_say_of_themselves_and_of_their_columns_99_of_100_sentences_stand():
    lost = [sentence for record, sentence in own_sentences() if not stands(sentence, record)]
    assert len(lost) <= 0.01 * len(list(own_sentences())), lost


def test_L05_a_false_sentence_that_names_something_is_dropped_and_at_most_three_in_twenty_of_the_rest_are_false():
    by_name = {(kind, record["name"]): record for kind in KINDS for record in records(kind)}
    with JUDGED.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    kept = [row for row in rows if stands(row["sentence"], by_name[row["kind"], row["item"]])]
    assert len(rows) >= 60
    assert [row["sentence"] for row in rows if row["true"] == "yes" and row not in kept] == []
    false = [row for row in kept if row["true"] == "no"]
    assert [row["sentence"] for row in false if row["names"] == "yes"] == []
    assert len(false) <= 0.15 * len(kept)
