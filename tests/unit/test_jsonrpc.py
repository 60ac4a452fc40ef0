"""One message in a body, or the JSON-RPC error that says why it is none."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.edge.mcp.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, MAX_ID_CHARS, PARSE_ERROR, Malformed, read_message

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("id", [0, 7, -1, 2**53, "a", "", "x" * MAX_ID_CHARS])
def test_a_request_with_any_sensible_id_is_read(id):
    message = {"jsonrpc": "2.0", "id": id, "method": "ping"}
    assert read_message(json.dumps(message).encode()) == message


def test_a_notification_and_a_response_are_messages():
    read_message(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    read_message(b'{"jsonrpc": "2.0", "id": 1, "result": {}}')


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff", PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}', PARSE_ERROR, None),
        (b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}', PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', INVALID_REQUEST, None),
        (b'"ping"', INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"id": 1, "method": "ping"}', INVALID_REQUEST, 1),
        (b'{"jsonrpc": "1.0", "id": "a", "method": "ping"}', INVALID_REQUEST, "a"),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": [1], "method": "ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 2}', INVALID_REQUEST, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', INVALID_PARAMS, 1),
    ],
)
def test_what_is_no_message_is_refused_with_the_code_of_the_standard(body, code, id):
    with pytest.raises(Malformed) as refused:
        read_message(body)
    assert (refused.value.code, refused.value.id) == (code, id)
    assert refused.value.reply.status == 400
    assert refused.value.reply.body == {
        "jsonrpc": "2.0",
        "id": id,
        "error": {"code": code, "message": refused.value.message},
    }


@given(JSON_VALUES)
def test_whatever_the_json_it_is_read_or_refused(value):
    try:
        read_message(json.dumps(value).encode())
    except Malformed as refused:
        assert refused.message
