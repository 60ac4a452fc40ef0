"""What `askbucket doctor` looks at: each check is one finding, or one for each catalog, and none stops the others.

Nothing is built, published or fetched, no model is called, and Cosmos DB is only asked how many items it holds. What
is written is one object below STATS_URL, which is removed again with the folders that it needed, an empty folder where
CACHE_DIR is or will be, removed at once, and a count in Redis that lasts a second.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from shared.bucket.base import Bucket, open_bucket
from shared.contracts.release import Manifest
from shared.errors import AskbucketError, BucketError, ModelUnavailable, ObjectMissing, ReleaseError
from shared.models.account import KeyRefused, key_spend_usd, model_ids
from shared.models.choice import judge_provider
from shared.models.weights import BGE_SMALL, INSTALL, installed, locate
from shared.release.cache import cache_failures, refuse_shared
from shared.release.manifest import Kind, file_key, pointer_key
from shared.release.reader import current, read_manifest
from shared.settings import Settings, secrets_of, without_userinfo
from shared.sites.kinds import KINDS
from shared.sites.store_choice import store_of
from shared.tables.catalogs import BUILT_IN, Mount, mounts
from shared.words import counted

_WRITTEN = "doctor"
Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `todo` says what to do about a warning or a failure, and is empty where all is well."""

    name: str
    status: Status
    message: str
    todo: str = ""


