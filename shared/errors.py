"""Every error Askbucket raises on purpose.

    AskbucketError                      500 internal_error
    ├── RequestError                    400 invalid_request         the caller can mend it
    │   ├── UnknownName                 400 unknown_name            names the valid ones
    │   ├── NotFound                    404 not_found
    │   ├── MethodNotAllowed            405 method_not_allowed      with Allow
    │   ├── PayloadTooLarge             413 payload_too_large
    │   └── UriTooLong                  414 uri_too_long
    ├── QuotaExceeded                   429 quota_exceeded          a limit of this address or of all is used up
    ├── Busy                            429 busy                    too many paid requests are under way
    ├── Unavailable                     503 unavailable             waiting may mend it
    │   ├── Starting                    503 starting                the release is still loading
    │   ├── Stopping                    503 stopping                the process was told to stop
    │   ├── EmbeddingFailed             503 embedding_failed        the query could not be embedded
    │   ├── RelevanceScoringFailed      503 relevance_scoring_failed
    │   ├── ModelUnavailable            503 model_unavailable       a model or its weights cannot be had
    │   ├── BudgetExhausted             503 budget_exhausted        SPEND_LIMIT_USD_PER_DAY is reached
    │   ├── CacheUnusable               503 cache_unusable          CACHE_DIR is full, or not ours alone
    │   └── SiteUnavailable             503 site_unavailable        a site that SITE_URLS names did not answer
    ├── QueryCancelled                  504 query_cancelled         the deadline passed
    ├── ReleaseError                    503 release_unusable        what lies in the bucket cannot be served
    │   ├── ReleaseMissing              503 release_missing
    │   ├── ReleaseCorrupt              503 release_corrupt         bytes differ from the manifest
    │   ├── ReleaseIncompatible         503 release_incompatible    right bytes, wrong shape or version
    │   └── CatalogConflict             503 catalog_conflict        two catalogs cannot be combined
    ├── BucketError                     503 bucket_error            object storage failed
    │   ├── ObjectMissing               503 object_missing
    │   └── PreconditionFailed          503 precondition_failed     somebody else switched the pointer
    ├── StoreError                      503 store_error             Cosmos DB failed
    │   ├── StoreRefused                503 store_refused           it takes neither this key nor this request
    │   ├── StoreMissing                503 store_missing           it has no such database or container
    │   ├── StoreChanged                503 store_changed           somebody else wrote in the meantime
    │   └── StoreBusy                   503 store_busy              it was throttling for too long
    ├── SettingsError                   500 invalid_settings        raised before anything is served
    └── BuildError                      500 build_failed            an offline job refuses to go on

The class says the kind, `code` is the public name (docs/errors.md says what the caller should do about
each), `error_code` is the word the ARD specification uses for it, and `error_body` is the only place
that turns an error into JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class AskbucketError(Exception):
    """Base of the tree. `message` is shown to the caller: no path, secret or trace belongs in it."""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal_error"
    error_code: ClassVar[str] = "INTERNAL_ERROR"

    def __init__(
        self,
        message: str,
        *,
        detail: Mapping[str, Any] | str | None = None,
        usage: Mapping[str, Any] | None = None,
        retry_after_s: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail if isinstance(detail, str) else dict(detail or {})
        self.usage = usage
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> dict[str, str]:
        """Response headers that belong to this error."""
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}


class RequestError(AskbucketError):
    """The request is wrong and says how to mend it."""

    status = 400
    code = "invalid_request"
    error_code = "INVALID_ARGUMENT"


class UnknownName(RequestError):
    """A source, publisher, catalog or site that does not exist; carries the names that do."""

    code = "unknown_name"

    def __init__(self, message: str, valid: Sequence[str]) -> None:
        super().__init__(message)
        self.valid = list(valid)


class NotFound(RequestError):
    """No such route, entry or document."""

    status = 404
    code = "not_found"
    error_code = "NOT_FOUND"


class MethodNotAllowed(RequestError):
    """The route exists, the method does not."""

    status = 405
    code = "method_not_allowed"

    def __init__(self, message: str, allow: Sequence[str]) -> None:
        super().__init__(message)
        self.allow = list(allow)

    @property
    def headers(self) -> dict[str, str]:
        return {"Allow": ", ".join(self.allow)}


class PayloadTooLarge(RequestError):
    """The body is over AGENT_FINDER_MAX_BODY bytes."""

    status = 413
    code = "payload_too_large"


class UriTooLong(RequestError):
    """The path and query string are over MAX_URI_BYTES."""

    status = 414
    code = "uri_too_long"


class QuotaExceeded(AskbucketError):
    """What a client, or all clients, may ask in a day, an hour or a minute is used up."""

    status = 429
    code = "quota_exceeded"
    error_code = "RATE_LIMIT_EXCEEDED"


class Busy(AskbucketError):
    """As many paid requests are under way as may be. Nothing was charged."""

    status = 429
    code = "busy"
    error_code = "RATE_LIMIT_EXCEEDED"


class Unavailable(AskbucketError):
    """Nothing is wrong with the request; trying again may help."""

    status = 503
    code = "unavailable"


class Starting(Unavailable):
    """The release is still being fetched or opened."""

    code = "starting"


class Stopping(Unavailable):
    """The process was told to stop before it had loaded its release."""

    code = "stopping"


class EmbeddingFailed(Unavailable):
    """The query could not be embedded, so nothing was searched."""

    code = "embedding_failed"


class RelevanceScoringFailed(Unavailable):
    """The first source group, or a widening window, could not be judged. Embedding order is no substitute."""

    code = "relevance_scoring_failed"


class ModelUnavailable(Unavailable):
    """A model that a release or a setting names cannot be had: no key, or no weights installed."""

    code = "model_unavailable"


class BudgetExhausted(Unavailable):
    """Today's model spend reached SPEND_LIMIT_USD_PER_DAY; what needs no model call is still answered."""

    code = "budget_exhausted"


