"""Take the pictures of the tutorial without Python: ``python docs/take_no_python.py``.

Every command is run as it stands on the page, on the bike-share history, in an empty folder; what it prints is the
picture, as are the page and the report that come of it.
"""

from __future__ import annotations

import csv
import html
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

from PIL import Image
from playwright.sync_api import Browser, expect

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))

from tests.web.browser import PATIENCE, Server, chromium, opened, set_most_time  # noqa: E402

IMAGES = DOCS / "images"
HISTORY = DOCS.parent / "examples" / "bike-share" / "history.csv"
#: What is changed in the draft of the project file, by hand.
EDITS = {
    'title = ""': 'title = "Why so many bikes?"',
    'question = ""': 'question = "How many bikes to have ready in an hour."',
    "backorder = 2 ": "backorder = 3 ",
}
#: The commands of the page, in their order, by the name of their picture.
COMMANDS = {
    "init": "whence init hours.csv --outcomes bikes",
    "check": "whence check whence.toml",
    "evaluate": "whence evaluate whence.toml",
    "explain": 'whence explain whence.toml --context 2849 --instead "bikes=150" --no-holds --report why.html',
}
STYLE = """body { margin: 0; font: 14px/1.45 'DejaVu Sans Mono', monospace; background: #fff; color: #17202a; }
pre { margin: 0; padding: 14px 18px; background: #10161c; color: #e9eef2; white-space: pre-wrap; width: 860px; }
pre b { color: #8accf3; font-weight: 400; }
table { border-collapse: collapse; font: 13px 'DejaVu Sans', sans-serif; margin: 10px; }
td, th { border: 1px solid #c9d1d8; padding: 3px 9px; } th { background: #eef2f5; font-weight: 500; color: #55616d; }
td.n { text-align: right; } tr.head td { font-weight: 700; }"""


def picture(browser: Browser, content: str, selector: str, name: str) -> None:
    """Draw a piece of HTML."""
    page = browser.new_page(viewport={"width": 1100, "height": 800}, device_scale_factor=1)
    page.set_content(f"<style>{STYLE}</style>{content}")
    save(page.locator(selector).screenshot(), name)
    page.close()


def save(drawn: bytes, name: str) -> None:
    """Write a picture in few colours: these are texts and bars."""
    path = IMAGES / f"no-python-{name}.png"
    path.write_bytes(drawn)
    Image.open(path).convert("RGB").quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path)


def table(path: Path) -> str:
    """The first rows of a table as a spreadsheet shows them."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[:8]
    letters = "".join(f"<th>{chr(65 + j)}</th>" for j in range(len(rows[0])))
    lines = []
    for i, row in enumerate(rows):
        cells = "".join(f"<td{' class=n' if c[:1].isdigit() and len(c) < 6 else ''}>{html.escape(c)}</td>" for c in row)
        lines.append(f"<tr{' class=head' if i == 0 else ''}><th>{i + 1}</th>{cells}</tr>")
    return f"<table><tr><th></th>{letters}</tr>{''.join(lines)}</table>"


def run(command: str, folder: Path) -> str:
    """What a command prints, its own line first."""
    said = subprocess.run(
        [sys.executable, "-m", "whence", *shlex.split(command)[1:]],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ).stdout
    # How far it has come is for those who wait.
    kept = [line for line in said.splitlines() if " left (" not in line and "building the core" not in line]
    return f"<pre>$ <b>{html.escape(command)}</b>\n{html.escape(chr(10).join(kept))}</pre>"


def edited(project: Path) -> str:
    """Make the changes to the draft, and show where they stand."""
    text = project.read_text("utf-8")
    for draft, ours in EDITS.items():
        assert draft in text, draft
        text = text.replace(draft, ours, 1)
    project.write_text(text, "utf-8")
    lines = text.splitlines()
    first = lines.index("[problem]")
    shown = [*lines[:3], "...", *lines[first : first + 6]]
    changed = tuple(EDITS.values())
    marked = [f"<b>{html.escape(line)}</b>" if line.startswith(changed) else html.escape(line) for line in shown]
    return f"<pre>{chr(10).join(marked)}</pre>"


def take_pages(browser: Browser, url: str) -> None:
    """The page with a question about a plan, and its answer: on a desk, on a tablet, and on a phone."""
    take_page(browser, url, "page", 1280, "light")
    take_page(browser, url, "tablet", 768, "dark")
    take_page(browser, url, "phone", 390, "light")


def take_page(browser: Browser, url: str, name: str, width: int, colours: Literal["light", "dark"]) -> None:
    """The page in a window of this width, with what the answer to rely on changes."""
    page = opened(browser, url, width=width, color_scheme=colours, reduced_motion="reduce").page
    page.get_by_label("Your plan: bikes", exact=True).fill("150")
    set_most_time(page)
    page.get_by_role("button", name="Why not mine?").click()
    page.locator("[data-kind=relative] .verdict").wait_for(timeout=8 * PATIENCE)
    expect(page.locator(".explanation-card[aria-busy=true]")).to_have_count(0, timeout=16 * PATIENCE)
    card = page.locator(".explanation-question .explanation-card:visible").first
    if width > 600:
        card.get_by_role("button", name="Show it").click()
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("window.scrollTo(0, 0)")
    else:
        card.scroll_into_view_if_needed()
    page.mouse.move(0, 0)
    page.wait_for_timeout(500)
    save(page.screenshot(), name)
    page.context.close()


def take_report(browser: Browser, path: Path) -> None:
    """The first screen of the report."""
    page = browser.new_page(viewport={"width": 940, "height": 1150})
    page.goto(path.as_uri())
    save(page.screenshot(), "report")
    page.close()


def main() -> None:
    """Go through the tutorial once."""
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        folder = Path(name)
        shutil.copy(HISTORY, folder / "hours.csv")
        picture(browser, table(folder / "hours.csv"), "table", "table")
        for step, command in COMMANDS.items():
            picture(browser, run(command, folder), "pre", step)
            if step == "init":
                picture(browser, edited(folder / "whence.toml"), "pre", "edit")
        take_report(browser, folder / "why.html")
        # Long enough for simulated worlds on a machine that does other things too.
        server = Server(str(folder / "whence.toml"), "--time-limit", "300").wait_for_workers()
        try:
            take_pages(browser, server.url)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
