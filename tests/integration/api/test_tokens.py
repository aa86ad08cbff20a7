"""Bearer tokens of a real local issuer, which signs with keys of its own and publishes them over HTTP."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import io
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.exceptions import PyJWKClientConnectionError

from sourcebound.api.app import create_app
from sourcebound.api.problems import Problem
from sourcebound.api.tokens import keys
from sourcebound.api.tokens.settings import read_token_settings
from sourcebound.api.tokens.verify import MAX_WAITING, TokenVerifier
from sourcebound.errors import ConfigurationError
from sourcebound.settings import Settings
from sourcebound.wiring import open_services
from support.processes.databases import Cluster, rows, settings_for
from support.processes.homes import wait_until
from support.processes.http_server import QUESTION, Served, served_over

ISSUER = "https://login.example.org/"
AUDIENCE = "sourcebound-test"
Claims = dict[str, Any]
PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class Issuer:
    """An issuer with a server for its public keys."""

    def __init__(self) -> None:
        self.keys: dict[str, PrivateKey] = {
            "rsa-1": rsa.generate_private_key(public_exponent=65537, key_size=2048),
            "ec-1": ec.generate_private_key(ec.SECP256R1()),
        }
        self.reads = 0
        self.answers = threading.Event()
        """Set while the issuer answers questions for its keys at once."""
        self.answers.set()
        self.description: Claims | bytes | None = None
        """What the issuer says of itself; None: it has no description."""
        self.published_instead: bytes | None = None
        """What the issuer publishes in place of its keys."""
        self.descriptions = 0
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, body = 200, b""
                if self.path.endswith("/.well-known/openid-configuration"):
                    issuer.descriptions += 1
                    said = issuer.description
                    status = 404 if said is None or self.path != issuer.described_at else 200
                    body = said if isinstance(said, bytes) else json.dumps(said).encode()
                else:
                    issuer.reads += 1
                    issuer.answers.wait(60)
                    published = {"keys": [issuer.published(name) for name in issuer.keys]}
                    body = issuer.published_instead or json.dumps(published).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.described_at = "/.well-known/openid-configuration"
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/keys"

    @property
    def origin(self) -> str:
        return self.url.removesuffix("/keys")

    def published(self, name: str) -> Claims:
        key = self.keys[name]
        if isinstance(key, rsa.RSAPrivateKey):
            form = jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
        else:
            form = jwt.algorithms.ECAlgorithm.to_jwk(key.public_key(), as_dict=True)
        return {**form, "kid": name, "use": "sig"}

    def sign(self, name: str = "rsa-1", algorithm: str = "RS256", **changes: Any) -> str:
        return jwt.encode(claims(**changes), self.keys[name], algorithm=algorithm, headers={"kid": name})


def claims(**changes: Any) -> Claims:
    now = int(time.time())
    own: Claims = {
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": "anna",
        "iat": now,
        "exp": now + 300,
        "scope": "openid sourcebound:ask sourcebound:read",
        "sourcebound_collections": ["default"],
    }
    return {name: value for name, value in {**own, **changes}.items() if value is not None}


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture(scope="module")
def own(cluster: Cluster, filled: str, issuer: Issuer) -> Iterator[Served]:
    database = cluster.create(filled)
    settings = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys_url": issuer.url}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keys, "REFRESH_SECONDS", 0.05)
        with served_over(database, **settings) as served:
            yield served
    cluster.drop(database)


def get(served: Served, token: str, path: str = "/v1/collections") -> httpx.Response:
    return served.client.get(path, headers={"authorization": f"Bearer {token}"})


@pytest.mark.contract("R6-7")
@pytest.mark.parametrize(("name", "algorithm"), [("rsa-1", "RS256"), ("ec-1", "ES256")])
def test_the_claims_of_a_token_are_the_rights_of_its_holder(
    own: Served, issuer: Issuer, name: str, algorithm: str
) -> None:
    token = issuer.sign(name, algorithm)
    listed = get(own, token).json()
    assert ([each["name"] for each in listed["collections"]], listed["scopes"]) == (["default"], ["ask", "read"])
    headers = {"authorization": f"Bearer {token}"}
    assert own.client.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()["status"] == "OK"
    upload = own.client.post(
        "/v1/collections/default/documents", files={"file": ("a.txt", b"A text.")}, headers=headers
    )
    assert upload.json()["code"] == "SCOPE_FORBIDDEN"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"scope": "openid read ask"}, "SCOPE_FORBIDDEN"),
        ({"scope": None}, "SCOPE_FORBIDDEN"),
        ({"sourcebound_collections": None}, "COLLECTION_FORBIDDEN"),
        ({"sourcebound_collections": ["others"]}, "COLLECTION_FORBIDDEN"),
        ({"sourcebound_collections": {"default": True}}, "COLLECTION_FORBIDDEN"),
    ],
)
def test_a_token_opens_nothing_that_its_claims_do_not_name(
    own: Served, issuer: Issuer, changes: Claims, code: str
) -> None:
    answer = get(own, issuer.sign(**changes), "/v1/documents?collection=default")
    assert (answer.status_code, answer.json()["code"]) == (403, code)


def test_a_star_and_a_single_name_are_collections_too(own: Served, issuer: Issuer) -> None:
    for named in ("*", ["*"], "default"):
        token = issuer.sign(sourcebound_collections=named, scope=["sourcebound:read"])
        assert get(own, token, "/v1/documents?collection=default").status_code == 200


@pytest.mark.contract("R6-7")
def test_the_labels_of_a_token_are_those_of_its_claim(own: Served, issuer: Issuer) -> None:
    labelled = "hp-200-manual-rev-c.pdf"
    rows(own.database, "UPDATE documents SET labels = '{confidential,qa}' WHERE knowledge_id = %s", labelled)
    cases: list[tuple[object, bool]] = [
        (None, False),
        ("qa", False),
        (["confidential", "qa", "two words"], True),
        ("*", True),
        ({"confidential": True, "qa": True}, False),
    ]
    try:
        for named, is_open in cases:
            token = issuer.sign(sourcebound_labels=named)
            listed = get(own, token, "/v1/documents?collection=default").json()["documents"]
            assert (named, labelled in {each["knowledge_id"] for each in listed}) == (named, is_open)
            page = get(own, token, f"/v1/documents/{labelled}/pages/1?collection=default")
            assert (named, page.status_code) == (named, 200 if is_open else 404)
    finally:
        rows(own.database, "UPDATE documents SET labels = '{}'")


@pytest.mark.contract("R6-7")
def test_a_token_has_as_many_labels_as_its_holder_has_groups(own: Served, issuer: Issuer) -> None:
    token = issuer.sign(sourcebound_labels=[f"group-{number}" for number in range(256)])
    headers = {"authorization": f"Bearer {token}"}
    assert own.client.post("/v1/ask", json={"question": QUESTION}, headers=headers).json()["status"] == "OK"
    refused = get(own, issuer.sign(sourcebound_labels=[f"group-{number}" for number in range(257)]))
    assert (refused.status_code, refused.json()["code"]) == (403, "TOKEN_LABELS")
    assert "the claim sourcebound_labels of the token has 257 labels, and at most 256" in refused.json()["detail"]


def encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def with_algorithm_none(_: Issuer) -> str:
    return f"{encode({'alg': 'none', 'kid': 'rsa-1'})}.{encode(claims())}."


def signed_with_the_public_key(issuer: Issuer) -> str:
    """Sign with HMAC, and the published key as its secret."""
    public = issuer.keys["rsa-1"].public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = f"{encode({'alg': 'HS256', 'kid': 'rsa-1'})}.{encode(claims())}"
    digest = hmac.new(public, head.encode(), hashlib.sha256).digest()
    return f"{head}.{base64.urlsafe_b64encode(digest).rstrip(b'=').decode()}"


def with_an_unknown_key(issuer: Issuer) -> str:
    return jwt.encode(claims(), issuer.keys["rsa-1"], algorithm="RS256", headers={"kid": "unknown"})


def with_the_key_of_another(_: Issuer) -> str:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return jwt.encode(claims(), other, algorithm="RS256", headers={"kid": "rsa-1"})


def with_other_claims(issuer: Issuer) -> str:
    head, _, signature = issuer.sign().split(".")
    return f"{head}.{encode(claims(sourcebound_collections=['*']))}.{signature}"


INVALID: dict[str, tuple[Callable[[Issuer], str], str, str]] = {
    "expired": (lambda issuer: issuer.sign(exp=int(time.time()) - 120), "TOKEN_EXPIRED", "has expired"),
    "too early": (lambda issuer: issuer.sign(nbf=int(time.time()) + 120), "TOKEN_INVALID", "not valid yet"),
    "audience": (lambda issuer: issuer.sign(aud="another"), "TOKEN_INVALID", "another audience"),
    "no audience": (lambda issuer: issuer.sign(aud=None), "TOKEN_INVALID", "lacks the claim aud"),
    "issuer": (lambda issuer: issuer.sign(iss="https://evil.example"), "TOKEN_INVALID", "another issuer"),
    "no end": (lambda issuer: issuer.sign(exp=None), "TOKEN_INVALID", "lacks the claim exp"),
    "algorithm none": (with_algorithm_none, "TOKEN_INVALID", "algorithm that is not accepted"),
    "HMAC with the public key": (signed_with_the_public_key, "TOKEN_INVALID", "algorithm that is not accepted"),
    "another algorithm": (
        lambda issuer: issuer.sign(algorithm="PS256"),
        "TOKEN_INVALID",
        "algorithm that is not accepted",
    ),
    "unknown key": (with_an_unknown_key, "TOKEN_INVALID", "no such key"),
    "key of another": (with_the_key_of_another, "TOKEN_INVALID", "signature of the token is wrong"),
    "other claims": (with_other_claims, "TOKEN_INVALID", "signature of the token is wrong"),
    "no token": (lambda _: "a.b.c", "TOKEN_INVALID", "cannot be read"),
    "huge": (lambda _: f"{'a' * 20_000}.b.c", "TOKEN_INVALID", "cannot be read"),
    "not a token": (lambda _: "sb_0123", "KEY_UNKNOWN", "no such key"),
}


@pytest.mark.contract("S-4", "S-5")
@pytest.mark.parametrize("name", INVALID)
def test_a_token_that_is_not_valid_opens_nothing(own: Served, issuer: Issuer, name: str) -> None:
    make, code, words = INVALID[name]
    answer = get(own, make(issuer))
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (401, code)
    assert words in problem["detail"]
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert issuer.url not in answer.text


def test_a_server_with_an_issuer_needs_a_token_or_a_key(own: Served) -> None:
    answer = own.client.get("/v1/collections")
    assert (answer.status_code, answer.json()["code"]) == (401, "KEY_REQUIRED")


def test_clocks_may_differ_by_less_than_a_minute(own: Served, issuer: Issuer) -> None:
    now = int(time.time())
    assert get(own, issuer.sign(exp=now - 30)).status_code == 200
    assert get(own, issuer.sign(nbf=now + 30, iat=now + 30)).status_code == 200


def test_a_new_key_is_found_when_a_token_names_it(own: Served, issuer: Issuer) -> None:
    assert get(own, issuer.sign()).status_code == 200
    issuer.keys["rsa-2"] = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    time.sleep(0.1)  # no later read of the keys is sooner
    assert get(own, issuer.sign("rsa-2")).status_code == 200


def test_unknown_keys_do_not_make_the_server_read_the_keys_again_and_again(
    cluster: Cluster, migrated: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 60)
    database = cluster.create(migrated)
    settings = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys_url": issuer.url}
    with served_over(database, **settings) as served:
        before = issuer.reads
        assert {get(served, with_an_unknown_key(issuer)).status_code for _ in range(10)} == {401}
        assert issuer.reads - before <= 2
    cluster.drop(database)


def test_an_issuer_that_does_not_answer_is_a_fault_and_no_refusal(
    cluster: Cluster, migrated: str, issuer: Issuer
) -> None:
    database = cluster.create(migrated)
    settings = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys_url": "http://127.0.0.1:9/keys"}
    with served_over(database, **settings) as served:
        answer = get(served, issuer.sign())
        assert (answer.status_code, answer.json()["code"]) == (503, "ISSUER_UNAVAILABLE")
    cluster.drop(database)


@pytest.mark.parametrize("path", ["", "/", "/realms/plant"])
def test_the_address_of_the_keys_is_read_from_the_description_of_the_issuer(
    cluster: Cluster, migrated: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    name = issuer.origin + path
    described: Claims = {"issuer": name, "jwks_uri": issuer.url}
    monkeypatch.setattr(issuer, "described_at", f"{path.rstrip('/')}/.well-known/openid-configuration")
    monkeypatch.setattr(issuer, "description", described)
    before = issuer.descriptions
    database = cluster.create(migrated)
    with served_over(database, oidc_issuer=name, oidc_audience=AUDIENCE) as served:
        assert issuer.descriptions == before  # not read before a token arrives
        assert {get(served, issuer.sign(iss=name)).status_code for _ in range(5)} == {200}
        assert issuer.descriptions == before + 1
        assert get(served, issuer.sign()).json()["code"] == "TOKEN_INVALID"
    cluster.drop(database)


def test_a_description_that_is_not_valid_is_a_fault_until_it_is_mended(
    cluster: Cluster, migrated: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    right: Claims = {"issuer": issuer.origin, "jwks_uri": issuer.url}
    wrong: list[Claims | bytes | None] = [
        None,
        b"<html>",
        b"[]",
        b"\xff",
        {},
        {**right, "issuer": issuer.origin + "/"},
        {**right, "jwks_uri": None},
        {**right, "jwks_uri": "http://keys.example/keys"},
        {**right, "jwks_uri": "file:///etc/passwd"},
    ]
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 0)
    monkeypatch.setattr(keys, "DISCOVERY_SECONDS", 0)
    token = issuer.sign(iss=issuer.origin)
    database = cluster.create(migrated)
    with served_over(database, oidc_issuer=issuer.origin, oidc_audience=AUDIENCE) as served:
        for description in wrong:
            monkeypatch.setattr(issuer, "description", description)
            answer = get(served, token)
            assert (description, answer.status_code, answer.json()["code"]) == (description, 503, "ISSUER_UNAVAILABLE")
            assert issuer.origin not in answer.text
        monkeypatch.setattr(issuer, "description", right)
        assert get(served, token).status_code == 200
        monkeypatch.setattr(issuer, "description", None)
        assert get(served, token).status_code == 200  # the address is known
    cluster.drop(database)


@pytest.mark.parametrize(
    ("read_from", "is_used"), [("https://login.example.org/other", True), ("http://x.org/", False)]
)
def test_a_description_that_was_redirected_to_an_address_without_tls_is_not_used(
    monkeypatch: pytest.MonkeyPatch, read_from: str, is_used: bool
) -> None:
    said = {"issuer": ISSUER, "jwks_uri": "https://login.example.org/keys"}

    def urlopen(address: str, timeout: float) -> Any:
        assert address == "https://login.example.org/.well-known/openid-configuration"
        body = io.BytesIO(json.dumps(said).encode())
        return contextlib.closing(SimpleNamespace(url=read_from, read=body.read, close=body.close))

    monkeypatch.setattr(keys, "urlopen", urlopen)
    if is_used:
        assert keys.discover(ISSUER) == said["jwks_uri"]
    else:
        with pytest.raises(PyJWKClientConnectionError, match="without TLS"):
            keys.discover(ISSUER)


def test_a_description_that_cannot_be_read_is_not_read_again_and_again(
    cluster: Cluster, migrated: str, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 60)
    database, before = cluster.create(migrated), issuer.descriptions
    with served_over(database, oidc_issuer=issuer.origin, oidc_audience=AUDIENCE) as served:
        token = issuer.sign(iss=issuer.origin)
        assert {get(served, token).status_code for _ in range(10)} == {503}
        assert issuer.descriptions == before + 1
    cluster.drop(database)


def verifier_of(issuer: Issuer) -> TokenVerifier:
    settings = read_token_settings(Settings(oidc_issuer=ISSUER, oidc_audience=AUDIENCE, oidc_keys_url=issuer.url))
    assert settings is not None
    return TokenVerifier(settings)


async def problem_of(verifier: TokenVerifier, token: str) -> tuple[int, str]:
    with pytest.raises(Problem) as raised:
        await verifier.verify(token)
    return raised.value.status, raised.value.code


@pytest.mark.contract("S-4")
@pytest.mark.parametrize(
    "body",
    [b"<html>", b"\xff", b"[]", b"{}", b'{"keys": []}', b'{"keys": [{"kty": "oct"}]}', b'{"keys": 7}', b"encryption"],
)
async def test_keys_that_cannot_be_used_are_a_fault_until_the_issuer_is_mended(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 60)
    if body == b"encryption":
        body = json.dumps({"keys": [{**issuer.published("rsa-1"), "use": "enc"}]}).encode()
    monkeypatch.setattr(issuer, "published_instead", body)
    verifier, token, before = verifier_of(issuer), issuer.sign(), issuer.reads
    assert {await problem_of(verifier, token) for _ in range(10)} == {(503, "ISSUER_UNAVAILABLE")}
    assert issuer.reads == before + 1  # it pauses after a failure too
    monkeypatch.setattr(issuer, "published_instead", None)
    now = time.monotonic()
    monkeypatch.setattr(keys, "time", SimpleNamespace(monotonic=lambda: now + 61))  # not the clock of the event loops
    assert (await verifier.verify(token)).scopes == {"ask", "read"}
    verifier.close()


@pytest.mark.contract("R6-7")
async def test_a_failed_read_forgets_no_key_that_is_known(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 0)
    verifier, known = verifier_of(issuer), issuer.sign()
    await verifier.verify(known)
    monkeypatch.setattr(issuer, "published_instead", b"<html>")
    assert await problem_of(verifier, with_an_unknown_key(issuer)) == (503, "ISSUER_UNAVAILABLE")
    assert (await verifier.verify(known)).scopes == {"ask", "read"}
    verifier.close()


def test_known_keys_are_used_while_the_description_is_read(issuer: Issuer, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = read_token_settings(Settings(oidc_issuer=issuer.origin, oidc_audience=AUDIENCE))
    assert settings is not None
    asked, answered = threading.Event(), threading.Event()
    monkeypatch.setattr(keys, "DISCOVERY_SECONDS", 0)
    monkeypatch.setattr(keys, "discover", lambda _: issuer.url)
    known, token = keys.IssuerKeys(settings), issuer.sign()
    assert known.find(token).key_id == "rsa-1"

    def discover(_: str) -> str:
        asked.set()
        answered.wait(60)
        return issuer.url

    monkeypatch.setattr(keys, "discover", discover)
    with ThreadPoolExecutor() as threads:
        first = threads.submit(known.find, token)
        try:
            assert asked.wait(60)
            assert threads.submit(known.find, token).result(5).key_id == "rsa-1"
            assert not first.done()
        finally:
            answered.set()
        assert first.result(60).key_id == "rsa-1"


@pytest.mark.contract("R6-7")
async def test_a_slow_issuer_delays_no_token_whose_key_is_known(
    issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "REFRESH_SECONDS", 0)
    monkeypatch.setattr(keys, "FETCH_SECONDS", 60)
    verifier, known = verifier_of(issuer), issuer.sign()
    await verifier.verify(known)
    before = issuer.reads
    issuer.answers.clear()
    try:
        unknown = [asyncio.create_task(verifier.verify(with_an_unknown_key(issuer))) for _ in range(40)]
        await asyncio.to_thread(wait_until, lambda: issuer.reads > before)
        assert (await asyncio.wait_for(verifier.verify(known), 20)).scopes == {"ask", "read"}
        assert await asyncio.wait_for(asyncio.to_thread(lambda: "a thread of other work"), 20)
        assert not any(task.done() for task in unknown)
        unknown += [asyncio.create_task(verifier.verify(with_an_unknown_key(issuer))) for _ in range(40)]
        await asyncio.to_thread(wait_until, lambda: any(task.done() for task in unknown))  # their number has a bound
    finally:
        issuer.answers.set()
    results = await asyncio.gather(*unknown, return_exceptions=True)
    codes = Counter(getattr(result, "code", None) for result in results)
    assert codes == {"TOKEN_INVALID": MAX_WAITING, "ISSUER_UNAVAILABLE": len(unknown) - MAX_WAITING}
    verifier.close()


async def test_the_threads_that_ask_the_issuer_end_with_the_application(
    cluster: Cluster, migrated: str, issuer: Issuer
) -> None:
    def threads() -> set[threading.Thread]:
        return {thread for thread in threading.enumerate() if thread.name.startswith("issuer-keys")}

    database, before = cluster.create(migrated), threads()
    settings = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys_url": issuer.url}
    async with open_services(settings_for(database, **settings)) as services:
        app = create_app(services)
        async with app.router.lifespan_context(app):
            await app.state.tokens.verify(issuer.sign())
            assert threads() > before
        await asyncio.to_thread(wait_until, lambda: threads() <= before)
    cluster.drop(database)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"oidc_audience": None}, "AUDIENCE"),
        ({"oidc_issuer": "http://login.example.org/", "oidc_keys_url": None}, "TLS"),
        ({"oidc_keys_url": "http://login.example.org/keys"}, "TLS"),
        ({"oidc_algorithms": "RS256,HS256"}, "algorithm"),
        ({"oidc_algorithms": "none"}, "algorithm"),
        ({"oidc_algorithms": ""}, "algorithm"),
    ],
)
def test_unsafe_settings_are_refused_at_the_start(changes: Claims, words: str) -> None:
    given = {"oidc_issuer": ISSUER, "oidc_audience": AUDIENCE, "oidc_keys_url": "https://login.example.org/keys"}
    with pytest.raises(ConfigurationError) as raised:
        read_token_settings(settings_for("postgresql://nowhere/", **{**given, **changes}))
    assert words in raised.value.message + raised.value.next_step
