"""Seeded fault plans over a site's answers: each must be accepted by the grammar, and say what it lacks.

$ PYTHONPATH=tests .venv/bin/python -m fakes.plans --plans 1000
1000 plans, 9,512 model calls; 0 answers wrong
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import anyio
from grammar import faults_of
from msgspec.structs import replace

from fakes import openrouter as faults
from fakes.decisions import JEV
from fakes.openrouter import FAULTS, Fault, OpenRouter, Reply, Rule, Seen
from fakes.site import DIMENSION, Asked, Here, site_here
from fakes.site import recipes as dishes
from shared.contracts.ask import AskRequest

# Without waits that the server asks for: they are tested with the client.
NAMES = [name for name in FAULTS if name != "429"]
LIES = {
    "prose": lambda: faults.content("I would pick the first one."),
    "essay": lambda: faults.content("Here are some films you may like. " * 80),
    "wrong_places": lambda: faults.content(
        '{"results":[{"i":-1,"m":"strong"},{"i":99,"m":"strong"},{"i":"3","m":"strong"},{"i":0,"s":101}]}'
    ),
    "twice": lambda: faults.content(
        '{"results":[{"i":0,"m":"strong"},{"i":0,"m":"relevant"},{"i":1.0,"m":"strong"},{"i":1,"m":"great"}]}'
    ),
    "cut": lambda: faults.content('{"results":[{"i":0,"m":"strong"},{"i":1,"m":"re'),
    "nothing": lambda: faults.content('{"results":[]}'),
    "429-at-once": lambda: faults.status(429, {"Retry-After": "0"}),
    "401": lambda: faults.status(401),
    "402": lambda: faults.status(402),
    "words": lambda: faults.content('{"tier":"simple","constraints":[3],"terms":["soup"],"names":["Lentil Soup 8"]}'),
    "dropped": lambda: faults.content('{"items":[{"i":0,"keep":false},{"i":1,"keep":true,"d":"One."}],"summary":"x"}'),
}
QUERIES = ("space story", "a heist in the desert", "mountain", "nothing of the kind", "submarine crew")
DISHES = ("lentil soup", "vegan lentil soup", "soup under 45 minutes", "quickest recipes", "bean stew for 4 people")
IMPATIENT = {
    "llm_read_timeout_s": 0.05,
    "llm_max_retries": 1,
    "llm_breaker_failures": 0,
    "embed_cache_entries": 0,
    "decision_timeout_s": 0.1,
    "decision_attempts": 2,
}


def plan(seed: int) -> Rule:
    """Each attempt fails with the seed's own chance: by what is asked, so that the order of calls plays no part."""
    chance = random.Random(f"rate:{seed}").choice([0.1, 0.3, 0.6, 1.0])
    asked: Counter[str] = Counter()
    drawn: dict[int, random.Random] = {}

    def dice(seen: Seen) -> random.Random:
        if seen.number not in drawn:
            digest = hashlib.sha256(json.dumps(seen.body, sort_keys=True).encode()).hexdigest()
            asked[digest] += 1
            drawn[seen.number] = random.Random(f"{seed}:{digest}:{asked[digest]}")
        return drawn[seen.number]

    def fault(seen: Seen, reply: Reply) -> Reply:
        known = {**{name: FAULTS[name] for name in NAMES}, **(LIES if seen.is_chat and lies(seed) else {})}
        name = dice(seen).choice(sorted(known))
        made: Fault = known[name]()
        return made(seen, reply)

    return Rule(fault, lambda seen: dice(seen).random() < chance)


def lies(seed: int) -> bool:
    """Whether a plan's models may say something wrong too, or are only out of reach."""
    return seed % 2 == 1


def of_recipes(seed: int) -> bool:
    """Whether the plan is for the site that is triaged and described."""
    return seed % 4 > 1


def request(seed: int) -> AskRequest:
    """A question of the seed's own."""
    dice = random.Random(f"request:{seed}")
    return AskRequest(
        dice.choice(DISHES if of_recipes(seed) else QUERIES),
        mode=dice.choice(["list", "summarize", "generate"]),  # type: ignore[arg-type]
        previous_queries=dice.choice([(), ("bean stew" if of_recipes(seed) else "space story",)]),
        retrieval=dice.choice(["compare", "compare", "bm25", "vector"]),  # type: ignore[arg-type]
        min_score=dice.choice([0, 70, 80]),
        max_results=dice.choice([3, 10]),
    )


@dataclass
class Outcome:
    """What one plan came to."""

    asked: Asked
    wrong: list[str]


@dataclass(frozen=True)
class Sites:
    """The sites that plans are for, over one gateway."""

    movies: Here
    recipes: Here

    def of(self, seed: int) -> Here:
        """The site of a plan; of every eighth, ranked by a decision model."""
        here = self.recipes if of_recipes(seed) else self.movies
        if seed % 8 != 3:
            return here
        return dataclasses.replace(here, panel=replace(here.panel, ranker=here.gateway.ranker(JEV)))


@contextmanager
def sites(fake: OpenRouter) -> Iterator[Sites]:
    """Both of them."""
    with (
        site_here(fake, **IMPATIENT) as films,
        site_here(fake, dishes(), kind="recipes", **IMPATIENT) as kitchen,
    ):
        yield Sites(films, kitchen)


async def answered(here: Here, seed: int) -> Outcome:
    """The answer under a plan, and what is wrong with it."""
    asked_for = request(seed)
    assert here.fake is not None
    here.fake.rules[:] = [plan(seed)]
    asked = await here.answer(asked_for, IMPATIENT)
    here.fake.heal()
    wrong = faults_of(asked.events, asked_for.min_score)
    if not lies(seed) and not asked.said and not asked.error:
        whole = await here.answer(asked_for, IMPATIENT)
        wrong += (
            [] if (asked.names, asked.answer) == (whole.names, whole.answer) else ["a loss that nobody was told of"]
        )
    return Outcome(asked, wrong)


async def wrong_of(here: Sites, seeds: range) -> tuple[dict[int, list[str]], Counter[str]]:
    """Seed → what was wrong; and how often each thing was said."""
    wrong: dict[int, list[str]] = {}
    said: Counter[str] = Counter()
    for seed in seeds:
        outcome = await answered(here.of(seed), seed)
        if outcome.wrong:
            wrong[seed] = outcome.wrong
        said.update(outcome.asked.codes + ([outcome.asked.error.code] if outcome.asked.error else []))
    return wrong, said


def main() -> None:
    """Run the plans and say how many answers were wrong."""
    parser = argparse.ArgumentParser(description="Seeded fault plans over a site's answers.")
    parser.add_argument("--plans", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    with OpenRouter(dimension=DIMENSION) as fake, sites(fake) as here:
        wrong, said = anyio.run(wrong_of, here, range(given.first, given.first + given.plans))
        print(f"{given.plans} plans, {len(fake.calls):,} model calls; {len(wrong)} answers wrong")
    print(f"said: {dict(said.most_common())}")
    for seed, faults_found in wrong.items():
        print(seed, faults_found)
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
