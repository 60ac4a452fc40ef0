"""Storage that refuses, breaks, stalls, lies or crawls: retried within bounds, then a typed error; never a mix."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from fakes.storage import Proxy, gcs_server, s3_server
from msgspec.structs import replace
from ranges import read_range
from releases import CATALOG, digest_of, published, some_files
from wire import ROOT, Service, free_port, function

from shared.bucket.file import FileBucket
from shared.bucket.gcs import GcsBucket, LocalTokens
from shared.bucket.gcs_reads import MetadataTokens, Pool, Reader
from shared.bucket.remote import Address, Patience, is_transient
from shared.bucket.s3 import S3Bucket
from shared.errors import BucketError, ObjectMissing, PreconditionFailed, ReleaseError
from shared.release import cache, reader, writer
from shared.release import manifest as manifests
from shared.settings import Settings

Cloud = GcsBucket | S3Bucket
# Waits for whatever is coming, however busy the machine, and not between its attempts.
PATIENT = Patience(
    connect_s=30.0, silence_s=30.0, attempts=4, total_s=120.0, first_delay_s=0.01, longest_delay_s=0.02, upload_s=60.0
)
# Gives silence up soon. On a busy machine it takes a slow answer for silence, so it has attempts to spare for that.
HURRIED = replace(PATIENT, silence_s=0.25, upload_s=0.5, attempts=50)
SILENT = ("stalled", "silent")
SIZE = 3_000
RANGE = 2_048
# Enough for every kind of read: pointer, manifest, two sizes, two ranges of each of two files.
ROLES = ("vectors", "records")
READS = 8
# One failure of each of these must not be noticed; `lost` is a reset for a read.
PASSING = ("reset", "died", "cut", "stalled", "silent", "short", "elsewhere", "503")
LASTING = ("refused", "reset", "died", "stalled", "silent", "503")


@pytest.fixture(scope="module")
def gcs_address() -> Iterator[str]:
    with gcs_server() as address:
        yield address


@pytest.fixture(scope="module")
def s3_address() -> Iterator[str]:
    with s3_server() as address, pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        yield address


@pytest.fixture(params=["gs", "s3"])
def proxy(request: pytest.FixtureRequest) -> Iterator[Proxy]:
    """A proxy in front of each cloud's server."""
    name = "gcs_address" if request.param == "gs" else "s3_address"
    with Proxy(request.getfixturevalue(name)) as proxy:
        yield proxy


@pytest.fixture
def opened(request: pytest.FixtureRequest, proxy: Proxy, tmp_path: Path) -> Iterator[Callable[..., Cloud]]:
    """Opens the test's own bucket through the proxy, or straight (`address`), as another process would."""
    kind: str = request.node.callspec.params["proxy"]
    made: list[Cloud] = []

    def open_one(address: str = proxy.address, patience: Patience = PATIENT) -> Cloud:
        url = f"{kind}://contract/{tmp_path.name}"
        if kind == "gs":
            made.append(GcsBucket(url, Settings(storage_emulator_host=address), patience))
        else:
            made.append(S3Bucket(url, Settings(aws_endpoint_url=f"http://{address}"), patience))
        return made[-1]

    yield open_one
    for bucket in made:
        bucket.close()


@pytest.fixture
def bucket(opened: Callable[..., Cloud]) -> Cloud:
    return opened()


