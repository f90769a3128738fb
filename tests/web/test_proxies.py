"""Behind a reverse proxy, under a sub-path: what it says counts where it is trusted, and the page works as ever."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

import httpx
import pytest
from playwright.sync_api import Browser, expect
from tests.web.browser import PATIENCE, Server, Watched, asked, chromium, chromium_path
from tests.web.live import Live, hard_scene, running, until
from tests.web.nginx import documented_options, documented_snippet, nginx, nginx_path

from whence.errors import InputError
from whence.web.server_settings import settings_for

TOKEN = "a-token-of-more-than-sixteen-letters"
NAME = "planning.example.org"
LOCAL = "127.0.0.1:8000"


@pytest.fixture(scope="module")
def nginx_at_hand() -> None:
    """What needs nginx is left out loudly where there is none."""
    if nginx_path() is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: the page behind a reverse proxy; install nginx.")


@pytest.fixture(scope="module")
def behind() -> Iterator[Live]:
    """A server with a hard question that expects a proxy on this machine."""
    proxied = {"root_path": "/whence", "allowed_hosts": (NAME,), "trusted_proxies": ("127.0.0.1/32",)}
    with running([hard_scene()], token=TOKEN, **proxied) as server:
        server.wait_for_workers()
        yield server


@pytest.fixture(scope="module", params=["cut off", "kept"])
def front(behind: Live, nginx_at_hand: None, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of nginx before it: as documented, where the sub-path is cut off, and with the sub-path kept."""
    snippet = documented_snippet()
    assert f"http://{LOCAL}/;" in snippet
    own = behind.url.removeprefix("http://")
    if request.param == "kept":
        snippet = snippet.replace(f"http://{LOCAL}/;", f"http://{LOCAL};")
    with nginx(snippet.replace(LOCAL, own)) as port:
        yield f"http://127.0.0.1:{port}/whence/"


def program(front: str, **headers: str) -> httpx.Client:
    """A program that knows the token and calls the proxy by its public name."""
    port = front.split(":")[2].split("/")[0]
    given = {"host": f"{NAME}:{port}", "authorization": f"Bearer {TOKEN}", **headers}
    return httpx.Client(base_url=front, headers=given, timeout=60.0)


def question(client: httpx.Client) -> dict[str, Any]:
    own = client.get("api/scenes/hard").raise_for_status().json()
    return {"context": own["context"], "plan": own["alternative"], "time_limit": 60}


# ---- through nginx --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("nginx_at_hand")
def test_the_page_answers_through_nginx() -> None:
    """Chromium opens the page at the public name under the sub-path, decides and explains; set up as documented."""
    if chromium_path() is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: the page in a browser; install Chromium.")
    options = documented_options()
    assert NAME in options
    server = Server(*options, "--workers", "1", token=TOKEN).wait_for_workers()
    try:
        snippet = documented_snippet().replace(LOCAL, server.url.removeprefix("http://"))
        with nginx(snippet) as port, chromium(f"--host-resolver-rules=MAP {NAME} 127.0.0.1") as browser:
            look_at(browser, f"http://{NAME}:{port}/whence", server.url)
    finally:
        server.stop()


def look_at(browser: Browser, url: str, own: str) -> None:
    stranger = browser.new_page()
    answer = stranger.goto(f"{url}/")
    assert answer is not None
    assert answer.status == 401
    stranger.close()
    page = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.set_default_timeout(PATIENCE)
    watched = Watched(page, url)
    link = httpx.post(f"{own}/api/v1/links", headers={"authorization": f"Bearer {TOKEN}"}).raise_for_status().json()
    page.goto(f"{url}/{link['path']}#scene=bakery")
    expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
    assert page.url.startswith(f"{url}/")
    assert "link" not in page.url
    [cookie] = page.context.cookies()
    assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == ("/whence/", True, "Lax")
    with page.expect_response("**/whence/api/scenes/bakery/decide") as decided:
        page.get_by_label("temperature", exact=True).fill("20")
    assert decided.value.status == 200
    asked(page)
    assert watched.posts("/explanations") == 2
    report = page.locator("a[href*='report.html']").first.get_attribute("href")
    taken = page.evaluate("async (address) => (await fetch(address)).text()", report)
    assert taken.startswith("<!doctype html>")
    # Nothing was asked for outside the sub-path.
    watched.assert_quiet()
    page.context.close()


