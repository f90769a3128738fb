"""What a reproduction leaves behind: tables in the terminal, Markdown and CSV, figures, and a summary."""

from __future__ import annotations

import datetime
import io
import math
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from paper.experiment import Setup
from paper.records import written
from paper.runner import Outcome
from whence.report.fingerprint import versions
from whence.report.numbers import duration

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def shown(cell: Any) -> str:
    """A cell as text: three significant digits of a float, without an exponent where it stays short.

    Examples
    --------
    >>> [shown(cell) for cell in (0.012345, 12.3, 1234.5, 7, "knn", float("nan"), float("inf"))]
    ['0.0123', '12.3', '1234', '7', 'knn', '-', '∞']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "-"
    if not isinstance(cell, float):
        return str(cell)
    if math.isinf(cell):
        return "∞" if cell > 0 else "-∞"
    if cell == 0 or abs(cell) < 1e-6:
        return f"{cell:.3g}"
    return f"{cell:.{max(0, 2 - math.floor(math.log10(abs(cell))))}f}"


def markdown(table: pd.DataFrame) -> str:
    """A frame as a Markdown table, numbers to the right."""
    numeric = [pd.api.types.is_numeric_dtype(table[column]) for column in table.columns]
    lines = [
        "| " + " | ".join(str(column) for column in table.columns) + " |",
        "|" + "|".join("---:" if number else "---" for number in numeric) + "|",
    ]
    for row in table.itertuples(index=False):
        lines.append("| " + " | ".join(shown(cell).replace("|", "\\|") for cell in row) + " |")
    return "\n".join(lines)


def print_outcome(console: Console, outcome: Outcome, table: pd.DataFrame) -> None:
    """The label's table in the terminal, with what the paper says above and our remarks below."""
    label = outcome.label
    console.print(f"{label.label}  {label.title}", style="bold", markup=False)
    console.print(f"Paper: {label.statement}", markup=False)
    drawn = Table()
    for column in table.columns:
        drawn.add_column(
            escape(str(column)), justify="right" if pd.api.types.is_numeric_dtype(table[column]) else "left"
        )
    for row in table.itertuples(index=False):
        drawn.add_row(*(escape(shown(cell)) for cell in row))
    console.print(drawn)
    for remark in label.remarks(outcome.rows):
        console.print(remark, markup=False)
    console.print()


def write_outcome(outcome: Outcome, table: pd.DataFrame, out: Path) -> list[Path]:
    """Markdown, CSV and, where there is one and matplotlib is installed, the figure; the paths written."""
    label = outcome.label
    paths = [out / f"{label.stem}.csv", out / f"{label.stem}.md"]
    written(paths[0], table.to_csv(index=False, lineterminator="\n"))
    figure = _figure(outcome)
    lines = [f"# {label.label}: {label.title}", "", f"The paper: {label.statement}", "", markdown(table), ""]
    for remark in label.remarks(outcome.rows):
        lines += [remark, ""]
    if figure is not None:
        lines += [f"![{label.title}]({label.stem}.png)", ""]
        for suffix in ("png", "svg"):
            paths.append(out / f"{label.stem}.{suffix}")
            written(paths[-1], _drawn(figure, suffix))
    written(paths[1], "\n".join(lines))
    return paths


def summarise(outcomes: Sequence[Outcome], setup: Setup, jobs: int, out: Path, left_out: str = "") -> Path:
    """Write ``summary.md``: what was run, on what, how long it took, what was left out, and all remarks."""
    families = {o.label.family.name: o for o in outcomes if o.label.family is not None}
    total = sum(outcome.seconds for outcome in families.values())
    lines = [
        "# Reproduction",
        "",
        f"{setup.runs} runs of every setting unless a table says otherwise, {jobs} processes. "
        f"Wall time {duration(total)}.",
        "",
        f"{datetime.date.today().isoformat()}, {_processor()}, {os.cpu_count()} cores{_busy()}; "
        + ", ".join(f"{k} {v}" for k, v in versions().items())
        + ".",
        "",
    ]
    if left_out:
        lines += [left_out, ""]
    if families:
        lines += ["| runs of | wall time | tables and figures |", "|---|---:|---|"]
    for name, outcome in families.items():
        sharing = [o.label.label for o in outcomes if o.label.family is not None and o.label.family.name == name]
        lines.append(f"| {name} | {duration(outcome.seconds)} | {', '.join(sharing)} |")
    for outcome in outcomes:
        label = outcome.label
        lines += ["", f"## [{label.label}]({label.stem}.md): {label.title}", "", f"The paper: {label.statement}"]
        for remark in label.remarks(outcome.rows):
            lines += ["", remark]
    path = out / "summary.md"
    written(path, "\n".join(lines) + "\n")
    return path


def _figure(outcome: Outcome) -> Figure | None:
    if outcome.label.draw is None:
        return None
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return None
    return outcome.label.draw(outcome.rows)


def _drawn(figure: Figure, suffix: str) -> bytes:
    """The figure as a file; the same figure gives the same bytes."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "whence"}):
        metadata = {"Date": None} if suffix == "svg" else {}
        figure.savefig(buffer, format=suffix, dpi=150, bbox_inches="tight", metadata=metadata)
    return buffer.getvalue()


def _busy() -> str:
    """How many processes have been running lately: times are not worth much where they are more than cores."""
    return f", load {os.getloadavg()[1]:.1f} over the last 5 minutes" if hasattr(os, "getloadavg") else ""


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
