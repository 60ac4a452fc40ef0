"""W3C trace context: continued where it is valid, begun anew where it is not."""

from __future__ import annotations

import re

import pytest

from shared.edge.trace import trace_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-0[01]")


@pytest.mark.parametrize("flags", ["00", "01"])
def test_a_valid_header_is_continued_with_a_span_of_ours(flags):
    trace = trace_of(f"00-{TRACE}-{SPAN}-{flags}")
    assert (trace.trace_id, trace.parent_id, trace.sampled) == (TRACE, SPAN, flags == "01")
    assert trace.span_id != SPAN
    assert trace.header == f"00-{TRACE}-{trace.span_id}-{flags}"


def test_a_version_of_the_future_may_say_more():
    assert trace_of(f"cc-{TRACE}-{SPAN}-09-what-comes-later").trace_id == TRACE
    assert trace_of(f"cc-{TRACE}-{SPAN}-09").sampled


BROKEN = [
    None,
    "",
    "x",
    f"00-{TRACE}-{SPAN}",
    f"00-{TRACE}-{SPAN}-01-more",
    f"ff-{TRACE}-{SPAN}-01",
    f"00-{TRACE.upper()}-{SPAN}-01",
    f"00-{'0' * 32}-{SPAN}-01",
    f"00-{TRACE}-{'0' * 16}-01",
    f"00-{TRACE[:-1]}-{SPAN}-01",
    f"00-{TRACE}-{SPAN}-0g",
]


@pytest.mark.parametrize("header", BROKEN)
def test_anything_else_begins_a_trace(header):
    trace = trace_of(header)
    found = HEADER.fullmatch(trace.header)
    assert found
    assert (found[1], trace.parent_id) == (trace.trace_id, None)
    assert trace.trace_id not in {TRACE, "0" * 32}


def test_two_requests_never_share_a_trace_they_did_not_ask_for():
    assert len({trace_of(None).trace_id for _ in range(100)}) == 100
