"""The page in a real browser: a server of its own process, Chromium, and the pictures for the documentation.

``python -m tests.web.browser docs/images`` takes the pictures again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright
from tests.processes import usual_signals

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: Milliseconds that anything on the page may take on a machine that does other things too.
PATIENCE = 20_000
STRANGE = "<script>alert(1)</script>"

expect.set_options(timeout=PATIENCE)


class Server:
    """`whence serve` in a process of its own, at a port that is free; `arguments` are those of the command."""

    def __init__(self, *arguments: str, token: str = "") -> None:
        self._arguments, self.token = arguments, token
        self.url = ""
        self._start(0)

    def _start(self, port: int) -> None:
        command = [sys.executable, "-m", "whence", "serve", *self._arguments, "--port", str(port), "--no-browser"]
        self._process = subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=usual_signals,
            env={**os.environ, "WHENCE_TOKEN": self.token} if self.token else None,
        )
        told: list[str] = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            told.append(line)
            found = re.search(r"http://\S+", line)
            if found:
                self.url = found.group().partition("?")[0].rstrip("/")
                break
        else:
            raise AssertionError("".join(told))
        # Whatever it says later must not fill the pipe.
        threading.Thread(target=_drained, args=(self._process.stderr,), daemon=True).start()

    def wait_for_workers(self, seconds: float = 240.0) -> Server:
        """Return once it can search, so that tests do not wait for the start of its workers."""
        deadline = time.monotonic() + seconds
        while True:
            ask = urllib.request.Request(f"{self.url}/api/health", headers={"Authorization": f"Bearer {self.token}"})
            with urllib.request.urlopen(ask, timeout=30) as answer:
                health = json.load(answer)
            if health["ready"] == health["workers"]:
                return self
            assert time.monotonic() < deadline, health
            time.sleep(0.1)

    def processor_seconds(self) -> float:
        """How long it and its workers have computed so far."""
        ticks = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = stat.read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            # All of them are in the session that the server leads.
            if int(fields[3]) == self._process.pid:
                ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def start_again(self) -> None:
        """Start it at the same address, after it was stopped."""
        self._start(urlsplit(self.url).port or 0)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it and its workers: in peace, or at once with SIGKILL."""
        if self._process.poll() is None:
            if how is signal.SIGKILL:
                os.killpg(self._process.pid, how)
            else:
                self._process.send_signal(how)
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait(20)


def _drained(pipe: IO[str]) -> None:
    """Read a pipe to its end, and close it."""
    with pipe:
        pipe.read()


def write_project(folder: Path) -> Path:
    """A project with names that a careless page would run, every kind of feature, and questions without a quick end."""
    rng = np.random.default_rng(0)
    n, plain = 300, 16
    numbers = rng.random((n, plain))
    level, shop, holiday = rng.integers(1, 5, n), rng.integers(0, 3, n), rng.random(n) < 0.3
    history = pd.DataFrame({STRANGE: numbers[:, 0].round(4)})
    for j in range(1, plain):
        history[f"f{j}"] = numbers[:, j].round(4)
    history["level"] = level
    history["shop"] = np.array(["<b>north</b>", "south", "east & west"])[shop]
    history["holiday"] = np.where(holiday, "yes", "no")
    base = 20 * numbers @ rng.random((plain, 3)) + 5 * rng.random((n, 3)) + level[:, None] + 4 * holiday[:, None]
    for name, demand in zip(("apples", "<i>pears</i>", "plums"), base.T, strict=True):
        history[name] = demand.round(2)
    history.to_csv(folder / "history.csv", index=False)
    features = [STRANGE, *(f"f{j}" for j in range(1, plain))]
    tables = "\n".join(f'[features.{json.dumps(name)}]\ntype = "continuous"\n' for name in features)
    project = folder / "whence.toml"
    project.write_text(
        f"""title = {json.dumps(f"Why not more {STRANGE}?")}
question = "How many to order."

[data]
history = "history.csv"

[outcomes]
columns = ["apples", "<i>pears</i>", "plums"]

{tables}
[features.level]
type = "discrete"
values = [1, 2, 3, 4]
unit = "stars"

[features.shop]
type = "categorical"

[features.holiday]
type = "binary"

[weights]
kind = "forest"
n_trees = 100
max_depth = 6
min_samples_leaf = 1
max_features = "sqrt"

[problem]
kind = "newsvendor"
holding = [1, 2, 1]
backorder = [3, 2, 4]
""",
        encoding="utf-8",
    )
    return project