@pytest.fixture
def straight(opened: Callable[..., Cloud], proxy: Proxy) -> Cloud:
    """The same bucket without the proxy's faults, as another process would see it."""
    return opened(proxy.target, Patience())


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small ranges, so that small files have several."""
    for module in (cache, writer, manifests):
        monkeypatch.setattr(module, "RANGE_BYTES", RANGE)


def fetched(bucket: Cloud | FileBucket, folder: Path, **how: Any) -> tuple[str, dict[str, bytes]]:
    """The release fetched into a cache of its own, as (id, role → bytes)."""
    release = reader.fetch(bucket, CATALOG, ROLES, folder / "cache", **how)
    try:
        return release.id, {role: path.read_bytes() for role, path in release.paths.items()}
    finally:
        release.close()
        shutil.rmtree(folder / "cache")


def made(folder: Path, seed: str = "a", size: int = SIZE) -> dict[str, bytes]:
    files = some_files(folder / "again", seed, size)
    return {role: files[role].read_bytes() for role in ROLES}


def nothing(number: int, what: str) -> None:
    """No fault."""


def at(which: int, do: Callable[[], object], fault: str | None = None) -> Callable[[int, str], str | None]:
    """Does something before one request is passed on, and names the fault that it is to have."""

    def before(number: int, what: str) -> str | None:
        if number != which:
            return None
        do()
        return fault

    return before


@pytest.mark.parametrize("fault", PASSING)
def test_R08_any_one_read_that_fails_is_tried_again(
    opened: Callable[..., Cloud], straight: Cloud, proxy: Proxy, tmp_path: Path, ranges: None, fault: str
) -> None:
    """The k-th read fails, for every k: pointer, manifest, sizes and ranges."""
    release_id = published(straight, tmp_path, size=SIZE)
    expected = (release_id, made(tmp_path))
    assert fetched(opened(), tmp_path) == expected
    assert len(proxy.requests) == READS
    bucket = opened(patience=HURRIED if fault in SILENT else PATIENT)
    for k in range(READS):
        begun = len(proxy.requests)
        proxy.fault = lambda number, what, k=begun + k: fault if number == k else None
        assert fetched(bucket, tmp_path) == expected, f"read {k}"
        assert len(proxy.requests) - begun > READS - 1


@pytest.mark.parametrize("fault", LASTING)
def test_R08_storage_that_keeps_failing_is_a_typed_error_after_a_few_attempts(
    opened: Callable[..., Cloud], straight: Cloud, proxy: Proxy, tmp_path: Path, fault: str
) -> None:
    straight.put("o", b"0123456789")
    source = tmp_path / "source"
    source.write_bytes(b"x")
    address = f"127.0.0.1:{free_port()}" if fault == "refused" else proxy.address
    bucket = opened(address, replace(HURRIED if fault in SILENT else PATIENT, attempts=2, total_s=1.5))
    proxy.fault = lambda number, what: fault
    uses: list[tuple[str, Callable[[], object]]] = [
        ("read", lambda: bucket.read("o")), ("read", lambda: bucket.read_versioned("o")),
        ("read", lambda: read_range(bucket, "o", 0, 10)),
        ("listed", lambda: list(bucket.keys("o"))),
    ]  # fmt: skip
    if fault not in ("died", "stalled"):  # these two come after the write was done, and have no body to break
        uses += [
            ("read", lambda: bucket.size("o")), ("deleted", lambda: bucket.delete("o")),
            ("written", lambda: bucket.put("o", b"")), ("written", lambda: bucket.put_if("o", b"", None)),
            ("written", lambda: bucket.put_file("o", source)),
        ]  # fmt: skip
    for done, use in uses:
        before = len(proxy.requests)
        with pytest.raises(BucketError, match=f"'o' could not be {done}: (storage|the connection)") as caught:
            use()
        assert type(caught.value) is BucketError
        assert len(proxy.requests) - before <= 10
        for secret in ("127.0.0.1", str(tmp_path), "test", "http"):
            assert secret not in caught.value.message


def test_R08_only_what_may_pass_is_tried_again() -> None:
    assert [status for status in range(200, 600) if is_transient(status)] == [408, 429, *range(500, 600)]


def test_patience_ends_within_seconds() -> None:
    """The longest that silence can last: until the budget is over, plus the attempt that is under way then."""
    patience = Patience()
    assert patience.total_s + patience.silence_s + patience.connect_s <= 25
    delays = sum(min(patience.longest_delay_s, patience.first_delay_s * 2**n) for n in range(patience.attempts - 1))
    assert delays <= 5


def test_R08_a_stream_goes_on_where_it_broke(bucket: Cloud, straight: Cloud, proxy: Proxy) -> None:
    data = os.urandom(1_000_000)
    straight.put("o", data)
    broken: list[str] = []

    def breaks(number: int, what: str) -> str | None:
        broken.append(proxy.headers[number]["Range"])
        return "died" if len(broken) < 3 else None

    proxy.fault = breaks
    assert read_range(bucket, "o", 0, 1_000_000) == data
    starts = [int(range_.removeprefix("bytes=").partition("-")[0]) for range_ in broken]
    assert starts[0] == 0
    assert 0 < starts[1] < starts[2]


def test_R08_a_line_that_breaks_often_is_slow_and_not_dead(bucket: Cloud, straight: Cloud, proxy: Proxy) -> None:
    """Each answer brings 100 kB or half of what is left, and there are more of them than attempts."""
    data = os.urandom(1_000_000)
    straight.put("o", data)
    proxy.fault = lambda number, what: "died" if number < PATIENT.attempts + 2 else None
    proxy.largest = 100_000
    assert read_range(bucket, "o", 0, 1_000_000) == data


def test_R08_a_server_that_brings_next_to_nothing_is_given_up(bucket: Cloud, straight: Cloud, proxy: Proxy) -> None:
    straight.put("o", b"0123456789" * 100)
    proxy.fault = lambda number, what: "died"
    with pytest.raises(BucketError, match="could not be read"):
        read_range(bucket, "o", 0, 1_000)
    assert len(proxy.requests) == PATIENT.attempts


@pytest.mark.parametrize("status", ["400", "401", "403"])
def test_a_refusal_is_not_tried_again(bucket: Cloud, proxy: Proxy, status: str) -> None:
    proxy.fault = lambda number, what: status
    for use in (lambda: read_range(bucket, "o", 0, 1), lambda: bucket.read("o")):
        with pytest.raises(BucketError, match="could not be read"):
            use()
    assert len(proxy.requests) == 2


def test_a_conditional_write_whose_answer_was_lost_is_known_to_have_won(
    bucket: Cloud, straight: Cloud, proxy: Proxy
) -> None:
    proxy.fault = lambda number, what: "lost" if number == 0 else None
    version = bucket.put_if("p", b"mine", None)
    assert straight.read_versioned("p") == (b"mine", version)
    begun = len(proxy.requests)
    proxy.fault = lambda number, what: "lost" if number == begun else None
    changed = bucket.put_if("p", b"mine again", version)
    assert straight.read_versioned("p") == (b"mine again", changed)


def test_a_conditional_write_whose_answer_was_lost_and_that_lost_says_so(
    bucket: Cloud, straight: Cloud, proxy: Proxy
) -> None:
    version = straight.put_if("p", b"1", None)

    def another_was_first(number: int, what: str) -> str | None:
        if number:
            return None
        straight.put_if("p", b"theirs", version)
        return "reset"

    proxy.fault = another_was_first
    with pytest.raises(PreconditionFailed):
        bucket.put_if("p", b"mine", version)
    assert straight.read("p") == b"theirs"


def test_R07_an_object_replaced_at_any_moment_of_a_download_is_never_mixed_in(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tmp_path: Path, ranges: None
) -> None:
    """Before the k-th read, for every k, each file's object gets other bytes of the same length."""
    release_id = published(straight, tmp_path, size=SIZE)
    right = made(tmp_path)
    keys = {role: manifests.file_key(CATALOG, digest_of(straight, release_id, role)) for role in right}
    refused = 0
    for k in range(READS):
        proxy.fault = at(len(proxy.requests) + k, lambda: [straight.put(key, b"\0" * SIZE) for key in keys.values()])
        try:
            assert fetched(bucket, tmp_path) == (release_id, right)
        except (ReleaseError, ObjectMissing):
            refused += 1
        only_right_files(tmp_path / "cache", right)
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        for role, key in keys.items():
            straight.put(key, right[role])
    proxy.fault = nothing
    assert refused > 0
    assert fetched(bucket, tmp_path) == (release_id, right)


