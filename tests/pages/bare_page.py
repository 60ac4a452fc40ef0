"""A page with nothing on it but what a test puts there from the pages' own modules, under the pages' own policy."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from wire import ROOT

_PREPARE = """() => {
  const html = '<link rel="stylesheet" href="/css/base.css"><link rel="stylesheet" href="/css/cards.css">';
  document.head.innerHTML = html + '<meta name="viewport" content="width=device-width"><title>Cards</title>';
  const parts = '<h1>Cards</h1><h2>Results</h2><div class="stack" id="out"></div>';
  document.body.innerHTML = `<main class="page">${parts}</main>`;
  document.documentElement.lang = "en";
  return new Promise((done) => { document.head.firstChild.nextSibling.onload = done; });
}"""
_CALL = """async ([module, name, args]) => (await import(`/js/${module}.js`))[name](...args)"""
_SHOW = """async ([module, name, args]) => {
  const made = (await import(`/js/${module}.js`))[name](...args);
  const out = document.getElementById("out");
  out.replaceChildren(...[made].filter(Boolean));
  return made !== null;
}"""
_SHOW_ALL = """async ([items, options]) => {
  const { renderCard } = await import("/js/cards/card.js");
  const cards = items.map((item) => renderCard(item, options ?? {}));
  document.getElementById("out").replaceChildren(...cards);
  return cards.map((card) => card.innerText);
}"""


class Bare:
    """The page, and what is done on it."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        page.goto(f"{url}/js/dom.js")  # any file of ours: its reply carries the policy, and it starts no script
        page.evaluate(_PREPARE)

    def call(self, module: str, name: str, *args: Any) -> Any:
        """What a function of a module says."""
        return self.page.evaluate(_CALL, [module, name, list(args)])

    def show(self, module: str, name: str, *args: Any) -> bool:
        """Put the element that a function makes onto the page; False where it makes none."""
        return bool(self.page.evaluate(_SHOW, [module, name, list(args)]))

    def cards(self, items: Sequence[Any], **options: Any) -> list[str]:
        """Put the items' cards onto the page: the text that each shows."""
        shown: list[str] = self.page.evaluate(_SHOW_ALL, [list(items), options])
        return shown

    def card(self, record: Any, **item: Any) -> str:
        """The same for one record."""
        [shown] = self.cards([wired(record, **item)])
        return shown


def wired(record: Any, **over: Any) -> dict[str, Any]:
    """A record as an item of the stream."""
    own = record if isinstance(record, dict) else {}
    item = {
        "@type": "Item", "url": own.get("url"), "name": own.get("name"), "site": "demo", "score": 70,
        "relevance": "relevant", "description": "", "vector_score": 1.5, "bm25_score": None,
        "retrieval_source": "vector", "schema_object": record,
    }  # fmt: skip
    return {**item, **over}


def demo_records(kind: str) -> list[dict[str, Any]]:
    lines = (ROOT / "demo" / "items" / f"{kind}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def real_records(kind: str, every: int) -> list[dict[str, Any]]:
    """Each so-many-th record of a large real collection; the test is skipped where there are none."""
    folder = os.environ.get("ASKBUCKET_TEST_DATA")
    name = {"homes": "homes_ames"}.get(kind, kind)
    path = Path(folder or "") / f"items-{name}.jsonl.xz"
    if not folder or not path.exists():
        pytest.skip("ASKBUCKET_TEST_DATA names no folder with real items")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in islice(lines, 0, None, every)]
