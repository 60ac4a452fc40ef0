"""How the tests use the ask page: as a reader does, and what its browser keeps."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect

STORED = """async () => {
  const db = await new Promise((resolve) => {
    const request = indexedDB.open("ask-samples", 1);
    request.onsuccess = () => resolve(request.result);
  });
  const all = (store) => new Promise((resolve) => {
    const request = db.transaction(store).objectStore(store).getAll();
    request.onsuccess = () => resolve(request.result);
  });
  const [threads, rows] = [await all("threads"), await all("turns")];
  db.close();
  const plain = (blob) => new Blob([blob]).stream().pipeThrough(new DecompressionStream("gzip"));
  const unpacked = (blob) => new Response(plain(blob)).json();
  const turns = [];
  for (const {blob, ...row} of rows) turns.push({...row, record: await unpacked(blob)});
  return {threads, turns};
}"""


def open_page(page: Page, base: str, kind: str = "recipes", query: str = "") -> None:
    """A site's page, once it can be used."""
    page.goto(f"{base}/samples/{kind}/{query}")
    expect(page.locator("#sample-queries button").first).to_be_attached()


def ask(page: Page, question: str) -> Locator:
    """Type a question and press Enter. Returns its turn."""
    before = page.locator(".turn").count()
    page.fill("#query", question)
    page.press("#query", "Enter")
    found = page.locator(".turn").nth(before)
    expect(found).to_be_attached()
    return found


def asked(page: Page, question: str) -> Locator:
    """The same, once the answer is over."""
    found = ask(page, question)
    over(found)
    return found


def over(turn: Locator) -> None:
    expect(turn).to_have_attribute("aria-busy", "false")


def names(turn: Locator) -> list[str]:
    """The titles of a turn's cards."""
    return turn.locator(".turn-results article h3 a").all_inner_texts()


def status(turn: Locator) -> Locator:
    return turn.locator(".turn-status")


def notices(turn: Locator) -> Locator:
    return turn.locator(".turn-notices")


def stored(page: Page) -> Any:
    """What the browser keeps, read as the deployed pages read it: `{threads, turns}` with each turn's record."""
    return page.evaluate(STORED)


def kept(page: Page, count: int) -> None:
    """Wait until this many turns are in the store."""
    page.wait_for_function(
        "(count) => document.getElementById('storage-usage').textContent.startsWith(`${count} turn`)", arg=count
    )