def test_a_link_on_another_site_leads_to_the_page() -> None:
    """Who follows a link in a mail or a chat gets in with the token, and later without it."""
    if chromium_path() is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: the page in a browser; install Chromium.")
    with running([], token=TOKEN) as server, running([]) as elsewhere, chromium() as browser:
        page = browser.new_page()
        link = server.app.state.tokens.link()
        for address in (f"{server.url}/?link={link}", f"{server.url}/#scene=city"):
            page.goto(f"{elsewhere.url.replace('127.0.0.1', 'localhost')}/api/health")
            page.evaluate("(address) => { document.body.innerHTML = `<a href='${address}'>look</a>`; }", address)
            page.get_by_text("look").click()
            page.wait_for_url(f"{server.url}/**")
            expect(page).to_have_title("whence")
            assert link not in page.url


def test_progress_and_cancelling_pass_through(front: str) -> None:
    """News of a search comes through the proxy as it happens, and a cancelled search answers with what it has."""
    with program(front) as client:
        answer = client.post("api/scenes/hard/explanations", json=question(client))
        assert answer.status_code == 202
        job = urljoin(str(answer.request.url), answer.headers["location"])
        assert job.startswith(front)
        seen: list[dict[str, Any]] = []
        until(lambda: seen.append(client.get(job, params={"wait": 5}).json()["progress"]) or len(seen) > 8, 60.0)
        nodes = [progress["nodes"] for progress in seen if progress]
        assert len(set(nodes)) > 2
        assert nodes == sorted(nodes)
        assert client.delete(job).status_code == 202
        assert finished_at(client, job) == "cancelled"


def finished_at(client: httpx.Client, address: str) -> str:
    state = ["running"]

    def ended() -> bool:
        state[0] = client.get(address, params={"wait": 5}).json()["state"]
        return state[0] not in ("queued", "running")

    until(ended, 60.0)
    return state[0]


def test_who_leaves_the_proxy_leaves_the_server(front: str, behind: Live) -> None:
    """A connection that is closed before nginx is closed behind it too: the place in the queue is given up."""
    with program(front) as client:
        asking = question(client)
        first, second = (client.post("api/scenes/hard/explanations", json=asking).json()["job"] for _ in range(2))
        with pytest.raises(httpx.ReadTimeout):
            client.get(f"api/explanations/{second}", params={"wait": 20}, timeout=0.5)
        waiting = behind.app.state.pool.find(second)
        until(lambda: waiting.state == "cancelled", 15.0)
        client.post(f"api/explanations/{first}/cancel")
        assert finished_at(client, f"api/explanations/{first}") == "cancelled"


