"""What the measurements of explanations share: asking, counting, tables, and the command line.

A time is that of the whole call of ``policy.explain`` on a fitted policy: weights, decision, tables, search and
re-check. Loading is excluded by a first call that is not counted; what the search sets up once a fitted forest is
included, because every question is put to a copy of the policy that has not been asked before.
"""

from __future__ import annotations

import argparse
import copy
import datetime
import os
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# The paper's experiments lie beside the package: a script in this folder finds them only by the root of the repository.
sys.path.append(str(ROOT))

from paper import Instance, instance  # noqa: E402
from paper.los_angeles import VARIABLE  # noqa: E402

#: Seconds after which a question that ought to be answered at once is given up.
PATIENCE = 60.0
KINDS = ("relative", "absolute")


# ---- asking ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """How one question ended."""

    seed: int
    status: str
    distance: float
    bound: float
    seconds: float
    nodes: int

    @property
    def proved(self) -> bool:
        """Whether it counts: a proved explanation at a distance above 0."""
        return self.status == "optimal" and self.distance > 0

    @property
    def unfinished(self) -> bool:
        """Whether the search was cut off."""
        return self.status in ("time_limit", "interrupted")


def ask(seed: int, asked: Instance, kind: str, **options: Any) -> Asked:
    """Put the question to a copy of the policy that was never asked, and time the whole call."""
    policy = copy.copy(asked.policy)
    policy.weights_ = copy.copy(asked.policy.weights_)
    began = time.perf_counter()
    why = policy.explain(asked.context, instead=asked.alternative, kind=kind, **options)  # type: ignore[arg-type]
    seconds = time.perf_counter() - began
    return Asked(seed, why.status, why.distance, why.bound, seconds, why.nodes)


class Cell:
    """The questions of one cell of a table."""

    def __init__(self, runs: Iterable[Asked] = ()) -> None:
        self.runs = list(runs)

    @property
    def proved(self) -> list[Asked]:
        """Those that count."""
        return [run for run in self.runs if run.proved]

    @property
    def open(self) -> list[Asked]:
        """Those that were cut off."""
        return [run for run in self.runs if run.unfinished]

    @property
    def worth(self) -> int:
        """Questions that needed an answer: those that count and those that were cut off."""
        return len(self.proved) + len(self.open)

    @property
    def mean(self) -> float:
        """Mean seconds of those that count."""
        return statistics.fmean(run.seconds for run in self.proved) if self.proved else float("nan")

    @property
    def median(self) -> float:
        """Median seconds of those that count."""
        return statistics.median(run.seconds for run in self.proved) if self.proved else float("nan")

    @property
    def others(self) -> str:
        """The questions that do not count, by status."""
        counts = Counter("optimal at 0" if r.status == "optimal" else r.status for r in self.runs if not r.proved)
        return ", ".join(f"{count} {status}" for status, count in sorted(counts.items())) or "-"

    @property
    def share(self) -> str:
        """How many of the questions that needed an answer were proved."""
        return f"{len(self.proved)} of {self.worth}"


Make = Callable[[int], Instance]


def collect(make: Make, wanted: int, start: int, kinds: Sequence[str] = KINDS, **options: Any) -> dict[str, Cell]:
    """Consecutive seeds from `start` until every kind has `wanted` questions that needed an answer.

    Questions that hold already, or have no answer, do not count; where they are nearly all there is, it ends too.
    """
    cells = {kind: Cell() for kind in kinds}
    for seed in range(start, start + 25 * wanted):
        missing = [kind for kind in kinds if cells[kind].worth < wanted]
        if not missing:
            break
        asked = make(seed)
        for kind in missing:
            cells[kind].runs.append(ask(seed, asked, kind, **{"time_limit": PATIENCE, **options}))
    return cells


@dataclass(frozen=True)
class Rival:
    """HiGHS on the paper's model, beside the search on the same questions."""

    ours: float
    seconds: float
    proved: int
    asked: int
    same: bool

    @property
    def text(self) -> str:
        """Mean seconds (a lower limit where it was cut off) and how many were proved."""
        cut_off = "≥ " if self.proved < self.asked else ""
        agreed = "" if self.same else ", OTHER OPTIMUM"
        return f"{cut_off}{shown(self.seconds)} s ({self.proved} of {self.asked}{agreed})"

    @property
    def ratio(self) -> str:
        """How many times faster the search was on these questions."""
        cut_off = "≥ " if self.proved < self.asked else ""
        return f"{cut_off}{self.seconds / self.ours:.0f}x"


def against_highs(make: Make, cell: Cell, kind: str, count: int, time_limit: float = PATIENCE) -> Rival | None:
    """The first `count` questions of `cell` that count, once more by HiGHS; None where there are none."""
    chosen = cell.proved[:count]
    if not chosen:
        return None
    # Solving everything twice to be sure of the optimum would be unfair to HiGHS.
    options = {"engine": "milp", "solver": "highs", "confirm": False, "time_limit": time_limit}
    runs = [ask(run.seed, make(run.seed), kind, **options) for run in chosen]
    same = all(
        abs(run.distance - ours.distance) <= 1e-6
        for run, ours in zip(runs, chosen, strict=True)
        if run.status == "optimal"
    )
    return Rival(
        statistics.fmean(run.seconds for run in chosen),
        statistics.fmean(run.seconds for run in runs),
        sum(run.status == "optimal" for run in runs),
        len(runs),
        same,
    )


