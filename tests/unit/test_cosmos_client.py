"""The client of Cosmos DB: whom it asks as, where it sends a key, and what its failures become."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from azure.core.exceptions import AzureError, ClientAuthenticationError, IncompleteReadError, ServiceRequestError
from azure.cosmos.exceptions import CosmosClientTimeoutError, CosmosHttpResponseError
from fakes.cosmos import Account, closed, cosmos_account, status, throttled
from wire import ROOT

from shared import errors
from shared.errors import SettingsError, StoreError, StoreMissing
from shared.index.cosmos_client import Account as Client
from shared.index.cosmos_client import AsyncAccount, check_endpoint, dimensions, failures, of_a_question
from shared.settings import Settings

COUNT = "SELECT VALUE COUNT(1) FROM c"
TOKEN = "a-token-of-this-machine"


def settings_for(account: Account, **given: str) -> Settings:
    return Settings(cosmos_endpoint=account.endpoint, cosmos_key=account.key, **given)  # type: ignore[arg-type]


@pytest.fixture
def account() -> Iterator[Account]:
    with cosmos_account() as account:
        yield account


def test_a_container_is_made_for_three_vectors_of_the_releases_dimension(account):
    with closing(Client(settings_for(account, cosmos_database="d", cosmos_container="c"))) as client:
        assert client.properties() is None
        client.create(24)
        client.create(24)
        properties = client.properties()
    assert properties
    assert dimensions(properties) == {"/name_v": 24, "/description_v": 24, "/body_v": 24}
    excluded = {each["path"] for each in properties["indexingPolicy"]["excludedPaths"]}
    assert {"/name_v/*", "/description_v/*", "/body_v/*", "/record/*"} <= excluded
    assert account.container("d", "c").partition_path == "site"
    assert [seen.method for seen in account.of("database", "container")].count("POST") == 2


def test_an_identity_without_the_right_to_make_a_container_uses_the_one_that_is_there(account):
    account.create(8)
    account.fail(status(403), times=100, of=lambda seen: seen.method == "POST")
    with closing(Client(settings_for(account))) as client:
        client.create(8)
        assert client.properties()


def test_an_account_is_asked_on_a_loop_and_leaves_neither_connection_nor_task(account):
    account.create(8).put([{"id": "1", "site": "movies"}])

    async def main() -> set[asyncio.Task[object]]:
        client = AsyncAccount(settings_for(account), of_a_question(settings_for(account)))
        found = [each async for each in client.container.query_items(COUNT, partition_key="movies")]
        assert found == [1]
        await client.close()
        return asyncio.all_tasks() - {asyncio.current_task()}  # type: ignore[arg-type]

    assert asyncio.run(main()) == set()


@pytest.mark.parametrize(
    "endpoint",
    ["", "http://films.documents.azure.com/", "ftp://127.0.0.1/", "films.documents.azure.com", "https://", "http://127.0.0.1.example/"],
)  # fmt: skip
def test_an_endpoint_that_a_key_must_not_go_to_is_refused(endpoint):
    with pytest.raises(SettingsError, match="COSMOS_ENDPOINT"):
        check_endpoint(Settings(cosmos_endpoint=endpoint))


@pytest.mark.parametrize(
    "endpoint", ["https://films.documents.azure.com:443/", "http://127.0.0.1:8081/", "http://[::1]:1"]
)
def test_an_endpoint_over_tls_or_on_this_machine_is_taken(endpoint):
    check_endpoint(Settings(cosmos_endpoint=endpoint))


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, "StoreRefused"),
        (401, "StoreRefused"),
        (403, "StoreRefused"),
        (404, "StoreMissing"),
        (412, "StoreChanged"),
        (413, "StoreRefused"),
        (429, "StoreBusy"),
        (449, "StoreError"),
        (500, "StoreError"),
        (503, "StoreError"),
    ],
)
def test_each_status_is_one_of_our_errors_and_says_it(code, kind):
    with pytest.raises(StoreError, match=str(code)) as raised, failures():
        raise CosmosHttpResponseError(status_code=code, message="SELECT a secret")
    assert type(raised.value) is getattr(errors, kind)
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("failure", "said"),
    [
        (CosmosClientTimeoutError(), "in time"),
        (ServiceRequestError("x"), "cannot be reached"),
        (IncompleteReadError("x"), "broke off"),
        (AzureError("x"), "cannot be reached"),
        (ClientAuthenticationError("x"), "no token"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_whatever_else_the_client_raises_is_one_of_our_errors(failure, said):
    with pytest.raises(StoreError, match=said), failures():
        raise failure


def test_a_throttled_question_is_given_up_after_four_requests(account):
    account.create(8).put([{"id": "1", "site": "movies"}])
    with closing(Client(settings_for(account), of_a_question(settings_for(account)))) as client:
        account.fail(throttled(), times=100, of="query")
        with pytest.raises(errors.StoreBusy), failures():
            list(client.container.query_items(COUNT, partition_key="movies"))
    assert len(account.of("query")) == 4


def test_what_is_not_there_and_what_cannot_be_reached_are_told_apart(account):
    with closing(Client(settings_for(account))) as client:
        with pytest.raises(StoreMissing), failures():
            client.container.read_item("1", "movies")
        account.fail(closed(), times=100)
        with pytest.raises(StoreError, match="reached"), failures():
            client.container.read()


# As an identity

_ASK = f"""
import asyncio
from contextlib import closing
from shared.index.cosmos_client import Account, AsyncAccount, of_a_question
from shared.settings import Settings

settings = Settings.from_env()
assert not settings.cosmos_key
with closing(Account(settings)) as account:
    print(list(account.container.query_items({COUNT!r}, partition_key="movies")))

async def main():
    account = AsyncAccount(settings, of_a_question(settings))
    print([each async for each in account.container.query_items({COUNT!r}, partition_key="movies")])
    await account.close()

asyncio.run(main())
"""


def test_without_a_key_the_platforms_identity_is_asked_for_a_token_and_the_token_is_sent(tmp_path):
    """The platform's endpoint and the account are real servers, the account's over TLS: no token goes out without."""
    certificate, context = _certificate(tmp_path)
    with cosmos_account(context) as account, _platform() as (identity, asked):
        account.create(8).put([{"id": "1", "site": "movies"}])
        account.tokens = {TOKEN}
        done = _in_process(
            COSMOS_ENDPOINT=account.endpoint,
            IDENTITY_ENDPOINT=identity,
            IDENTITY_HEADER="known to the platform alone",
            REQUESTS_CA_BUNDLE=str(certificate),
            SSL_CERT_FILE=str(certificate),
        )
        assert done.stdout.split() == ["[1]", "[1]"], done.stderr
        assert len(asked) == 2
        assert all("known to the platform alone" in each for each in asked)
        assert all("type%3Daad" in seen.headers["authorization"] or "type=aad" in seen.headers["authorization"]
                   for seen in account.seen)  # fmt: skip


def _in_process(**given: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AZURE", "COSMOS", "MSI"))}
    environment = {**clean, **given}
    return subprocess.run(
        [sys.executable, "-c", _ASK],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def _platform() -> Iterator[tuple[str, list[str]]]:
    """What a platform gives its functions: an address that hands out tokens, and what it was asked with."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.path} {self.headers.get('X-IDENTITY-HEADER')}")
            body = json.dumps(
                {"access_token": TOKEN, "expires_on": "4102444800", "resource": "cosmos", "token_type": "Bearer"}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/token", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate of 127.0.0.1 that nobody signed but itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, both = folder / "public.pem", folder / "both.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    both.write_bytes(secret + public.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    return public, context
