"""Change one line of the code at a time, and see whether the tests notice: what they do not, nothing guards.

    python scripts/mutate.py                    draw 40 changes and run the tests of make test that belong to each
    python scripts/mutate.py --long             let the tests of make test-all look at what these let through
    python scripts/mutate.py --only 7 12        some of the changes again
    python scripts/mutate.py --list             show the changes only

The changes are drawn from the folders of `PLACES`, the same each time for the same code and `--seed`, and made in a
copy of the last commit (a git worktree in a temporary folder). A change that the long run notices and the short one
does not is a gap in the short run; one that neither notices changes no answer (a bound that is a little weaker, say),
or is a gap in both: look at it.
"""

from __future__ import annotations

import argparse
import io
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Where lines are changed, how many of the 40, and the tests that look at it: what is named after the file that is
#: changed runs first (`belonging`), then the golden file, then these.
PLACES: dict[str, tuple[int, tuple[str, ...]]] = {
    "core": (14, ("tests/core", "tests/search", "tests/weights", "tests/agreement", "tests/problems")),
    "src/whence/search": (9, ("tests/search", "tests/agreement", "tests/explain", "tests/questions")),
    "src/whence/claims": (5, ("tests/agreement", "tests/test_forecast_policy.py", "tests/search", "tests/explain")),
    "src/whence/explain/recheck.py": (4, ("tests/explain", "tests/agreement", "tests/test_certificate.py")),
    "src/whence/features": (8, ("tests/features", "tests/agreement", "tests/search", "tests/project")),
}
#: What is written for what; of several that a line holds, one is drawn.
SWAPS = (
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\bnot (?!in\b)", ""),
    (r"(?<!strict=)\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\b0\.0\b", "1.0"),
    (r"\b1\.0\b", "2.0"),
    (r"\[0\]", "[1]"),
    (r"\[1:\]", "[:]"),
)
#: Seconds that the tests of one change may take; a search that no longer ends is noticed.
PATIENCE = 3600
#: Bytes that a process of the tests may take: a change may ask for more than there is.
MEMORY = 12 << 30


@dataclass(frozen=True)
class Change:
    """One line that reads otherwise."""

    path: Path
    line: int
    before: str
    after: str
    tests: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.path}:{self.line}\n     - {self.before.strip()}\n     + {self.after.strip()}"

    @contextmanager
    def made(self, tree: Path) -> Iterator[None]:
        """Write the line otherwise in a copy of the repository, and then as it was."""
        text = (tree / self.path).read_text("utf-8")
        lines = text.splitlines(keepends=True)
        lines[self.line - 1] = self.after
        (tree / self.path).write_text("".join(lines), "utf-8")
        try:
            yield
        finally:
            (tree / self.path).write_text(text, "utf-8")


@contextmanager
def copied(folder: str, name: str) -> Iterator[Path]:
    """Make a copy of the last commit, with the core as it was built here, and remove it in the end."""
    tree = Path(folder) / name
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(tree), "HEAD"], check=True)
    try:
        for core in (ROOT / "src" / "whence").glob("_core.*"):
            if core.suffix != ".pyi":
                shutil.copy(core, tree / "src" / "whence" / core.name)
        yield tree
    finally:
        subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def lines_of_python(text: str) -> Iterator[int]:
    """Yield the numbers of lines that hold code and no part of a string or a comment."""
    code: set[int] = set()
    other: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        rows = range(token.start[0], token.end[0] + 1)
        if token.type in (tokenize.STRING, tokenize.COMMENT) or tokenize.tok_name[token.type].startswith("FSTRING"):
            other.update(rows)
        elif token.type in (tokenize.OP, tokenize.NAME, tokenize.NUMBER):
            code.update(rows)
    yield from sorted(code - other)


def lines_of_cpp(text: str) -> Iterator[int]:
    """Yield the numbers of lines that hold code and no comment or string."""
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if bare and not bare.startswith(("//", "*", "/*", "#")) and "//" not in bare and '"' not in bare:
            yield number


def possible(tree: Path, place: str) -> list[tuple[Path, int, str, str]]:
    """Return every line of a place that can be changed, with each change."""
    where = tree / place
    files = [where] if where.is_file() else sorted(p for p in where.rglob("*") if p.suffix in (".py", ".cpp", ".hpp"))
    found = []
    for path in files:
        if "bind" in path.parts:
            continue
        text = path.read_text("utf-8")
        lines = text.splitlines(keepends=True)
        for number in lines_of_python(text) if path.suffix == ".py" else lines_of_cpp(text):
            line = lines[number - 1]
            if line.lstrip().startswith(("@", "assert ", "import ", "from ")):
                continue
            for pattern, written in SWAPS:
                for match in re.finditer(pattern, line):
                    changed = line[: match.start()] + written + line[match.end() :]
                    found.append((path.relative_to(tree), number, line, changed))
    return found