def warm_up(predictor: Any) -> None:
    """Load everything that the questions below need: the search, and the problems with both risks."""
    cases: list[tuple[str, dict[str, int]]] = [
        ("newsvendor", {}),
        ("shipment", {}),
        ("shortest_path", {"features": 12}),
        ("cvar_shortest_path", {"features": 4}),
        ("cvar_shortest_path", {"features": 10}),
    ]
    for problem, sizes in cases:
        for seed in range(4):
            asked = instance(problem, 100, seed, predictor=predictor, **sizes)
            for kind in KINDS:
                ask(seed, asked, kind, time_limit=2.0)


# ---- tables ------------------------------------------------------------------------------------------------------


def shown(number: float) -> str:
    """Three significant digits, without an exponent."""
    if number != number:
        return "-"
    if number in (float("inf"), float("-inf")):
        return "∞"
    digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2 if abs(number) >= 1 else 3
    return f"{number:.{digits}f}"


def milliseconds(seconds: float) -> str:
    """Seconds shown as milliseconds."""
    return shown(1e3 * seconds)


def machine() -> str:
    """One line: when, on what, with which versions."""
    processor = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn", "highspy"))
    busy = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    threads = os.environ.get("OMP_NUM_THREADS")
    openmp = "" if threads is None else f", OMP_NUM_THREADS={threads}"
    return (
        f"Measured on {datetime.date.today().isoformat()}: {processor}, {os.cpu_count()} cores{busy}{openmp}; "
        f"{platform.system()}, Python {platform.python_version()}, {versions}."
    )


@dataclass(frozen=True)
class Settings:
    """What the command line says."""

    instances: int = 20
    highs: int = 3
    start: int = 0
    quick: bool = False
    tables: Path = ROOT / "docs" / "benchmarks" / "tables"
    images: Path = ROOT / "docs" / "images"

    def counted(self, wanted: int | None = None) -> str:
        """A sentence that says how many questions a cell has, and of which seeds."""
        return f"Questions a cell: {wanted or self.instances} that count, consecutive seeds from {self.start}."


class Report:
    """One section's tables: printed while they grow, written as Markdown at the end."""

    def __init__(self, name: str, settings: Settings, asked: str = "") -> None:
        self.path = settings.tables / f"{name}.md"
        self.lines: list[str] = []
        self.columns: list[str] = []
        print(f"\n== {name} ==", flush=True)
        self.text(" ".join(filter(None, (machine(), asked))))

    def text(self, sentence: str) -> None:
        """A paragraph."""
        self.columns = []
        self._put([sentence], gap=True)

    def row(self, **cells: Any) -> None:
        """A row; its keys are the columns (underscores stand for spaces)."""
        columns = [name.replace("_", " ") for name in cells]
        if columns != self.columns:
            self.columns = columns
            self._put(["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)], gap=True)
        self._put(["| " + " | ".join(str(value) for value in cells.values()) + " |"])

    def _put(self, lines: list[str], gap: bool = False) -> None:
        if gap and self.lines:
            self.lines.append("")
        self.lines += lines
        print("\n".join(lines), flush=True)

    def write(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("\n".join(self.lines) + "\n", "utf-8")
        print(f"written: {self.path}", flush=True)


# ---- command line ------------------------------------------------------------------------------------------------


Section = Callable[[Settings], None]


def main(description: str, sections: dict[str, Section], warm: Callable[[], None], argv: Sequence[str]) -> None:
    """Run the sections that the command line names; all of them by default."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--section", action="append", choices=list(sections), help="may be repeated; default: all")
    parser.add_argument("--instances", type=int, help="questions a cell that must count (default 20, quick 2)")
    parser.add_argument("--highs", type=int, help="of these, how many HiGHS gets as well (default 3, quick 0)")
    parser.add_argument("--start", type=int, default=0, help="first seed (default 0)")
    parser.add_argument("--quick", action="store_true", help="few cells; written to .benchmarks instead of docs")
    given = parser.parse_args(argv)
    folder = ROOT / ".benchmarks" if given.quick else ROOT / "docs"
    settings = Settings(
        instances=given.instances or (2 if given.quick else 20),
        highs=(0 if given.quick else 3) if given.highs is None else given.highs,
        start=given.start,
        quick=given.quick,
        tables=folder / "benchmarks" / "tables",
        images=folder / "images",
    )
    warm()
    for name in given.section or sections:
        began = time.perf_counter()
        sections[name](settings)
        print(f"{name}: {time.perf_counter() - began:.0f} s", flush=True)


def los_angeles_folder() -> Path | None:
    """Where the Los Angeles travel times are, if they are anywhere; says so where they are not."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else ROOT.parent / "shared" / "uber"
    if (folder / "travel_times.csv").is_file():
        return folder
    print(f"SKIPPED: Los Angeles; set {VARIABLE} to the folder with its travel times.", flush=True)
    return None
