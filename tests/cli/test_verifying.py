"""`whence verify`: a certificate checked later."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from tests.cli.support import refused, run
from tests.project.samples import SAMPLE


@functools.cache
def _printed() -> str:
    """Return an explanation of the sample project, as the command prints it."""
    return run("explain", SAMPLE / "whence.toml", "-c", "4", "-i", "row:13", "--json").stdout


@pytest.fixture
def certificate(bakery: Path) -> Path:
    """Write the explanation beside the project."""
    path = bakery.with_name("why.json")
    path.write_text(_printed(), "utf-8")
    return path


def test_verify(bakery: Path, certificate: Path) -> None:
    """A certificate agrees with its project, named by its file or its folder, also when it is proved again."""
    for where in (bakery, bakery.parent):
        told = run("verify", certificate, where)
        assert told.exit_code == 0
        assert told.stdout == "why.json agrees with whence.toml: relative, optimal at distance 1.\n"
        assert "Whether anything is nearer was not searched for again." in told.stderr
    proved = run("verify", certificate, bakery, "--prove", "--json")
    assert proved.exit_code == 0
    assert json.loads(proved.stdout) == {"agrees": True, "differences": [], "remarks": [], "proved": True}
    hasty = run("verify", certificate, bakery, "--prove", "--time-limit", "1e-9")
    assert hasty.exit_code == 4
    saved = bakery.with_name("policy.joblib")
    assert run("fit", bakery, "--save", saved).exit_code == 0
    assert run("verify", certificate, bakery, "--policy", saved).exit_code == 0


def test_verify_says_what_differs(bakery: Path, certificate: Path) -> None:
    """A changed file and a changed project are told line by line, with exit code 1."""
    text = certificate.read_text("utf-8")
    certificate.write_text(text.replace('"distance": 1.0', '"distance": 0.5'), "utf-8")
    told = run("verify", certificate, bakery)
    assert told.exit_code == 1
    assert told.stdout.splitlines()[0] == (
        "The document was changed after it was written: its fingerprint does not fit its content."
    )
    assert "distance is 0.5 in the document and 1.0 computed again." in told.stdout
    assert told.stdout.splitlines()[-1].startswith("why.json does not agree with whence.toml: ")
    certificate.write_text(text, "utf-8")
    data = bakery.with_name("history.csv")
    first, second, *rest = data.read_text("utf-8").splitlines()
    data.write_text("\n".join([first, second[:-1] + "9", *rest]) + "\n", "utf-8")
    told = run("verify", certificate, bakery)
    assert told.exit_code == 1
    assert "The history is not the one behind the explanation." in told.stdout.splitlines()


def test_verify_refuses(bakery: Path, certificate: Path) -> None:
    """What is no explanation is a sentence with exit code 2."""
    certificate.write_text("{}", "utf-8")
    assert "The entry 'schema' of the explanation must be" in refused(run("verify", certificate, bakery))
    assert "does not exist" in refused(run("verify", bakery.with_name("absent.json"), bakery))
    assert "'--time-limit' must be a positive number" in refused(run("verify", certificate, bakery, "--time-limit", 3))