class CacheUnusable(Unavailable):
    """CACHE_DIR cannot hold the release: too small, not writable, or open to other users."""

    code = "cache_unusable"


class SiteUnavailable(Unavailable):
    """A site that SITE_URLS names did not answer, or not in its protocol."""

    code = "site_unavailable"


class QueryCancelled(AskbucketError):
    """The request's deadline passed."""

    status = 504
    code = "query_cancelled"


class ReleaseError(AskbucketError):
    """What lies in the bucket cannot be served. The message names the file, the expected and the found."""

    status = 503
    code = "release_unusable"


class ReleaseMissing(ReleaseError):
    """No pointer, no manifest, or nothing published under that catalog."""

    code = "release_missing"


class ReleaseCorrupt(ReleaseError):
    """A file's size or its bytes are not what the manifest says."""

    code = "release_corrupt"


class ReleaseIncompatible(ReleaseError):
    """The bytes are what was published, but this code cannot serve them."""

    code = "release_incompatible"


class CatalogConflict(ReleaseError):
    """Two mounted catalogs differ in embedder, share a source directory, or share a URN."""

    code = "catalog_conflict"


class BucketError(AskbucketError):
    """Object storage did not answer as it should."""

    status = 503
    code = "bucket_error"


class ObjectMissing(BucketError):
    """The bucket holds no such object."""

    code = "object_missing"


class PreconditionFailed(BucketError):
    """A conditional write lost: the object changed since it was read."""

    code = "precondition_failed"


class StoreError(AskbucketError):
    """Cosmos DB did not answer as it should."""

    status = 503
    code = "store_error"


class StoreRefused(StoreError):
    """Cosmos DB does not take the key, the identity or what was asked: asking again changes nothing."""

    code = "store_refused"


class StoreMissing(StoreError):
    """Cosmos DB has no database or container of that name."""

    code = "store_missing"


class StoreChanged(StoreError):
    """A conditional write lost: the document changed since it was read."""

    code = "store_changed"


class StoreBusy(StoreError):
    """More was asked of Cosmos DB than it is provisioned for, for longer than could be waited."""

    code = "store_busy"


class SettingsError(AskbucketError):
    """A setting is wrong or missing. Raised by `create()`, so that the process stops and says what to set."""

    code = "invalid_settings"


class BuildError(AskbucketError):
    """An offline job refuses to go on."""

    code = "build_failed"


def error_body(error: AskbucketError, request_id: str) -> dict[str, Any]:
    """The JSON body of an error: the union of what the page, the client library and the ARD tools read."""
    body: dict[str, Any] = {
        "error": error.message,
        "message": error.message,
        "code": error.code,
        "errorCode": error.error_code,
        "requestId": request_id,
    }
    if error.retry_after_s is not None:
        body["retryAfterSeconds"] = body["retry_after"] = error.retry_after_s
    if error.detail:
        body["detail"] = error.detail
    if isinstance(error, UnknownName):
        body["valid"] = error.valid
    if error.usage is not None:
        body["usage"] = error.usage
    return body