def test_R07_a_pointer_that_moves_at_any_moment_of_a_download_gives_one_whole_release(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tmp_path: Path, ranges: None
) -> None:
    """Before the k-th read, for every k, two newer releases are published and the first one is pruned."""
    contents = {seed: made(tmp_path, seed) for seed in "abc"}

    def publish(seed: str) -> str:
        return published(straight, tmp_path, seed, size=SIZE, created_at=f"2026-01-0{'abc'.index(seed) + 1}T00:00:00Z")

    def move() -> None:
        publish("b")
        publish("c")
        writer.prune(straight, CATALOG, keep=1)

    found = []
    for k in range(READS):
        for key in list(straight.keys("")):
            straight.delete(key)
        publish("a")
        proxy.fault = at(len(proxy.requests) + k, move)
        _, files = fetched(bucket, tmp_path)
        found += [seed for seed, content in contents.items() if content == files]
    assert len(found) == READS
    assert {"a", "c"} >= set(found)
    assert "c" in found


def test_R09_slow_storage_is_waited_for_and_its_progress_is_seen(
    opened: Callable[..., Cloud], straight: Cloud, proxy: Proxy, tmp_path: Path, ranges: None
) -> None:
    """Bytes come so slowly that a download takes far longer than the silence that would end it."""
    release_id = published(straight, tmp_path, size=SIZE * 4)
    proxy.bytes_per_s = 60_000
    steps: list[tuple[int, int]] = []
    found = fetched(opened(patience=HURRIED), tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert found == (release_id, made(tmp_path, size=SIZE * 4))
    assert steps == sorted(steps)
    assert len({done for done, _ in steps}) > 8
    assert steps[-1] == (SIZE * 8, SIZE * 8)


FETCH = """
import resource, sys
from pathlib import Path
from shared.bucket.base import open_bucket
from shared.errors import AskbucketError
from shared.release import reader
from shared.settings import Settings
if sys.argv[3] != "0":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]),) * 2)
try:
    bucket = open_bucket(sys.argv[1], Settings.from_env())
    release = reader.fetch(bucket, "built-in", ["vectors", "records"], Path(sys.argv[2]))
except AskbucketError as error:
    print(error.code, error.message)
else:
    print("fetched", release.id)
"""


def fetching(bucket: Cloud, proxy: Proxy, cache_dir: Path, limit_bytes: int = 0) -> subprocess.Popen[str]:
    """Another process that fetches the release."""
    env = {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test", **environment(bucket, proxy.address),
    }  # fmt: skip
    command = [sys.executable, "-c", FETCH, bucket.url, str(cache_dir), str(limit_bytes)]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def environment(bucket: Cloud, address: str) -> dict[str, str]:
    if isinstance(bucket, GcsBucket):
        return {"STORAGE_EMULATOR_HOST": address}
    return {"AWS_ENDPOINT_URL": f"http://{address}"}


def only_right_files(cache_dir: Path, expected: Mapping[str, bytes]) -> None:
    """Whatever has a final name in the cache is complete and right."""
    if cache_dir.exists():
        found = [path.read_bytes() for path in (cache_dir / "files").iterdir() if path.suffix != ".part"]
        assert all(content in expected.values() for content in found)


def test_a_download_killed_in_the_middle_leaves_nothing_half_written_and_the_next_start_succeeds(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tmp_path: Path
) -> None:
    release_id = published(straight, tmp_path, size=200_000)
    proxy.bytes_per_s = 20_000  # 20 s in all: it is killed in the middle however late its first bytes are seen
    process = fetching(bucket, proxy, tmp_path / "cache")
    try:
        deadline = time.monotonic() + 60
        while not (parts := list((tmp_path / "cache").glob("files/*.part"))) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert parts
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert list((tmp_path / "cache").glob("files/*.part"))
    only_right_files(tmp_path / "cache", made(tmp_path, size=200_000))
    proxy.bytes_per_s = 0
    release = reader.fetch(bucket, CATALOG, ROLES, tmp_path / "cache")
    assert release.id == release_id
    assert {role: path.read_bytes() for role, path in release.paths.items()} == made(tmp_path, size=200_000)
    assert not list((tmp_path / "cache").glob("files/*.part"))
    release.close()


def test_R10_a_cache_that_cannot_hold_a_file_is_a_clear_failure_and_no_crash(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tmp_path: Path
) -> None:
    """The operating system refuses files over 100 kB, as a full disk refuses them."""
    release_id = published(straight, tmp_path, size=200_000)
    process = fetching(bucket, proxy, tmp_path / "cache", limit_bytes=100_000)
    said, _ = process.communicate(timeout=60)
    assert said.startswith("cache_unusable CACHE_DIR cannot be used: ")
    assert str(tmp_path) not in said
    assert process.returncode == 0
    assert list((tmp_path / "cache" / "files").iterdir()) == []
    process = fetching(bucket, proxy, tmp_path / "cache")
    assert process.communicate(timeout=60)[0].split() == ["fetched", release_id]


def test_R09_a_function_on_slow_storage_says_that_it_is_loading_until_it_is_ready(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tiny_bucket: str, tmp_path: Path
) -> None:
    source = FileBucket(tiny_bucket)
    for key in source.keys(""):
        straight.put(key, source.read(key))
    proxy.bytes_per_s = 5_000
    settings = {
        "BUCKET_URL": bucket.url, "CACHE_DIR": str(tmp_path / "cache"), "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test", **environment(bucket, proxy.address),
    }  # fmt: skip
    query = {"query": {"text": "life expectancy"}, "rerank": False}
    with function("search", settings) as service:
        loading = loading_health(service)
        assert 0 < loading["done_bytes"] < loading["total_bytes"]
        refused = service.post("/search", query)
        assert (refused.status, refused.json["error"]) == (503, "Service is starting")
        assert int(refused.headers["Retry-After"]) >= 1
        proxy.bytes_per_s = 0
        assert service.until_ready().status == 200
        assert service.post("/search", query).status == 200
    assert not [what for what in proxy.requests if not what.startswith(("GET ", "HEAD "))], "a function only reads"


def loading_health(service: Service) -> Mapping[str, Any]:
    """What /health says once the download has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            health = service.get("/health")
        except OSError:
            continue
        finally:
            time.sleep(0.02)
        assert health.status == 503
        assert health.json["code"] == "starting"
        if health.json["done_bytes"]:
            return dict(health.json)
    raise AssertionError("no download began")


class Tokens(BaseHTTPRequestHandler):
    """A metadata server."""

    answers: list[tuple[int, bytes]]
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.asked.append((self.path, self.headers["Metadata-Flavor"]))
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815 - a name of http.server


@pytest.fixture
def metadata() -> Iterator[tuple[str, type[Tokens]]]:
    class Here(Tokens):
        """The state of one test."""

    Here.answers = [(200, b'{"access_token": "first", "expires_in": 3599, "token_type": "Bearer"}')]
    Here.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"127.0.0.1:{server.server_address[1]}", Here
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool(PATIENT)
    yield pool
    pool.close()


def a_reader(gcs_address: str, metadata_host: str, pool: Pool) -> Reader:
    tokens = MetadataTokens(pool, metadata_host)
    return Reader(f"http://{gcs_address}", Address("contract", ""), pool, tokens, PATIENT)


def test_a_function_asks_the_metadata_server_once_for_many_reads(
    gcs_address: str, metadata: tuple[str, type[Tokens]], pool: Pool
) -> None:
    address, server = metadata
    with Proxy(gcs_address) as proxy:
        reads = a_reader(proxy.address, address, pool)
        for _ in range(3):
            assert reads.stat("missing") is None
        assert server.asked == [("/computeMetadata/v1/instance/service-accounts/default/token", "Google")]
        assert {sent["Authorization"] for sent in proxy.headers} == {"Bearer first"}


def test_a_token_is_replaced_before_it_ends(gcs_address: str, metadata: tuple[str, type[Tokens]], pool: Pool) -> None:
    address, server = metadata
    server.answers = [(200, b'{"access_token": "short", "expires_in": 59}'), server.answers[0]]
    with Proxy(gcs_address) as proxy:
        reads = a_reader(proxy.address, address, pool)
        for _ in range(3):
            reads.stat("missing")
        assert [sent["Authorization"] for sent in proxy.headers] == ["Bearer short", "Bearer first", "Bearer first"]


@pytest.mark.parametrize(
    "answer", [(503, b""), (404, b""), (200, b"not JSON"), (200, b"[]"), (200, b"{}"), (200, b'{"access_token": "x"}')]
)
def test_a_metadata_server_that_fails_once_is_asked_again_and_else_is_a_typed_error(
    gcs_address: str, metadata: tuple[str, type[Tokens]], pool: Pool, answer: tuple[int, bytes]
) -> None:
    address, server = metadata
    server.answers = [answer, server.answers[0]]
    reads = a_reader(gcs_address, address, pool)
    assert reads.stat("missing") is None
    server.answers = [answer]
    with pytest.raises(BucketError, match="'missing' could not be read"):
        a_reader(gcs_address, address, pool).stat("missing")


def test_no_metadata_server_is_a_typed_error(gcs_address: str, pool: Pool) -> None:
    with pytest.raises(BucketError, match="'missing' could not be read"):
        a_reader(gcs_address, f"127.0.0.1:{free_port()}", pool).stat("missing")


def test_without_credentials_a_cloud_is_a_typed_error_that_names_no_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "missing"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    elsewhere = Settings(aws_endpoint_url=f"http://127.0.0.1:{free_port()}")
    for bucket in (GcsBucket("gs://contract", elsewhere, PATIENT), S3Bucket("s3://contract", elsewhere, PATIENT)):
        for use in (lambda one=bucket: one.read("o"), lambda one=bucket: one.put("o", b"")):
            with pytest.raises(BucketError, match=r"no usable credentials for .* were found") as caught:
                use()
            assert str(tmp_path) not in caught.value.message
        bucket.close()


def test_the_credentials_of_this_machine_are_used_where_no_platform_gives_any(
    gcs_address: str, metadata: tuple[str, type[Tokens]], pool: Pool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A service account's key file, as google-auth finds it; the token comes from the server that the file names."""
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa", reason="cryptography is not installed")
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    address, server = metadata
    key = rsa.generate_private_key(65537, 2048).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    account = {
        "type": "service_account", "client_email": "a@b.test", "private_key": key.decode(), "project_id": "p",
        "token_uri": f"http://{address}/token",
    }  # fmt: skip
    (tmp_path / "key.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "key.json"))
    with Proxy(gcs_address) as proxy:
        reads = Reader(f"http://{proxy.address}", Address("contract", ""), pool, LocalTokens(), PATIENT)
        assert (reads.stat("missing"), reads.stat("missing")) == (None, None)
        assert [sent["Authorization"] for sent in proxy.headers] == ["Bearer first"] * 2
    assert [path for path, _ in server.asked] == ["/token"]


def test_X02_storage_cannot_send_a_read_elsewhere(gcs_address: str, metadata: tuple[str, type[Tokens]]) -> None:
    """A redirect is an error, so that only the storage host is ever spoken to, and gets a token."""
    address, server = metadata
    with Proxy(gcs_address, fault=lambda number, what: "redirect", elsewhere_url=f"http://{address}/") as proxy:
        bucket = GcsBucket("gs://contract", Settings(storage_emulator_host=proxy.address), PATIENT)
        for use in (lambda: bucket.read("o"), lambda: bucket.size("o"), lambda: read_range(bucket, "o", 0, 1)):
            with pytest.raises(BucketError, match="storage answered 302"):
                use()
        bucket.close()
    assert server.asked == []


def test_X02_what_the_environment_says_about_proxies_does_not_lead_reads_elsewhere(
    gcs_address: str, metadata: tuple[str, type[Tokens]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, server = metadata
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, f"http://{address}")
    bucket = GcsBucket("gs://contract", Settings(storage_emulator_host=gcs_address), PATIENT)
    assert bucket.size("missing") is None
    bucket.close()
    assert server.asked == []


LOADED = """
import sys
before = set(sys.modules)
from pathlib import Path
from shared.bucket.base import open_bucket
from shared.release import reader
from shared.settings import Settings
reader.fetch(open_bucket(sys.argv[1], Settings.from_env()), "built-in", ["vectors", "records"], Path(sys.argv[2]))
print(*sorted(set(sys.modules) - before))
"""


def test_reading_a_release_imports_no_sdk_of_another_cloud(
    bucket: Cloud, straight: Cloud, proxy: Proxy, tmp_path: Path
) -> None:
    """And for Cloud Storage not its own either: google-cloud-storage costs half a second of a cold start."""
    published(straight, tmp_path)
    ended = subprocess.run(
        [sys.executable, "-c", LOADED, bucket.url, str(tmp_path / "cache")],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "AWS_ACCESS_KEY_ID": "test",
             "AWS_SECRET_ACCESS_KEY": "test", **environment(bucket, proxy.address)},
        text=True, capture_output=True, check=True,
    )  # fmt: skip
    loaded = set(ended.stdout.split())
    gcs = isinstance(bucket, GcsBucket)
    assert not loaded & (
        {"boto3", "google.cloud.storage", "google.auth", "requests"} if gcs else {"httpx", "google.auth"}
    )
