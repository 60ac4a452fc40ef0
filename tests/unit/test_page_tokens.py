"""Page tokens: honoured for what they were issued for, refused for everything else."""

from __future__ import annotations

import random

import pytest

from shared.errors import RequestError
from shared.tables.registry.page_tokens import next_token, offset_of, question_of, token_of

QUESTION = question_of("agents", ("20260131T120000Z-000000000000",), "all")


@pytest.mark.parametrize("offset", [1, 20, 999, 118_702])
def test_a_token_leads_where_it_was_issued_for(offset: int) -> None:
    assert offset_of(token_of(QUESTION, offset), QUESTION, 118_703) == offset


def test_the_last_page_has_no_next_one() -> None:
    assert next_token(QUESTION, 0, range(20), 21) == token_of(QUESTION, 20)
    assert next_token(QUESTION, 20, range(1), 21) is None
    assert next_token(QUESTION, 0, [], 0) is None


@pytest.mark.parametrize("offset", [0, -1, 10, 11, 10**12])
def test_a_token_of_our_form_that_leads_nowhere_is_refused(offset: int) -> None:
    with pytest.raises(RequestError):
        offset_of(token_of(QUESTION, offset), QUESTION, 10)


@pytest.mark.parametrize("other", [question_of("okf"), question_of("agents", ("another release",), "all")])
def test_a_token_of_another_question_or_release_is_refused(other: str) -> None:
    with pytest.raises(RequestError, match="begin again without one"):
        offset_of(token_of(other, 5), QUESTION, 10)


@pytest.mark.parametrize("seed", range(200))
def test_a_token_with_any_character_changed_added_or_lost_is_refused(seed: int) -> None:
    dice = random.Random(seed)
    token = token_of(QUESTION, 5)
    place = dice.randrange(len(token))
    character = dice.choice("ABCxyz019-_=+/ \n\x00é٣")
    changed = dice.choice([
        token[:place] + character + token[place + 1 :],
        token[:place] + character + token[place:],
        token[:place] + token[place + 1 :],
    ])  # fmt: skip
    if changed != token:
        with pytest.raises(RequestError):
            offset_of(changed, QUESTION, 10)


def test_no_spelling_of_an_offset_but_ours_is_taken() -> None:
    import base64

    for offset in ("05", "+5", " 5", "5 ", "٥", "5.0", "5.", "", "five"):
        token = base64.urlsafe_b64encode(f"{QUESTION}.{offset}".encode()).decode().rstrip("=")
        with pytest.raises(RequestError):
            offset_of(token, QUESTION, 10)
