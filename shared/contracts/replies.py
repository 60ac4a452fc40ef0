"""What the routes answer, as types: the shapes that callers may rely on. More keys may come beside these."""

# ruff: noqa: N815 - the names of the wire

from __future__ import annotations

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from shared.contracts.notices import NoticeCode
from shared.contracts.schema import Keywords
from shared.contracts.usage import Usage

URN = "^urn:air:[a-zA-Z0-9.-]+(:[a-zA-Z0-9._-]+)+$"
Score = Annotated[int, Keywords(minimum=0, maximum=100)]


class Told(TypedDict):
    """A notice: something was dropped, skipped, replaced or not scored, and this says what."""

    code: NoticeCode
    message: str


class Content(TypedDict):
    """A document's Markdown without its front matter."""

    content: str


class Eligibility(TypedDict):
    """Why `results` is empty: no table reached the threshold. `topScore` is null where nothing was looked at."""

    status: Literal["no_match"]
    threshold: int
    topScore: Score | None


class FilterSeen(TypedDict):
    """Keys of the filter that nobody reads."""

    ignored: list[str]


Entry = TypedDict(
    "Entry",
    {
        "@context": list[Any],
        "identifier": Annotated[str, Keywords(pattern=URN)],
        "displayName": str,
        "type": str,
        "description": str,
        "representativeQueries": list[str],
        "tags": list[str],
        "okf:sourceDocument": NotRequired[str],
        "okf:sourceDirectory": str,
        "okf:unreadable": NotRequired[str],
        "okf:accessDescriptor": NotRequired[str],
        "trustManifest": NotRequired[dict[str, Any]],
        "data": Content,
    },
)
Entry.__doc__ = "A table, or a source, whole: its own words, and every other key of its front matter as an `okf:` term."

ListedEntry = TypedDict(
    "ListedEntry",
    {
        "@context": list[Any],
        "identifier": str,
        "displayName": str,
        "type": str,
        "description": str,
        "representativeQueries": list[str],
        "tags": list[str],
        "okf:sourceDocument": str,
        "okf:sourceDirectory": str,
        "okf:accessDescriptor": NotRequired[str],
        "trustManifest": NotRequired[dict[str, Any]],
        "url": str,
    },
)
ListedEntry.__doc__ = "A table in a list: where the whole of it is stands in `url`."


class Result(Entry):
    """An entry that was found, with its score; `source` is this registry's base URL."""

    score: Score
    embedScore: float
    rerankScore: NotRequired[float]
    foundBy: list[Literal["embedding", "phrasing", "source", "keyword"]]
    source: str


SearchReply = TypedDict(
    "SearchReply",
    {
        "@context": list[Any],
        "results": list[Result],
        "referrals": list[Any],
        "pageToken": None,
        "eligibility": NotRequired[Eligibility],
        "filter": NotRequired[FilterSeen],
        "notices": list[Told],
        "usage": Usage,
    },
)
SearchReply.__doc__ = "The tables that answer, the best of each source first; an empty list comes with `eligibility`."


class VariableReply(TypedDict):
    """Every source's document for one published variable, widest coverage first."""

    variable: str
    results: list[Entry]
    total: int
    truncated: bool


class Dimensions(TypedDict):
    """A set of dimensions that a quantity is split by, and how many variables use exactly that set."""

    constraints: list[str]
    count: int


class VariableLine(TypedDict):
    """One variable and how many documents it has."""

    variable: str
    displayName: str
    documents: int


class VariablesReply(TypedDict):
    """`dimensions` where no constraints were given, else `constraints` and the `variables` split by exactly those."""

    populationType: str
    measuredProperty: str
    statType: str
    dimensions: NotRequired[list[Dimensions]]
    constraints: NotRequired[list[str]]
    variables: NotRequired[list[VariableLine]]
    total: int
    truncated: bool


class Card(TypedDict):
    """The registry's name, and where to go on."""

    name: str
    store: str
    endpoints: dict[str, str]


class PublisherLine(TypedDict):
    """A domain that a filter may name, its source directories, and how many tables those hold."""

    publisher: str
    sources: list[str]
    entries: int


class PublishersReply(TypedDict):
    """Every publisher."""

    publishers: list[PublisherLine]
    total: int


AgentsReply = TypedDict(
    "AgentsReply",
    {
        "@context": list[Any],
        "items": list[ListedEntry],
        "entries": list[ListedEntry],
        "total": int,
        "totalSize": int,
        "pageSize": int,
        "offset": int,
        "pageToken": str | None,
    },
)
AgentsReply.__doc__ = "One page of tables, under both names that clients read; `pageToken` asks for the next one."


class Bucket(TypedDict):
    """A value and how many of the matching tables have it."""

    value: str
    count: int


class FacetCounts(TypedDict):
    """The largest buckets first; `otherCount` is how many tables lie in those that are not shown."""

    buckets: list[Bucket]
    otherCount: int


ExploreReply = TypedDict(
    "ExploreReply",
    {
        "@context": list[Any],
        "resultType": Literal["facets"],
        "facets": dict[str, FacetCounts],
        "total": int,
        "textMatch": NotRequired[Literal["lexical"]],
        "filter": NotRequired[FilterSeen],
    },
)
ExploreReply.__doc__ = "How the matching tables are spread over the values of each field asked for."


