"""Take the tables and figures of a finished reproduction into the documentation.

    make paper ARGS="all --runs 100 --out reproduction"
    python docs/take_reproduction.py reproduction

Writes one Markdown part per label to ``docs/reproduction`` and the figures beside it; ``docs/reproduction.md`` includes
them between its remarks.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
#: Figures that only repeat a table are left out.
DRAWN = ("fig-", "tab-fullCompTimes", "tab-fullDist")

#: Made by ``paper/check_recourse.py``, and not part of a reproduction.
RECOURSE = "shipment-recourse.md"


def take(source: Path) -> None:
    """Copy what ``make paper`` has written to `source`."""
    target = DOCS / "reproduction"
    target.mkdir(exist_ok=True)
    for old in target.iterdir():
        if old.name != RECOURSE:
            old.unlink()
    for path in sorted(source.glob("*.md")):
        lines = path.read_text("utf-8").splitlines()
        if path.stem == "summary":
            # Its remarks stand under the labels; what is left is the run itself.
            end = next((i for i, line in enumerate(lines) if line.startswith("## ")), len(lines))
            kept = lines[1:end]
        else:
            drawn = path.stem.startswith(DRAWN)
            kept = [line for line in lines[1:] if drawn or not line.startswith("![")]
            if drawn and path.with_suffix(".png").is_file():
                shutil.copy(path.with_suffix(".png"), target)
        (target / f"{path.name}").write_text("\n".join(kept).strip() + "\n", "utf-8")


if __name__ == "__main__":
    take(Path(sys.argv[1]))
