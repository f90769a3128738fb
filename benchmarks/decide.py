"""One decision of every problem against the textbook program handed to HiGHS, in one table.

    python benchmarks/decide.py [--quick]

The table goes to ``docs/benchmarks/tables/decide.md``; with ``--quick``, to ``.benchmarks``. Each problem's own script
says what exactly is timed: decide_newsvendor.py, decide_paths.py, decide_shipment.py.
"""

from __future__ import annotations

import sys

import decide_newsvendor
import decide_paths
import decide_shipment
from _common import Report, Settings, los_angeles_folder, main, milliseconds, shown


def decisions(settings: Settings) -> None:
    """All rows of the three scripts."""
    report = Report("decide", settings)
    los_angeles_folder()
    for script in (decide_newsvendor, decide_paths, decide_shipment):
        for row in script.run():
            report.row(
                problem=row["problem"],
                n=row["n"],
                ours_ms=milliseconds(1e-3 * row["ours_ms"]),
                HiGHS_ms=milliseconds(1e-3 * row["highs_ms"]),
                ratio=f"{shown(row['ratio'])}x",
                same_optimum="yes" if row["same_optimum"] else "NO",
            )
    report.write()


if __name__ == "__main__":
    main("Decisions against the textbook programs.", {"decide": decisions}, lambda: None, sys.argv[1:])
