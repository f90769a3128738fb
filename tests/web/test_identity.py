"""People whom a trusted proxy names: let in, shown, stored, and kept to their projects."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace

import httpx
import pytest
from tests.web.live import Live, finished, hard_scene, running, small_scenes
from tests.web.nginx import nginx, nginx_path

from whence.errors import InputError
from whence.web.pool import LEFT
from whence.web.server_settings import settings_for

TOKEN = "a-token-of-more-than-sixteen-letters"
NAMED = {"user_header": "X-Remote-User", "groups_header": "X-Remote-Groups"}
#: nginx asks a service who it is: here nginx itself, which takes the password for the name.
SNIPPET = """
location / {
    auth_request /who;
    auth_request_set $person $upstream_http_x_person;
    auth_request_set $teams $upstream_http_x_teams;
    proxy_pass http://UPSTREAM;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Remote-User $person;
    proxy_set_header X-Remote-Groups $teams;
}
location = /who {
    internal;
    proxy_pass http://127.0.0.1:$server_port/identity;
    proxy_pass_request_body off;
    proxy_set_header Content-Length "";
}
location = /identity {
    if ($http_x_password = "annas") { add_header X-Person anna; add_header X-Teams "bakers, planners"; return 200; }
    if ($http_x_password = "bens") { add_header X-Person ben; return 200; }
    return 401;
}
"""


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A server behind a proxy that names people, one of whose scenes is for bakers only."""
    store = tmp_path_factory.mktemp("store") / "store.sqlite"
    access = {"bakery": ("@bakers",)}
    trusted = {"trusted_proxies": ("127.0.0.1/32",), "token": TOKEN, "access": access, "store": str(store)}
    with running(small_scenes()[:2], **trusted, **NAMED) as server:
        server.wait_for_workers()
        yield server


def test_people_through_nginx(behind: Live) -> None:
    """nginx's auth_request lets people in and names them; what they claim themselves of their name does not count."""
    if nginx_path() is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: people named by a reverse proxy; install nginx.")
    with nginx(SNIPPET.replace("UPSTREAM", behind.url.removeprefix("http://"))) as port:
        url = f"http://127.0.0.1:{port}"
        assert httpx.get(f"{url}/api/v1/scenes", headers={"x-remote-user": "anna"}).status_code == 401
        forged = {"x-password": "bens", "x-remote-user": "anna", "x-remote-groups": "bakers"}
        listed = httpx.get(f"{url}/api/v1/scenes", headers=forged).json()
        assert [entry["id"] for entry in listed] == ["city"]
        with httpx.Client(base_url=url, headers={"x-password": "annas"}, timeout=60.0) as anna:
            assert [entry["id"] for entry in anna.get("/api/v1/scenes").json()] == ["bakery", "city"]
            assert "You are anna" in anna.get("/").text
            own = anna.get("/api/v1/scenes/bakery").json()
            asked = {"context": own["context"], "plan": own["alternative"]}
            job = anna.post("/api/v1/scenes/bakery/explanations", json=asked).json()["job"]
            assert finished(anna, job)["state"] == "done"
            [stored] = anna.get("/api/v1/scenes/bakery/questions").json()
            assert (stored["who"], stored["job"]) == ("anna", job)
            assert job in anna.get("/questions").text
        with httpx.Client(base_url=url, headers={"x-password": "bens"}, timeout=60.0) as ben:
            for path in (f"explanations/{job}", f"explanations/{job}/report.html", "scenes/bakery/questions"):
                assert ben.get(f"/api/v1/{path}").status_code == 404
            assert ben.post("/api/v1/scenes/bakery/explanations", json=asked).status_code == 404
            assert job not in ben.get("/questions").text


def test_names_from_elsewhere_do_not_count() -> None:
    """Who is no trusted proxy names nobody, and needs a token as ever."""
    trusted = {"trusted_proxies": ("10.9.9.9/32",), "token": TOKEN}
    with running([], **trusted, **NAMED) as live, live.client() as client:
        assert client.get("/api/v1/scenes", headers={"x-remote-user": "anna"}).status_code == 401
        named = {"x-remote-user": "anna", "authorization": f"Bearer {TOKEN}"}
        assert client.get("/api/v1/scenes", headers=named).status_code == 200
        assert "anna" not in client.get("/", headers=named).text


def test_names_are_read_as_proxies_write_them() -> None:
    """A name comes in UTF-8, as access lists have it; of two names in one request, one is made up, and none counts."""
    given = {"trusted_proxies": ("127.0.0.1/32",), "token": TOKEN, "access": {"bakery": ("jürgen",)}, **NAMED}
    with running(small_scenes()[:1], **given) as live, live.client() as client:
        named = client.get("/api/v1/scenes", headers=[("x-remote-user", "jürgen".encode())])
        assert [scene["id"] for scene in named.json()] == ["bakery"]
        both = [("x-remote-user", "jürgen".encode()), ("x-remote-user", b"ben")]
        assert client.get("/api/v1/scenes", headers=both).status_code == 401


def test_who_did_not_ask_stops_no_search() -> None:
    """Others may look at a search, and read its answer, but neither stop it nor end it by going away."""
    given = {"trusted_proxies": ("127.0.0.1/32",), **NAMED}
    with ExitStack() as stack:
        live = stack.enter_context(running([hard_scene()], **given))
        anna, ben = (stack.enter_context(live.client(headers={"x-remote-user": name})) for name in ("anna", "ben"))
        own = anna.get("/api/v1/scenes/hard").json()
        asked = {"context": own["context"], "plan": own["alternative"]}
        address = f"/api/v1/explanations/{anna.post('/api/v1/scenes/hard/explanations', json=asked).json()['job']}"
        assert ben.delete(address).status_code == 403
        assert ben.post(f"{address}/cancel").status_code == 403
        with suppress(httpx.ReadTimeout):
            # Gone before there is any news.
            while ben.get(address, params={"wait": 20}, timeout=httpx.Timeout(20.0, read=0.05)).is_success:
                pass
        time.sleep(LEFT + 1.0)
        assert anna.get(address).json()["state"] in ("queued", "running")
        assert anna.delete(address).status_code == 202


def test_names_need_a_proxy() -> None:
    """A header that names people without a proxy to set it is refused at the start."""
    with pytest.raises(InputError, match="'user_header'"):
        settings_for(user_header="X-Remote-User")
    settings = settings_for(trusted_proxies=["127.0.0.1"], user_header="X-Remote-User")
    assert replace(settings, user_header=None).user_header is None
