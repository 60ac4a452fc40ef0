"""The fake is held to OpenRouter's wire, and to being the same for the same plan."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from fakes.openrouter import KEY, Latency, OpenRouter, Seen, drawn, embed, status

ROOT = Path(__file__).resolve().parents[2]
AUTH = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def fake() -> Iterator[OpenRouter]:
    with OpenRouter() as server:
        yield server


def post(fake: OpenRouter, path: str, body: Any) -> httpx.Response:
    return httpx.post(fake.url + path, json=body, headers=AUTH, trust_env=False)


def chat(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "openai/gpt-oss-20b", "messages": [{"role": "user", "content": text}], **more}


def test_texts_that_share_words_lie_close():
    rain, rains, gdp = (np.array(embed(text)) for text in ("annual rainfall Kenya", "rainfalls in Kenya", "gdp growth"))
    assert rain @ rains > 0.4 > abs(rain @ gdp)
    assert np.linalg.norm(embed("")) == pytest.approx(1, abs=1e-5)


def test_the_size_of_an_embedding_is_its_models(fake):
    sizes = {
        model: len(post(fake, "/embeddings", {"model": model, "input": "x"}).json()["data"][0]["embedding"])
        for model in ("openai/text-embedding-3-small", "openai/text-embedding-3-large")
    }
    assert list(sizes.values()) == [1536, 3072]


def test_a_completion_is_streamed_as_events_that_add_up_to_it():
    with OpenRouter(answer=lambda messages: "The answer is 42, or thereabouts.") as fake:
        whole = post(fake, "/chat/completions", chat("x")).json()
        streamed = post(fake, "/chat/completions", chat("x", stream=True))
    lines = [line for line in streamed.text.split("\n") if line]
    assert (lines[0], lines[-1]) == (": OPENROUTER PROCESSING", "data: [DONE]")
    events = [json.loads(line.removeprefix("data: ")) for line in lines[1:-1]]
    text = "".join(choice["delta"]["content"] for event in events for choice in event["choices"])
    assert text == whole["choices"][0]["message"]["content"]
    assert events[-1]["usage"] == whole["usage"]


def test_key_and_models_are_answered_and_count_as_no_model_call(fake):
    post(fake, "/chat/completions", chat("x"))
    key = httpx.get(f"{fake.url}/key", headers=AUTH, trust_env=False).json()
    models = httpx.get(f"{fake.url}/models", headers=AUTH, trust_env=False).json()
    assert key["data"]["usage"] == fake.spent_usd > 0
    assert "openai/gpt-oss-20b" in [model["id"] for model in models["data"]]
    assert [seen.number for seen in fake.seen] == [1, 0, 0]


def test_a_wrong_key_path_or_body_is_refused(fake):
    fake.key = "another"
    assert post(fake, "/embeddings", {"model": "m", "input": "x"}).status_code == 401
    fake.key = None
    assert post(fake, "/nowhere", {}).status_code == 404
    assert post(fake, "/embeddings", {"input": "x"}).status_code == 400


def test_a_fault_meets_the_calls_it_was_planned_for(fake):
    fake.fail(status(503), on=[2, 4])
    fake.fail(status(429, {"Retry-After": "3"}), when=lambda seen: "twice" in str(seen.body), times=1)
    codes = [post(fake, "/chat/completions", chat(text)).status_code for text in ("a", "b", "twice", "d", "twice")]
    assert codes == [200, 503, 429, 503, 200]


def seen(number: int) -> Seen:
    return Seen(number, "POST", "/embeddings", {}, {}, 1)


def test_a_plan_drawn_from_a_seed_is_the_same_each_time():
    plans = [drawn(seed, 0.2, ["429", "reset"]) for seed in (1, 1, 2)]
    first, again, other = ([number for number in range(500) if plan.when(seen(number))] for plan in plans)
    assert first == again != other
    assert 60 < len(first) < 140


def test_latency_is_the_median_or_spread_around_it_the_same_each_time():
    assert Latency(embed_ms=40).of(seen(1), 0) == 0.04
    spread = [Latency(embed_ms=40, sigma=0.5).of(seen(number), 7) for number in range(400)]
    assert spread == [Latency(embed_ms=40, sigma=0.5).of(seen(number), 7) for number in range(400)]
    assert np.median(spread) == pytest.approx(0.04, rel=0.15)


def test_it_runs_as_a_program():
    command = [sys.executable, "-m", "tests.fakes.openrouter", "--port", "0", "--fault-rate", "1", "--faults", "529"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            ready, url = process.stdout.readline().split()
            reply = httpx.post(f"{url}/embeddings", json={"model": "m", "input": "x"}, headers=AUTH, trust_env=False)
        finally:
            process.terminate()
    assert (ready, reply.status_code) == ("ready", 529)