class Checkup:
    """Runs the checks over one set of settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._complete: list[tuple[Mount, Manifest]] = []  # of the releases that can be served
        self._told: set[str] = set()  # errors that a finding has named

    def findings(self) -> Iterator[Finding]:
        """Every finding, in the order of their checks. An expected error is a failure of its check alone."""
        checks: Sequence[tuple[str, Callable[[], Iterator[Finding]]]] = (
            ("keys", self._keys),
            ("bucket", self._bucket),
            ("releases", self._releases),
            ("embedder", self._embedder),
            ("models", self._models),
            ("weights", self._weights),
            ("cache", self._cache),
            ("cosmos", self._cosmos),
            ("redis", self._redis),
            ("stats", self._stats),
            ("mcp", self._mcp),
            ("settings", self._serving),
        )
        for name, check in checks:
            try:
                yield from check()
            except AskbucketError as error:
                yield self._refused(name, error)

    def _refused(self, name: str, error: AskbucketError) -> Finding:
        self._told.add(error.message)
        return Finding(name, "failed", self._safe(error.message), self._todo(name, error))

    def _todo(self, name: str, error: AskbucketError) -> str:
        if name in ("bucket", "releases") and not self._settings.bucket_url:
            return "set BUCKET_URL, or give --bucket URL"
        if isinstance(error, ModelUnavailable) and name in ("keys", "models"):
            return _TODO["keys" if isinstance(error, KeyRefused) else "models"]
        return _TODO.get(name, "")

    def _keys(self) -> Iterator[Finding]:
        """Who judges, and that the gateway takes the key."""
        settings, provider = self._settings, judge_provider(self._settings)
        status: Status = "warning" if provider == "none" else "ok"
        if not settings.openrouter_api_key:
            yield Finding("keys", status, f"no key is set; {self._judges(provider)}", self._to_be_judged(provider))
            return
        spent = key_spend_usd(settings)
        said = f"the gateway takes OPENROUTER_API_KEY, which has spent ${spent:.2f}; {self._judges(provider)}"
        yield Finding("keys", status, said, self._to_be_judged(provider))

    def _judges(self, provider: str) -> str:
        if provider != "none":
            return {"embedded": "the embedded models judge", "openrouter": "openrouter judges"}[provider]
        why = "LLM_PROVIDER=none" if self._settings.llm_provider else "the embedded models are not installed"
        return f"{why}: nobody judges, results come in the order of their vectors"

    def _to_be_judged(self, provider: str) -> str:
        if provider != "none":
            return ""
        if self._settings.llm_provider:
            return "unset LLM_PROVIDER where results should be judged"
        return f"set OPENROUTER_API_KEY, or run `{INSTALL}`"

    @cached_property
    def _mounts(self) -> tuple[Mount, ...]:
        """The tables' catalogs; none where the bucket has sites alone, whose tables are then not served."""
        mounted = mounts(self._settings)
        alone = self._sites and not self._settings.ard_catalogs and not _has_release(mounted[0])
        return () if alone else mounted

    @cached_property
    def _sites(self) -> tuple[Mount, ...]:
        """The sites in BUCKET_URL. Tables may have a kind's name, too; what cannot be read is taken for a site."""
        built_in = mounts(self._settings)[0]
        named = [Mount(kind, built_in.bucket) for kind in KINDS]
        try:
            return tuple(mount for mount in named if _has_release(mount) and _may_be_a_site(mount))
        except BucketError:
            return ()  # said of the built-in catalog, or by what refuses to serve

    def _bucket(self) -> Iterator[Finding]:
        for mount in self._mounts or self._sites[:1]:
            shown = f"{without_userinfo(mount.bucket.url)} can be read"
            try:
                mount.bucket.read(pointer_key(mount.name))
                yield Finding("bucket", "ok", shown)
            except ObjectMissing as error:
                yield Finding("bucket", "warning", f"{shown}, but {error.message}", _TODO["releases"])

    def _releases(self) -> Iterator[Finding]:
        """That each catalog's current release is complete, by the sizes of its files."""
        for mount in self._mounts:
            yield self._release(mount, "tables")
        yield from self._together()
        for mount in self._sites:
            yield self._release(mount, "items")

    def _release(self, mount: Mount, kind: Kind) -> Finding:
        try:
            return self._measured(mount, kind)
        except AskbucketError as error:
            self._told.add(error.message)
            todo = _rebuild(mount, kind) if isinstance(error, ReleaseError) else _TODO["bucket"]
            return Finding("releases", "failed", self._safe(error.message), todo)

    def _measured(self, mount: Mount, kind: Kind) -> Finding:
        """Raises ReleaseError and BucketError where it does not come as far as the files."""
        pointer = current(mount.bucket, mount.name)
        manifest = read_manifest(mount.bucket, mount.name, pointer.release, kind)
        for file in manifest.files:
            found = mount.bucket.size(file_key(mount.name, file.sha256))
            if found != file.bytes:
                message = f"{mount.name}: {file.role}: expected {file.bytes} bytes, found {found or 'none'}"
                return Finding("releases", "failed", message, f"run `{_rollback(mount)}`, or build with --force")
        self._complete.append((mount, manifest))
        return Finding("releases", "ok", f"{mount.name}: {pointer.release}, {_holds(manifest)}")

    def _together(self) -> Iterator[Finding]:
        embedders = {(each.embedder.model, each.embedder.dimension) for _, each in self._complete}
        if len(embedders) > 1:
            names = " and ".join(f"{model} ({dimension})" for model, dimension in sorted(embedders))
            yield Finding(
                "releases", "failed", f"catalogs were embedded differently: {names}", "rebuild with one embedder"
            )

    def _embedder(self) -> Iterator[Finding]:
        """That the embedder each manifest names can be had. A site serves without: then words alone find its items."""
        for mount, manifest in self._complete:
            embedder = manifest.embedder
            named = f"{mount.name} needs {embedder.model} ({embedder.provider}, {embedder.dimension} dimensions)"
            missing = self._lacks(manifest)
            lacking: Status = "warning" if manifest.kind == "items" else "failed"
            yield Finding("embedder", lacking if missing else "ok", named, missing)

    def _lacks(self, manifest: Manifest) -> str:
        """What to do before this release's embedder can be had, or nothing."""
        if manifest.embedder.provider == "openrouter":
            return (
                "" if self._settings.openrouter_api_key else "set OPENROUTER_API_KEY, or build with --embedder embedded"
            )
        if manifest.embedder.model != BGE_SMALL.model:
            return f"rebuild: this version carries {BGE_SMALL.model}"
        return "" if installed() else f"run `{INSTALL}`"

    def _models(self) -> Iterator[Finding]:
        """That the gateway knows the models it will be asked for."""
        settings = self._settings
        if not settings.openrouter_api_key:
            yield Finding("models", "ok", "no model of the gateway is asked for without a key")
            return
        known = model_ids(settings)
        if judge_provider(settings) == "openrouter":
            yield self._known(settings.rerank_model or settings.openrouter_model, known, "RERANK_MODEL", "failed")
        embedders = [each.embedder for _, each in self._complete if each.embedder.provider == "openrouter"]
        for model in sorted({each.model for each in embedders}):
            # Gateways list embedding models elsewhere: not to be listed here is no proof.
            yield self._known(model, known, "the release's embedder", "warning")

    def _known(self, model: str, known: frozenset[str], named: str, otherwise: Status) -> Finding:
        if model.partition(":")[0] in {each.partition(":")[0] for each in known}:
            return Finding("models", "ok", f"the gateway knows {model}")
        return Finding(
            "models", otherwise, f"the gateway does not list {model} ({named})", f"check the spelling of {model}"
        )

    def _weights(self) -> Iterator[Finding]:
        """That the embedded models' files are the ones that were measured."""
        if not installed():
            status = self._without_weights()
            yield Finding("weights", status, "not installed", "" if status == "ok" else f"run `{INSTALL}`")
            return
        locate(BGE_SMALL)
        yield Finding("weights", "ok", f"{BGE_SMALL.model} is installed and intact")

    def _without_weights(self) -> Status:
        """How bad it is that they are not installed: tables and the judge need them, a site has its words."""
        embedded = {each.kind for _, each in self._complete if each.embedder.provider == "embedded"}
        if "tables" in embedded or judge_provider(self._settings) == "embedded":
            return "failed"
        return "warning" if embedded else "ok"

    def _cache(self) -> Iterator[Finding]:
        """That CACHE_DIR is this user's alone, can be written, and has room for what has to be copied."""
        folder = Path(self._settings.cache_dir)
        there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
        with cache_failures(), tempfile.TemporaryDirectory(prefix="doctor-", dir=there):
            free, needed = shutil.disk_usage(there).free, self._to_copy()
        if there == folder:
            refuse_shared(folder)
        said = f"CACHE_DIR has {_mb(free)} free, the releases need {_mb(needed)} of it"
        if free < needed:
            yield Finding("cache", "failed", said, _TODO["cache"])
        elif free < 2 * needed:
            yield Finding("cache", "warning", f"{said}: too little for a second one beside it", _TODO["cache"])
        else:
            yield Finding("cache", "ok", said)

    def _to_copy(self) -> int:
        """Bytes of the files that cannot be mapped where they lie."""
        return sum(
            file.bytes
            for mount, manifest in self._complete
            for file in manifest.files
            if mount.bucket.local_path(file_key(mount.name, file.sha256)) is None
        )

    def _cosmos(self) -> Iterator[Finding]:
        """That the container is there, fits each release of a site that reads it, and holds as many items."""
        sites = [(mount, manifest) for mount, manifest in self._complete if self._is_in_cosmos(manifest)]
        if not sites:
            said = "no site reads it" if self._settings.cosmos_endpoint else "COSMOS_ENDPOINT is not set"
            yield Finding("cosmos", "ok", f"{said}: every site has its vectors in memory")
            return
        from build_jobs.cosmos.check import counted_in, misfits_of
        from shared.index.cosmos_client import Account, of_a_question

        with closing(Account(self._settings, of_a_question(self._settings))) as account:
            for mount, manifest in sites:
                load = f"run `askbucket load-cosmos --site {manifest.catalog}`"
                if wrong := misfits_of(account, manifest.embedder.dimension):
                    yield Finding("cosmos", "failed", f"{manifest.catalog}: {'; '.join(wrong)}", _TODO["cosmos"])
                    continue
                there = counted_in(account.container, manifest.catalog)
                wanted = self._kept_in_cosmos(mount, manifest)
                said = f"{manifest.catalog}: the container holds {counted(there, 'item')} for {wanted:,}"
                lacks = there < wanted
                yield Finding("cosmos", "failed" if lacks else "ok", said, load if lacks else "")

    def _kept_in_cosmos(self, mount: Mount, manifest: Manifest) -> int:
        """How many items the container should hold: all but those that are too large for it."""
        from build_jobs.cosmos.listed import release_ids

        release = current(mount.bucket, mount.name).release
        listed = release_ids(mount.bucket, mount.name, release, Path(self._settings.cache_dir))
        return sum(map(bool, listed)) if listed else manifest.rows

    def _is_in_cosmos(self, manifest: Manifest) -> bool:
        return manifest.kind == "items" and store_of(self._settings, manifest.catalog) == "cosmos"

    def _redis(self) -> Iterator[Finding]:
        if not self._settings.rate_limit_storage_url:
            yield Finding("redis", "ok", "RATE_LIMIT_STORAGE_URL is not set: each instance counts for itself")
            return
        from shared.edge.limits import RedisCounts

        now = time.time()
        if RedisCounts(self._settings.rate_limit_storage_url).add("doctor", now + 1, now) is None:
            message = "Redis does not answer: limits are not counted, every request passes"
            yield Finding("redis", "failed", message, _TODO["redis"])
        else:
            yield Finding("redis", "ok", "Redis counts")

    def _stats(self) -> Iterator[Finding]:
        if not self._settings.stats_url:
            yield Finding("stats", "ok", "STATS_URL is not set: /stats.json counts one instance only")
            return
        with _as_it_was(self._settings.stats_url):
            self._write_and_read(open_bucket(self._settings.stats_url, self._settings))
        yield Finding("stats", "ok", f"{without_userinfo(self._settings.stats_url)} can be written")

    def _write_and_read(self, bucket: Bucket) -> None:
        key, data = f"{_WRITTEN}/{os.urandom(8).hex()}", b"written by askbucket doctor"
        bucket.put(key, data)
        try:
            bucket.read(key)
        finally:
            bucket.delete(key)

    def _mcp(self) -> Iterator[Finding]:
        if importlib.util.find_spec("mcp") is None:
            yield Finding("mcp", "warning", "the package is not installed: /mcp cannot answer", _TODO["mcp"])
        else:
            yield Finding("mcp", "ok", "the package is installed")

    def _serving(self) -> Iterator[Finding]:
        """That `askbucket serve` takes these settings. Said only where it does not, and no other check has said why."""
        from cli.gateway import gateway

        try:
            gateway(self._settings)  # makes every function and starts none
        except AskbucketError as error:
            if error.message not in self._told:
                yield self._refused("settings", error)

    def _safe(self, message: str) -> str:
        """The message without what must not be shown, should a library have put it there."""
        for secret in secrets_of(self._settings):
            message = message.replace(secret, "(secret)") if secret else message
        return message