def belonging(tree: Path, changed: Path, folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tests of a change, those that most likely notice it first: each only once, whatever comes again."""
    every = [file for file in sorted((tree / "tests").rglob("test_*.py")) if "web" not in file.parts]
    files = [file for file in every if changed.stem in file.stem]
    if changed.suffix == ".py":
        module = ".".join(changed.with_suffix("").parts[1:])
        files += [file for file in every if module in file.read_text("utf-8")]
    near = [str(file.relative_to(tree)) for file in files]
    there = [folder for folder in ("tests/golden", *folders) if (tree / folder).exists()]
    return tuple(dict.fromkeys((*near, *there)))


def drawn(tree: Path, seed: int) -> list[Change]:
    """Return the changes of a seed: of every place so many, in any file of it, no line twice."""
    changes = []
    for place, (count, tests) in PLACES.items():
        rng = random.Random(f"{seed} {place}")
        known: set[tuple[Path, int]] = set()
        choices = possible(tree, place)
        rng.shuffle(choices)
        for path, number, before, after in choices:
            if (path, number) not in known and len(known) < count:
                known.add((path, number))
                changes.append(Change(path, number, before, after, belonging(tree, path, tests)))
    return changes


def noticed(tree: Path, tests: tuple[str, ...], long: bool, workers: int, without: Collection[str] = ()) -> str:
    """Return which test notices a change first, `without` some of them; nothing where none does."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(tree / "src")
    day = environment.pop("WHENCE_TEST_DAY", "20410")
    chosen = ["-m", "not long"]
    if long:
        environment["WHENCE_TEST_DAY"] = day
        chosen = []
    built = _run(tree, [sys.executable, "-c", "import whence._core"], environment)
    if built is None or built.returncode:
        return "it does not even start"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n",
        str(workers if workers > 1 else 0),
        "--dist",
        "loadfile",
    ]
    left_out = [f"--deselect={one}" for one in without]
    run = _run(tree, [*command, "-p", "no:cacheprovider", *chosen, *left_out, *tests], environment)
    if run is None:
        return "that they do not end"
    if run.returncode in (0, 5):
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.MULTILINE)
    return failed.group(1) if failed else f"that they end with {run.returncode}"


def noticed_soundly(tree: Path, plain: Path, change: Change, long: bool, workers: int, judged: dict[str, bool]) -> str:
    """Return which test notices a change first that passes without it; `judged` holds what is known of tests."""
    while True:
        without = [one for one, passes in judged.items() if not passes]
        by = noticed(tree, change.tests, long, workers, without)
        if "::" in by and by not in judged:
            judged[by] = not noticed(plain, (by,), long, 1)
        if judged.get(by, True):
            return by


def _run(tree: Path, command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str] | None:
    """Run a command in the repository; None where it takes too long."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    with subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=limit,
    ) as process:
        try:
            output, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return None
    return subprocess.CompletedProcess(command, process.returncode, output)


def main() -> int:
    """Apply the changes one by one, and say which of them no test noticed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="draw other changes")
    parser.add_argument("--only", type=int, nargs="+", help="numbers of the changes to apply")
    parser.add_argument("--long", action="store_true", help="run the long tests on what the short ones do not notice")
    parser.add_argument("--list", action="store_true", help="show the changes and run nothing")
    parser.add_argument("--workers", type=int, default=2, help="processes that run tests")
    given = parser.parse_args()
    changes = list(enumerate(drawn(ROOT, given.seed), 1))
    changes = [one for one in changes if given.only is None or one[0] in given.only]
    if given.list:
        print("\n".join(f"{number:3}  {change}" for number, change in changes))
        return 0
    if subprocess.run(["git", "status", "--porcelain", "-uno"], cwd=ROOT, capture_output=True, check=True).stdout:
        raise SystemExit("mutate: commit your changes first; what is changed is a copy of the last commit")
    # What is copied must be the core of these sources: an editable install builds it before it is imported.
    subprocess.run([sys.executable, "-c", "import whence._core"], cwd=ROOT, check=True)
    gaps = 0
    judged: dict[str, bool] = {}
    with (
        tempfile.TemporaryDirectory(prefix="whence-mutate-") as folder,
        copied(folder, "changed") as tree,
        copied(folder, "plain") as plain,
    ):
        for number, change in changes:
            began = time.monotonic()
            with change.made(tree):
                by = noticed_soundly(tree, plain, change, False, given.workers, judged)
                ask = given.long and not by
                late = noticed_soundly(tree, plain, change, True, given.workers, judged) if ask else ""
            verdict = (
                f"noticed by {by}" if by else f"noticed in the long run only, by {late}" if late else "not noticed"
            )
            gaps += not by and (bool(late) or not given.long)
            print(f"{number:3}  {change}\n     {verdict} ({time.monotonic() - began:.0f} s)", flush=True)
    if failing := [one for one, passes in judged.items() if not passes]:
        print("mutate: fails without any change, and was left out:", *failing)
    print(f"mutate: {len(changes)} changes, {gaps} {'gaps in the short run' if given.long else 'not noticed'}")
    return int(gaps > 0)


if __name__ == "__main__":
    sys.exit(main())