class Host(TypedDict):
    """Whose manifest it is."""

    displayName: str
    identifier: str
    documentationUrl: str


class ManifestEntry(TypedDict):
    """A source, or this registry itself."""

    identifier: Annotated[str, Keywords(pattern=URN)]
    displayName: str
    type: str
    description: NotRequired[str]
    tags: NotRequired[list[str]]
    representativeQueries: list[str]
    trustManifest: NotRequired[dict[str, Any]]
    url: str


class Manifest(TypedDict):
    """The ARD manifest."""

    specVersion: str
    host: Host
    entries: list[ManifestEntry]


class FolderLine(TypedDict):
    """A folder, and how many documents lie in it and below."""

    path: str
    title: str
    documents: int


class FileLine(TypedDict):
    """A document."""

    path: str
    title: str


class FolderReply(TypedDict):
    """What lies in a folder: its folders, and one page of its files."""

    dir: str
    dirs: list[FolderLine]
    files: list[FileLine]
    total: int
    pageToken: str | None


class Health(TypedDict):
    """Readiness and counters, from memory; what else stands here is the function's own."""

    ok: bool
    status: Literal["ready", "starting", "refused"]


class Latency(TypedDict):
    """Seconds, within 10 %; null where nothing was measured."""

    median: float | None
    p95: float | None


class ModelCounts(TypedDict):
    """Billed calls of one model, and how long an attempt took, failed ones included."""

    calls: int
    tokens: int
    cost_usd: float
    latency_seconds: Latency


class SiteCounts(TypedDict):
    """Questions to one site and what became of them; `left` are those whose reader went away before the end."""

    asks: int
    with_results: int
    no_match: int
    failed: int
    left: int
    latency_seconds: Latency


class Counts(TypedDict):
    """Searches and what became of them, and the same of the sites; `latency_seconds` of those that were answered.

    `callers` is how many different addresses, estimated within 2 %, and what models did is, too, of all together."""

    searches: int
    with_results: int
    no_match: int
    failed: int
    latency_seconds: Latency
    callers: int
    calls: int
    tokens: int
    cost_usd: float
    sites: dict[str, SiteCounts]


class DayCounts(Counts):
    """The same for one UTC day, and its models."""

    models: dict[str, ModelCounts]


class ProviderSpend(TypedDict):
    """What the gateway says that the key has spent, over all its life; null where it did not say."""

    name: Literal["openrouter"]
    spend_usd: float | None


class StatsReply(TypedDict):
    """Searches by UTC day, newest first, and by model. `scope` says whose: all instances', or this one's alone."""

    scope: Literal["all", "instance"]
    generated_at: str
    days: dict[str, DayCounts]
    models: dict[str, ModelCounts]
    total: Counts
    provider: ProviderSpend | None
    notices: list[Told]


class StatusResult(TypedDict):
    """One result of a sample question; `right` where it is one of those expected."""

    identifier: str
    title: str
    score: int
    right: bool


class StatusQuestion(TypedDict):
    """A sample question, what came back, and the rank of the first right result, from 1. At most 250 of a suite."""

    suite: str
    id: str
    text: str
    expected: list[str]
    results: list[StatusResult]
    verdict: Literal["right", "partly", "missed", "no_match_right", "no_match_wrong"]
    rank: int | None


class StatusScores(TypedDict):
    """Of all questions of a suite, shares from 0 to 1; null where no question of it counts there."""

    questions: int
    recall_at_1: float | None
    recall_at_10: float | None
    mrr: float | None
    no_match_right: float | None


class StatusCheck(TypedDict):
    """One check that a release had to pass, and what it found."""

    name: str
    verdict: Literal["passed", "failed", "skipped"]
    message: str


class StatusGate(TypedDict):
    """`forced`: a check failed, and the release was published all the same."""

    verdict: Literal["passed", "forced", "none"]
    checks: list[StatusCheck]


class StatusCatalog(TypedDict):
    """The ledger of one catalog's current release. `scores` is by suite."""

    catalog: str
    release: str
    label: str
    evaluated_at: str
    embedder: str
    judge: str
    scores: dict[str, StatusScores]
    gate: StatusGate
    questions: list[StatusQuestion]


class StatusReply(TypedDict):
    """What sample questions got from each mounted catalog's current release; none of releases without a ledger."""

    catalogs: list[StatusCatalog]


class ErrorBody(TypedDict):
    """Every error, whatever went wrong. docs/errors.md says what to do about each `code`."""

    error: str
    message: str
    code: str
    errorCode: Literal["INVALID_ARGUMENT", "NOT_FOUND", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR"]
    requestId: str
    retryAfterSeconds: NotRequired[int]
    retry_after: NotRequired[int]
    detail: NotRequired[dict[str, Any] | str]
    valid: NotRequired[list[str]]
    usage: NotRequired[Usage]


class RpcError(TypedDict):
    """What went wrong with a message, by JSON-RPC's numbers."""

    code: int
    message: str


class RpcReply(TypedDict):
    """A JSON-RPC response: `result`, or `error`."""

    jsonrpc: Literal["2.0"]
    id: str | int | None
    result: NotRequired[dict[str, Any]]
    error: NotRequired[RpcError]
