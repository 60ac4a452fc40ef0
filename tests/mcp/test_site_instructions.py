"""What a site says of itself when a client opens it: the name its release gives the collection, then the next one's."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from rpc import request, stateless
from werkzeug.test import Client

from cli.main import main
from functions.ask_site.service import create
from shared.edge.app import App
from shared.settings import Settings

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


def build(folder: Path, label: str) -> str:
    """A site of one recipe whose collection has this label; returns the bucket's URL."""
    items, sources, bucket = folder / "cakes.jsonl", folder / "sources.yaml", (folder / "bucket").as_uri()
    items.write_text('{"@type": "Recipe", "name": "Plum Crumble", "url": "https://cakes.example.org/plum"}\n')
    sources.write_text(f"collections: [{{kind: recipes, site: cakes, label: {label}, items: cakes.jsonl}}]\n")
    made = ["build", "items", "--site", "recipes", "--items", str(items), "--bucket", bucket, "--embedder", "embedded"]
    assert main(made) == 0
    return bucket


def told(app: App[Any]) -> list[str]:
    """The instructions, as both revisions of the protocol give them."""
    discover, headers = stateless("server/discover")
    client = Client(app.wsgi)
    asked = [
        client.post("/mcp", data=json.dumps(request("initialize", HELLO))),
        client.post("/mcp", data=json.dumps(discover), headers=headers),
    ]
    return [json.loads(each.get_data())["result"]["instructions"] for each in asked]


def test_a_sites_instructions_name_the_collection_of_the_release_that_is_served(tmp_path: Path) -> None:
    bucket = build(tmp_path, "Cakes")
    cache = str(tmp_path / "cache")
    app = create(Settings(site="recipes", bucket_url=bucket, llm_provider="none", cache_dir=cache, refresh_s=0.05))
    with closing(app.hosted):
        assert app.hosted.wait(60)
        assert [each.partition(":")[0] for each in told(app)] == ["Finds real items of Cakes (recipes)"] * 2
        build(tmp_path, "Pies")
        while app.hosted.wait(60) and "Pies" not in told(app)[0]:
            time.sleep(0.05)
        assert [each.partition(":")[0] for each in told(app)] == ["Finds real items of Pies (recipes)"] * 2