def unusable(error: AskbucketError) -> Finding:
    """The finding of settings that cannot even be read."""
    return Finding("settings", "failed", error.message, _TODO["settings"])


def _has_release(mount: Mount) -> bool:
    """Whether a catalog has a pointer, sound or not. Raises BucketError."""
    try:
        mount.bucket.read(pointer_key(mount.name))
    except ObjectMissing:
        return False
    return True


def _may_be_a_site(mount: Mount) -> bool:
    """Whether the current release is of items, or cannot be read. Raises BucketError."""
    try:
        return read_manifest(mount.bucket, mount.name, current(mount.bucket, mount.name).release).kind == "items"
    except ReleaseError:
        return True


def _holds(manifest: Manifest) -> str:
    if manifest.kind == "items":
        return f"{counted(manifest.rows, 'item')} of {manifest.label}"
    sources = sum(len(family.sources) for family in manifest.families)
    return f"{counted(manifest.rows, 'table')} of {counted(sources, 'source')}"


def _rollback(mount: Mount) -> str:
    return "askbucket rollback" + ("" if mount.name == BUILT_IN else f" --catalog {mount.name}")


def _rebuild(mount: Mount, kind: Kind) -> str:
    """What to do about a release that cannot be read."""
    build = f"build items --site {mount.name}" if kind == "items" else "build tables"
    return f"run `askbucket {build}`, or `{_rollback(mount)}`"