def chromium_path() -> str | None:
    """Where the system's Chromium is, if it has one."""
    found = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    return next(filter(None, found), None)


@contextmanager
def chromium(*flags: str) -> Iterator[Browser]:
    """The system's Chromium while the block runs."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=[*FLAGS, *flags])
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watched:
    """What a page did besides showing something: calls, calls to other servers, and what it complained of."""

    page: Page
    origin: str
    calls: list[tuple[str, str]] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.on("request", self._called)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("console", lambda message: self._said(message.type, message.text))
        self.page.on("dialog", self._dialog)

    def _called(self, request: Request) -> None:
        method, url = request.method, request.url
        # What the page asks by itself, when it is opened, is not what somebody asked.
        if method == "POST" and url.endswith("/explanations") and '"time_limit":3,' in (request.post_data or ""):
            method = "BY ITSELF"
        self.calls.append((method, urlsplit(url).path))
        if not url.startswith((self.origin + "/", "data:", "blob:")):
            self.foreign.append(url)

    def _said(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def posts(self, ending: str) -> int:
        """How often something was sent to an address that ends so."""
        return sum(method == "POST" and path.endswith(ending) for method, path in self.calls)

    def assert_quiet(self) -> None:
        """No other server was called, and nothing went wrong."""
        assert self.foreign == []
        assert self.complaints == []


def opened(browser: Browser, url: str, *, scene: str = "", width: int = 1280, **options: Any) -> Watched:
    """The page in a window of its own, once its plans are there."""
    height = 844 if width < 600 else 900
    page = browser.new_context(viewport={"width": width, "height": height}, **options).new_page()
    page.set_default_timeout(PATIENCE)
    watched = Watched(page, url)
    page.goto(f"{url}/#scene={scene}" if scene else url)
    expect(page.locator("#workspace")).to_be_visible()
    expect(page.locator(".plan-card.d .cost b")).not_to_be_empty()
    return watched


def fits(page: Page, widths: tuple[int, ...] = (390, 1280)) -> bool:
    """Whether nothing is wider than the window, on a phone and on a desk; the window is then as it was."""
    before = page.viewport_size
    assert before is not None
    found = []
    for width in (*widths, before["width"]):
        page.set_viewport_size({"width": width, "height": before["height"]})
        found.append(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))
    return all(found)


def eventually(page: Page, holds: Callable[[], Any]) -> None:
    """Wait until something holds that the page is about to do; how long that takes is up to the machine."""
    deadline = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < deadline, "it did not come to hold"
        page.wait_for_timeout(20)


def asked(page: Page) -> None:
    """Ask, and wait for both answers, and for how far they can be relied on."""
    page.get_by_role("button", name="Why not mine?").click()
    for kind in ("relative", "absolute"):
        # The workers have to start first.
        expect(page.locator(f"[data-kind={kind}] .verdict")).to_be_visible(timeout=8 * PATIENCE)
    expect(page.locator(".explanation-card[aria-busy=true]")).to_have_count(0, timeout=8 * PATIENCE)


def ask_by_a_hair(page: Page, url: str) -> None:
    """Ask the bakery a question whose nearest answer turns by a hair, so that there is another one to rely on."""
    context = {"weekday": "Wednesday", "temperature": 3.2, "rain": False, "promotion": False}
    state = urlencode({"scene": "bakery", "context": json.dumps(context), "plan": "[255,80,68,29]"})
    page.goto(f"{url}/#{state}")
    expect(page.get_by_label("temperature", exact=True)).to_have_value("3.2")
    asked(page)
    expect(page.locator("[data-reliable=relative] .verdict")).to_be_visible()


def set_most_time(page: Page) -> None:
    """Choose the longest limit that the server allows for: pictures show what simulated worlds say."""
    page.locator("#time-limit").evaluate(
        "one => { one.value = one.lastElementChild.value; one.dispatchEvent(new Event('change')); }"
    )


def ask_patiently(page: Page) -> None:
    """Ask, with all the time that the server allows for."""
    set_most_time(page)
    asked(page)


def take_pictures(browser: Browser, url: str, folder: Path) -> list[Path]:
    """The pictures of the documentation: by day, by night, on a tablet and on a phone."""
    shots = (
        ("page-city", "city", 1280, "light"),
        ("page-bakery", "bakery", 1280, "light"),
        ("page-dark", "city", 1280, "dark"),
        ("page-tablet", "bakery", 768, "dark"),
        ("page-phone", "city", 390, "light"),
    )
    written = []
    for name, scene, width, colours in shots:
        page = opened(browser, url, scene=scene, width=width, color_scheme=colours, reduced_motion="reduce").page
        ask_patiently(page)
        if width > 600:
            page.locator(".segment", has_text="Then").click()
            page.set_viewport_size({"width": width, "height": 900})
        else:
            page.locator("#explanation-panel").scroll_into_view_if_needed()
            page.locator("[data-kind=relative] .verdict").scroll_into_view_if_needed()
        page.mouse.move(0, 0)
        page.wait_for_timeout(300)
        if width > 600:
            page.evaluate("window.scrollTo(0, 0)")
        path = folder / f"{name}.png"
        page.screenshot(path=path)
        page.context.close()
        written.append(path)
    return [
        *written,
        _both_answers(browser, url, folder),
        _other_questions(browser, url, folder),
        _report(browser, url, folder),
    ]


def _report(browser: Browser, url: str, folder: Path) -> Path:
    """The picture of a report: what a reader of it sees first."""
    page = opened(browser, url, scene="city", reduced_motion="reduce").page
    ask_patiently(page)
    link = page.locator("[data-kind=relative]").get_by_role("link", name="Report (HTML)").get_attribute("href")
    text = page.request.get(f"{url}/{link}").text()
    page.context.close()
    page = browser.new_context(viewport={"width": 960, "height": 1240}).new_page()
    page.set_content(text)
    path = folder / "report.png"
    page.screenshot(path=path)
    page.context.close()
    return path


def _both_answers(browser: Browser, url: str, folder: Path) -> Path:
    """The picture of a question that turns by a hair: both of its answers."""
    page = opened(browser, url, scene="bakery", reduced_motion="reduce").page
    ask_by_a_hair(page, url)
    # It floats over the answers.
    page.evaluate("document.getElementById('dock').style.display = 'none'")
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    path = folder / "page-rely.png"
    page.locator("#explanation-panel").screenshot(path=path)
    page.context.close()
    return path


def ask_others(page: Page) -> None:
    """Ask the bakery all other questions, and wait for their answers."""
    page.locator("#subject").select_option("any relative")
    for name in ("front", "menu", "reasons"):
        page.locator(f"#ask-{name}").click()
    page.get_by_label("Before: past observation").fill("6")
    page.get_by_label("Before: past observation").press("Enter")
    for name in ("front", "menu", "reasons", "compare"):
        expect(page.locator(f"[data-other={name}] .downloads")).to_be_visible(timeout=8 * PATIENCE)


def _other_questions(browser: Browser, url: str, folder: Path) -> Path:
    """The picture of the other questions: answers side by side, facts, and a comparison."""
    page = opened(browser, url, scene="bakery", reduced_motion="reduce").page
    ask_others(page)
    page.evaluate("document.activeElement.blur()")
    page.evaluate("document.getElementById('dock').style.display = 'none'")
    # What stays at the top of the window would lie across the panel.
    page.evaluate("document.querySelector('header.top').style.position = 'static'")
    page.mouse.move(0, 0)
    page.wait_for_timeout(300)
    path = folder / "page-questions.png"
    page.locator("#more-panel").screenshot(path=path)
    page.context.close()
    return path


def main() -> None:
    """Take the pictures into the folder that the command line names."""
    # Long enough for simulated worlds on a machine that does other things too.
    server = Server("--time-limit", "300").wait_for_workers()
    try:
        with chromium() as browser:
            for path in take_pictures(browser, server.url, Path(sys.argv[1])):
                print(path)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
