"""The demo's five collections are what they say they are, and their questions are answered by their own data."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from item_questions import holds, questions, records, short_id

from shared.contracts.items import Json
from shared.sites.fields import fields_of
from shared.sites.kinds import KINDS
from shared.sites.values import texts

_LEAST_WORDS = 6
EVERY_KIND = pytest.mark.parametrize("kind", sorted(KINDS))


def by_id(kind: str) -> dict[str, Json]:
    return {short_id(record["url"]): record for record in records(kind)}


def told(value: object) -> Iterator[str]:
    """Every text of a record, however deep."""
    if isinstance(value, dict):
        for member in value.values():
            yield from told(member)
    elif isinstance(value, list):
        for member in value:
            yield from told(member)
    elif isinstance(value, str):
        yield value


def sentences(record: Json) -> set[str]:
    """The record's sentences of six words or more, in lower case."""
    parts = (part.strip().lower() for text in told(record) for part in re.split(r"(?<=[.!?])\s+", text))
    return {part for part in parts if len(part.split()) >= _LEAST_WORDS}


@EVERY_KIND
def test_a_collection_has_about_sixty_items_of_its_kind_with_a_name_and_a_url(kind: str) -> None:
    found = records(kind)
    assert 55 <= len(found) <= 70
    for record in found:
        assert record["@context"] == "https://schema.org"
        assert set(texts(record["@type"])) & set(KINDS[kind].types), record["url"]
        assert fields_of(record)[0], record["url"]
        assert urlsplit(record["url"]).scheme == "https"


@EVERY_KIND
def test_ids_and_urls_are_unique(kind: str) -> None:
    found = records(kind)
    assert len({record["url"] for record in found}) == len(found)
    assert len({short_id(record["url"]) for record in found}) == len(found)
    assert all(record.get("@id", record["url"]) == record["url"] for record in found)


@EVERY_KIND
def test_no_item_shows_an_image_that_is_not_there(kind: str) -> None:
    assert [record["url"] for record in records(kind) if record.keys() & {"image", "thumbnailUrl"}] == []


def test_no_two_items_share_a_sentence() -> None:
    owners: defaultdict[str, list[str]] = defaultdict(list)
    for kind in KINDS:
        for record in records(kind):
            for sentence in sentences(record):
                owners[sentence].append(record["url"])
    assert {sentence: urls for sentence, urls in owners.items() if len(urls) > 1} == {}


@EVERY_KIND
def test_every_item_gets_columns_and_a_card_however_awkward_it_is(kind: str) -> None:
    """Among them: numbers as texts, lists for texts, no description, 10,000 characters, right-to-left, emoji."""
    names = list(KINDS[kind].columns({}))
    for record in records(kind):
        assert list(KINDS[kind].columns(record)) == names
        assert KINDS[kind].card_text(record)


@EVERY_KIND
def test_a_question_names_items_that_are_there(kind: str) -> None:
    asked = questions(kind)
    assert len(asked) >= 15
    assert len({question.text for question in asked}) == len(asked)
    for question in asked:
        assert set(question.answers) | set(question.never) <= by_id(kind).keys(), question.text
        assert not set(question.answers) & set(question.never), question.text


@EVERY_KIND
def test_what_a_question_asks_is_true_of_its_answers_and_untrue_of_what_it_rules_out(kind: str) -> None:
    """A question about dogs is answered by trails that allow them by their own data, and never by one that does not."""
    found = {name: KINDS[kind].columns(record) for name, record in by_id(kind).items()}
    for question in questions(kind):
        if question.where:
            assert [name for name in question.answers if not holds(found[name], question.where)] == [], question.text
            assert [name for name in question.never if holds(found[name], question.where)] == [], question.text


def test_half_of_the_trails_say_their_facts_as_properties_and_half_in_the_text_only() -> None:
    stated = [record for record in records("trails") if "additionalProperty" in record]
    assert 25 <= len(stated) <= 35
    assert 25 <= len(records("trails")) - len(stated) <= 35


def test_the_phrases_that_cards_look_for_and_others_both_occur_in_trails() -> None:
    said = [str(record.get("description", "")) for record in records("trails") if "additionalProperty" not in record]
    for phrase in (r"\bthis [\d.]+-(?:km|mi)", r"considered an? ", r"average of .* to complete", r"leave pups at home"):
        assert any(re.search(phrase, text) for text in said), phrase
    plain = [text for text in said if text and not re.search(r"\bthis [\d.]+-(?:km|mi)", text)]
    assert len(plain) >= 10


@pytest.mark.parametrize(
    ("kind", "column", "least"),
    [("homes", "town", 7), ("trails", "region", 25), ("reviews", "author", 5), ("homes", "type", 5)],
)
def test_a_collection_is_varied_enough_to_be_filtered(kind: str, column: str, least: int) -> None:
    values = {KINDS[kind].columns(record)[column] for record in records(kind)} - {None}
    assert len(values) >= least