@contextmanager
def _as_it_was(url: str) -> Iterator[None]:
    """Remove the folders of a `file://` bucket that were not there before, unless somebody wrote into them since."""
    folder = Path(unquote(urlsplit(url).path)) / _WRITTEN
    made = [each for each in (folder, *folder.parents) if not each.exists()] if url.startswith("file:") else []
    try:
        yield
    finally:
        for each in made:
            with suppress(OSError):
                each.rmdir()


def _mb(size: int) -> str:
    return f"{size / 1_000_000:,.0f} MB"


_TODO = {
    "settings": "see docs/settings.md",
    "keys": "set a valid OPENROUTER_API_KEY, or LLM_PROVIDER=embedded",
    "bucket": "check BUCKET_URL and the credentials that this process has for it",
    "releases": "run `askbucket build tables`, or `askbucket rollback`",
    "models": "check OPENROUTER_BASE_URL and the network",
    "weights": f"run `{INSTALL}`",
    "cache": "give CACHE_DIR more room, or set it to a folder that this user alone can write to",
    "cosmos": "check COSMOS_ENDPOINT, COSMOS_KEY or the roles of the identity, and `askbucket load-cosmos --check`",
    "redis": "check RATE_LIMIT_STORAGE_URL and that its server runs",
    "stats": "check STATS_URL and that this process may write there",
    "mcp": "run `pip install --require-hashes -r requirements.txt`",
}
