"""The conformance suite's fixtures behind our own /mcp route: the tools, resources and prompts it asks servers for.

What is under test is the route, the bridge to the event loop and the endpoint; only the server's content is made up.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from contextlib import closing, contextmanager
from threading import Thread
from typing import Any

import anyio
import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CacheHint
from mcp.shared.exceptions import MCPDeprecationWarning, MCPError
from werkzeug.serving import WSGIRequestHandler, make_server

from shared.edge.app import App
from shared.edge.mcp.tool_route import CORS, tool_route
from shared.edge.process import Hosted
from shared.settings import Settings

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
TEXT = "This is the content of the static text resource."
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def image() -> dict[str, Any]:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def embedded(uri: str, mime_type: str, words: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


RESULTS: dict[str, dict[str, Any]] = {
    "test_simple_text": {"content": [text("This is a simple text response for testing.")]},
    "test_image_content": {"content": [image()]},
    "test_audio_content": {"content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]},
    "test_embedded_resource": {
        "content": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")]
    },
    "test_multiple_content_types": {
        "content": [
            text("Multiple content types test:"),
            image(),
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    },
    "test_error_handling": {
        "content": [text("This tool intentionally returns an error for testing")],
        "isError": True,
    },
    "test_tool_with_logging": {"content": [text("Tool with logging executed")]},
    "test_tool_with_progress": {"content": [text("Tool with progress executed")]},
    "json_schema_2020_12_tool": {"content": [text("JSON Schema 2020-12 tool called")]},
}
PROMPTS: dict[str, tuple[str, ...]] = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
}


async def list_tools(ctx: Any, params: Any) -> types.ListToolsResult:
    schemas = {"json_schema_2020_12_tool": SCHEMA}
    tools = [{"name": name, "description": name, "inputSchema": schemas.get(name, NOTHING)} for name in RESULTS]
    return types.ListToolsResult.model_validate({"tools": tools})


async def call_tool(ctx: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
    if params.name not in RESULTS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool {params.name!r}")
    if params.name == "test_tool_with_logging":
        for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            said = types.LoggingMessageNotificationParams(level="info", data=words)
            await ctx.session.send_notification(types.LoggingMessageNotification(params=said), ctx.request_id)
            await anyio.sleep(0.05)
    if params.name == "test_tool_with_progress":
        for done in (0, 50, 100):
            await ctx.session.report_progress(done, 100)
            await anyio.sleep(0.05)
    return types.CallToolResult.model_validate(RESULTS[params.name])


async def list_resources(ctx: Any, params: Any) -> types.ListResourcesResult:
    static = [("static-text", "text/plain"), ("static-binary", "image/png"), ("watched-resource", "text/plain")]
    return types.ListResourcesResult.model_validate(
        {
            "resources": [
                {"uri": f"test://{name}", "name": name, "description": name, "mimeType": of} for name, of in static
            ]
        }
    )


async def list_templates(ctx: Any, params: Any) -> types.ListResourceTemplatesResult:
    template = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})


async def read_resource(ctx: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    found = {
        "test://static-text": {"mimeType": "text/plain", "text": TEXT},
        "test://watched-resource": {"mimeType": "text/plain", "text": TEXT},
        "test://static-binary": {"mimeType": "image/png", "blob": PNG},
    }
    if uri.startswith("test://template/"):
        number = uri.split("/")[3]
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        found[uri] = {"mimeType": "application/json", "text": json.dumps(data)}
    if uri not in found:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult.model_validate({"contents": [{"uri": uri, **found[uri]}]})


async def list_prompts(ctx: Any, params: Any) -> types.ListPromptsResult:
    prompts = [
        {"name": name, "description": name, "arguments": [{"name": each, "required": True} for each in arguments]}
        for name, arguments in PROMPTS.items()
    ]
    return types.ListPromptsResult.model_validate({"prompts": prompts})


async def get_prompt(ctx: Any, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    given = params.arguments or {}
    contents = {
        "test_simple_prompt": [text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments": [
            text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")
        ],
        "test_prompt_with_embedded_resource": [
            embedded(given.get("resourceUri", ""), "text/plain", "Embedded resource content for testing."),
            text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image": [image(), text("Please analyze the image above.")],
    }
    messages = [{"role": "user", "content": each} for each in contents[params.name]]
    return types.GetPromptResult.model_validate({"messages": messages})


async def complete(ctx: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
    return types.CompleteResult.model_validate({"completion": {"values": ["paris", "park"], "hasMore": False}})


async def nothing(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


def server() -> Server[Any]:
    """The suite's server. Logging is deprecated since 2026-07-28, and still asked of the revisions before."""
    hint = CacheHint(ttl_ms=1_000, scope="public")
    cached = ("tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MCPDeprecationWarning)
        return Server(
            "everything",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_subscribe_resource=nothing,
            on_unsubscribe_resource=nothing,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            on_set_logging_level=nothing,
            cache_hints=dict.fromkeys((*cached, "server/discover"), hint),
        )


def app() -> App[None]:
    """An app that hosts nothing but the route."""
    hosted: Hosted[None] = Hosted(
        lambda _: None, is_stale=lambda _: False, close=lambda _: None, refresh_s=60, needs_loop=True
    )
    routes = {"/mcp": {"POST": tool_route(hosted, server, lambda _: (), Settings())}}
    return App(hosted, routes, describe=lambda _: {}, settings=Settings(), cors=CORS)


class _Quiet(WSGIRequestHandler):
    """Says nothing of requests: a failed test is told by its own words."""

    def log(self, type: str, message: str, *args: Any) -> None:
        pass


@contextmanager
def serving_wsgi(wsgi: Any) -> Iterator[int]:
    """The port on the loopback of a server of this application, a thread for each connection."""
    web = make_server("127.0.0.1", 0, wsgi, threaded=True, request_handler=_Quiet)
    thread = Thread(target=web.serve_forever)
    thread.start()
    try:
        yield web.port
    finally:
        web.shutdown()
        thread.join()
        web.server_close()


@contextmanager
def served(made: App[Any]) -> Iterator[str]:
    """The URL of the app's /mcp."""
    with closing(made.hosted), serving_wsgi(made.wsgi) as port:
        assert made.hosted.wait(60)
        yield f"http://127.0.0.1:{port}/mcp"


if __name__ == "__main__":
    with served(app()) as url:
        print(url, flush=True)
        input()