def test_the_browser_may_post_from_the_public_address_only(front: str) -> None:
    """The origin must be that of the proxy: neither another site's nor the server's own behind it."""
    with program(front) as client:
        host = client.headers["host"]
        own = {"origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        ask = {"context": question(client)["context"]}
        assert client.post("api/scenes/hard/decide", json=ask, headers=own).status_code == 200
        for origin in (f"https://{host}", f"http://{NAME}:1", f"http://{LOCAL}", "https://evil.example", "null"):
            answer = client.post("api/scenes/hard/decide", json=ask, headers={"origin": origin})
            assert answer.status_code == 403, origin


def test_other_names_are_refused_through_the_proxy_too(front: str) -> None:
    """A name that was not allowed is refused, whatever somebody adds to the request."""
    with program(front) as client:
        for host in ("evil.example", f"{NAME}.evil.example", "10.0.0.1"):
            assert client.get("api/scenes", headers={"host": host}).status_code == 400
            forged = {"host": host, "x-forwarded-host": NAME}
            assert client.get("api/scenes", headers=forged).status_code == 400


def test_the_sub_path_without_its_slash(front: str) -> None:
    """The address without its last slash leads to the page, so that relative addresses stay right."""
    with program(front) as client:
        answer = client.get(front.rstrip("/"))
        assert answer.status_code in (301, 308)
        assert answer.headers["location"].endswith("/whence/")


def test_the_description_names_the_sub_path(front: str) -> None:
    """The interface describes itself with the addresses that its callers see."""
    with program(front) as client:
        assert client.get("api/openapi.json").json()["servers"] == [{"url": "/whence"}]


# ---- what a proxy may say ---------------------------------------------------------------------------------


def test_forwarded_headers_count_from_trusted_proxies_only() -> None:
    """Where no proxy is trusted, what a request says of one changes nothing: neither name, nor origin, nor cookie."""
    forged = {"x-forwarded-host": "evil.example", "x-forwarded-proto": "https", "x-forwarded-for": "10.0.0.1"}
    with running([], token=TOKEN, root_path="/whence", allowed_hosts=(NAME,)) as server, server.client() as client:
        answer = client.get("/", params={"link": server.app.state.tokens.link()}, headers=forged)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/"
        assert "Secure" not in answer.headers["set-cookie"]
        authorized = {**forged, "authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"}
        assert client.post("/api/scenes/x/decide", json={}, headers=authorized).status_code == 403


def test_the_cookie_keeps_to_the_sub_path_and_to_https(behind: Live) -> None:
    """Where the public address is https under a sub-path, the token goes nowhere else."""
    told = {"x-forwarded-host": NAME, "x-forwarded-proto": "https"}
    with behind.client() as client:
        for path in ("/", "/whence/", "/whence"):
            answer = client.get(path, params={"link": behind.app.state.tokens.link()}, headers=told)
            assert answer.headers["location"] == "/whence/"
            assert "; Path=/whence/;" in answer.headers["set-cookie"]
            assert answer.headers["set-cookie"].endswith("; Secure")
        # On the machine itself, without the proxy, it works as well.
        link = behind.app.state.tokens.link()
        assert client.get("/", params={"link": link}).headers["location"] == "/"
        assert client.get("/").status_code == 200


def test_a_page_pointed_here_cannot_play_the_proxy(behind: Live) -> None:
    """DNS rebinding from this machine's own browser cannot make up for its Host by what a proxy would say."""
    forged = {"host": "evil.example", "x-forwarded-host": NAME, "authorization": f"Bearer {TOKEN}"}
    with behind.client() as client:
        assert client.get("/api/scenes", headers=forged).status_code == 400


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"root_path": "/a b"}, "'root_path'"),
        ({"root_path": "/../x"}, "'root_path'"),
        ({"root_path": "/x;y"}, "'root_path'"),
        ({"root_path": "/api"}, "'root_path'"),
        ({"root_path": "/x\r\nset-cookie: a=b"}, "'root_path'"),
        ({"allowed_hosts": ["*"]}, "'allowed_host'"),
        ({"allowed_hosts": ["a.example:80"]}, "'allowed_host'"),
        ({"allowed_hosts": ["http://a.example"]}, "'allowed_host'"),
        ({"trusted_proxies": ["nginx"]}, "'trusted_proxy'"),
        ({"trusted_proxies": ["127.0.0.1:80"]}, "'trusted_proxy'"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, Any], words: str) -> None:
    """What is no sub-path, name or address is refused with one sentence."""
    with pytest.raises(InputError, match=re.escape(words)):
        settings_for(**wrong)


def test_settings_behind_a_proxy() -> None:
    """Slashes and capitals do not matter; where others are let in through a proxy, a token is made."""
    settings = settings_for(
        root_path="whence/", allowed_hosts=["Planning.Example.Org."], trusted_proxies=["10.1.2.3/8"]
    )
    assert settings.root_path == "/whence"
    assert settings.allowed_hosts == (NAME,)
    assert settings.trusted_proxies == ("10.0.0.0/8",)
    assert settings.token is not None
    assert settings_for(root_path="/", allowed_hosts=["localhost"]).token is None
    assert settings_for(root_path="/").root_path == ""
