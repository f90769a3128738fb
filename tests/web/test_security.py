"""Who is let in, and what a browser may do with the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.web.live import Live, running

from whence.web.security import CONTENT_POLICY

TOKEN = "a-token-of-more-than-sixteen-letters"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Live]:
    """A server that needs a token, as one that other machines can reach."""
    with running([], host="0.0.0.0", token=TOKEN) as server:
        yield server


def context(client: httpx.Client) -> dict[str, Any]:
    return {"context": client.get("/api/scenes/bakery").json()["context"]}


# ---- another site in the same browser -------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example", "10.0.0.1", "", "@"]
)
def test_a_foreign_host_is_refused(client: httpx.Client, host: str) -> None:
    """A name that somebody points at this machine (DNS rebinding) opens nothing, neither page nor interface."""
    for path in ("/", "/api/scenes", "/static/main.js"):
        assert client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:8000", "127.9.9.9"])
def test_names_of_this_machine_are_accepted(client: httpx.Client, host: str) -> None:
    """Every name of the machine itself is fine, also behind a tunnel with another port."""
    assert client.get("/api/scenes", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost", "garbage"]
)
def test_a_post_from_another_site_is_refused(client: httpx.Client, origin: str) -> None:
    """A page of another origin cannot ask anything, whatever it claims to send."""
    answer = client.post("/api/scenes/bakery/decide", json=context(client), headers={"origin": origin})
    assert answer.status_code == 403
    assert client.delete("/api/explanations/x", headers={"origin": origin}).status_code == 403


def test_the_own_page_may_post(client: httpx.Client, live: Live) -> None:
    """The page itself, and programs that send no origin, are answered."""
    own = {"origin": live.url, "sec-fetch-site": "same-origin"}
    assert client.post("/api/scenes/bakery/decide", json=context(client), headers=own).status_code == 200
    assert client.post("/api/scenes/bakery/decide", json=context(client)).status_code == 200


def test_what_a_browser_fetches_for_another_site_is_refused(client: httpx.Client) -> None:
    """Reading across sites is refused too; following a link to the page is not."""
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/api/scenes", headers=foreign).status_code == 403
    assert client.get("/static/main.js", headers=foreign).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/api/scenes", headers=link).status_code == 403


def test_a_form_cannot_post(client: httpx.Client) -> None:
    """What a form can send without asking, text and form data, is not read as JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        answer = client.post("/api/scenes/bakery/decide", content='{"context": {}}', headers={"content-type": kind})
        assert answer.status_code == 415
        assert answer.json()["detail"] == (
            f"The 'Content-Type' of this request must be application/json. Got {kind!r} instead."
        )
    body = json.dumps(context(client)).encode()
    answer = client.post("/api/scenes/bakery/decide", content=body)
    assert answer.status_code == 415
    assert answer.json()["detail"].endswith("Got nothing instead.")
    for kind in ("application/json; charset=utf-8", "Application/JSON", "application/problem+json"):
        answer = client.post("/api/scenes/bakery/decide", content=body, headers={"content-type": kind})
        assert answer.status_code == 200


def test_no_other_origin_may_read(client: httpx.Client) -> None:
    """No answer allows another origin anything, not even to a preflight."""
    headers = {"origin": "https://evil.example", "access-control-request-method": "POST"}
    answer = client.options("/api/scenes/bakery/decide", headers=headers)
    assert answer.status_code in (403, 405)
    read = client.get("/api/scenes", headers={"origin": "https://evil.example"})
    assert not any(name.startswith("access-control-allow") for name in [*answer.headers, *read.headers])


# ---- what the answers carry -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/api/scenes", "/api/scenes/moon", "/static/main.js", "/nowhere"])
def test_every_answer_carries_the_headers(client: httpx.Client, path: str) -> None:
    """Pages, data, files and errors all carry the policy: nothing inline, nothing from elsewhere, no frames."""
    headers = client.get(path).headers
    assert headers["content-security-policy"] == CONTENT_POLICY
    assert "unsafe" not in CONTENT_POLICY
    assert "default-src 'none'" in CONTENT_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"


def test_the_page_names_no_other_server(client: httpx.Client) -> None:
    """The page and its files have no address of another server in them, and no inline script or style."""
    page = client.get("/").text
    assert "<script>" not in page
    assert " style=" not in page
    assert " onclick=" not in page
    names = [part.split('"')[0] for part in page.split('"static/')[1:]]
    assert names
    for name in names:
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200, name
        text = answer.text.replace("http://www.w3.org/", "")
        assert "http://" not in text, name
        assert "https://" not in text, name


def test_files_are_cached_by_their_content(client: httpx.Client) -> None:
    """A file that the browser has already is not sent again."""
    first = client.get("/static/main.js")
    again = client.get("/static/main.js", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304
    assert not again.content


# ---- how much -------------------------------------------------------------------------------------------


def test_large_requests_are_refused(client: httpx.Client) -> None:
    """More than the limit is refused, announced or not."""
    large = b'{"context": {"weekday": "' + b"x" * 300_000 + b'"}}'
    headers = {"content-type": "application/json"}
    answer = client.post("/api/scenes/bakery/decide", content=large, headers=headers)
    assert answer.status_code == 413
    assert "262144 bytes" in answer.json()["detail"]

    def pieces() -> Iterator[bytes]:
        yield from (large[i : i + 50_000] for i in range(0, len(large), 50_000))

    assert client.post("/api/scenes/bakery/decide", content=pieces(), headers=headers).status_code == 413


def test_deep_nesting_is_refused(client: httpx.Client) -> None:
    """A plan nested without end is refused with a sentence, not with a crash."""
    headers = {"content-type": "application/json"}
    for inner in ("[" * 50_000, "[" * 50_000 + "]" * 50_000, '{"a":' * 20_000 + "1" + "}" * 20_000):
        body = f'{{"context": {{}}, "plan": {inner}}}'
        answer = client.post("/api/scenes/bakery/check", content=body, headers=headers)
        assert 400 <= answer.status_code < 500


# ---- the token ------------------------------------------------------------------------------------------


def test_without_the_token_nothing_is_answered(guarded: Live) -> None:
    """Neither the page nor its files nor the interface is there for who does not know the token."""
    with guarded.client() as client:
        for path in ("/", "/?token=wrong", "/api/scenes", f"/api/scenes?token={TOKEN}", "/static/main.js"):
            answer = client.get(path)
            assert answer.status_code == 401, path
            assert "token" in answer.json()["detail"]
        for given in (
            "Bearer wrong",
            f"Basic {TOKEN}",
            TOKEN,
            "Bearer",
            "Bearer ñ".encode("latin-1").decode("latin-1"),
        ):
            answer = client.get("/api/scenes", headers=[(b"authorization", given.encode("latin-1"))])
            assert answer.status_code == 401, given


def test_a_program_sends_the_token(guarded: Live) -> None:
    """A program gets in by the Authorization header."""
    with guarded.client(headers={"authorization": f"Bearer {TOKEN}"}) as client:
        assert client.get("/api/scenes").json() == []


def test_a_link_begins_a_session_once(guarded: Live) -> None:
    """The link that was printed begins a session in a cookie that no script sees, once."""
    with guarded.client() as client:
        link = f"/?link={guarded.app.state.tokens.link()}"
        answer = client.get(link)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie
        assert client.get("/api/scenes").status_code == 200
        assert client.get("/").status_code == 200
        assert TOKEN not in cookie
    # Opened once more, by whoever has read it in a log, the link leads nowhere; neither does the token in an address.
    with guarded.client() as other:
        assert other.get(link).status_code == 401
        assert other.get(f"/?token={TOKEN}").status_code == 401


def test_cookies_of_others_are_not_in_the_way(guarded: Live) -> None:
    """Whatever other programs on the same machine keep in cookies, the session is found among them."""
    own = f"whence-{guarded.url.rsplit(':', 1)[1]}"
    session = guarded.app.state.tokens.session("default")
    for others in ('a={"b": 1}', "foo[bar]=x", "x=é", "bad", "a b=c", f"{own}=old", ""):
        cookies = f"{others}; {own}={session}; z=1".encode("latin-1")
        with guarded.client() as client:
            assert client.get("/api/scenes", headers=[(b"cookie", cookies)]).status_code == 200, others
            wrong = cookies.replace(session.encode(), session[:-1].encode())
            assert client.get("/api/scenes", headers=[(b"cookie", wrong)]).status_code == 401


def test_names_of_a_machine_that_others_reach(guarded: Live) -> None:
    """An address is accepted as host where other machines are let in, a foreign name is not."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    with guarded.client(headers=headers) as client:
        assert client.get("/api/scenes", headers={"host": "10.0.0.1:8000"}).status_code == 200
        assert client.get("/api/scenes", headers={"host": "evil.example"}).status_code == 400
