"""Random small questions against brute force for hours: forests by every cell, neighbours by every vertex.

    python benchmarks/soak.py --cases 20000 --weights forest
    python benchmarks/soak.py --cases 5000 --weights knn --milp
    python benchmarks/soak.py --cases 10000 --weights drawn
    python benchmarks/soak.py --weights forest --seed 1348
    python benchmarks/soak.py --cases 20000 --weights sets
    python benchmarks/soak.py --cases 25000 --weights deep
    python benchmarks/soak.py --cases 5000 --weights sure
    python benchmarks/soak.py --cases 5000 --weights forecasts
    python benchmarks/soak.py --weights several --few --minutes 10
    python benchmarks/soak.py --weights adapters --cases 300
    python benchmarks/soak.py --weights metrics --cases 3000

Data have 0, 1 or 2 decimals, whole numbers, units from 1e-9 to 1e9, heavy ties, duplicates, categories, restrictions,
contexts outside the history, both kinds and all risks (see ``tests/soaking.py``); "drawn" are questions of every
predictor and claim with steps, scales, relations, cycles, dates and so on, alone and in pairs
(``tests/agreement/generator.py``), "deep" ones about forests of any depth, claim by claim (``tests/deep_soaking.py``).
With ``--milp`` the integer program answers too, as a second judge.
With ``--few`` few changes, menus and reasons are asked for (``tests/changing.py``).
"adapters" are models of every other library (``tests/predictors.py``), "decision" decision-aware forests, "sure" sets
of plans with standard errors (``tests/sure_soaking.py``). "metrics" are neighbours by other metrics, in units of their
own or given fitted (``tests/metric_soaking.py``), "circles" those of numbers that go round
(``tests/circle_reference.py``), "nearness" neighbours that count by their distance and "kernels" kernel weights, both
against a fine grid of contexts (``tests/nearness_soaking.py``, ``tests/kernel_soaking.py``). Seeds that are done are
kept in a results file, and the next run goes on behind them. A disagreement is written there with its seed, and the
exit code is then 1. Where there is too much for brute force to look at, a question is asked but not counted as
compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests import predictors
from tests.agreement.families import FAMILIES
from tests.agreement.generator import CLAIMS, OPTIONS, PREDICTORS, draw
from tests.agreement.reference import TooMany
from tests.agreement.reference import disagreement as drawn_disagreement
from tests.agreement.test_agreement import PAIRS, REFUSED, UNKNOWN
from tests.cases import Case
from tests.changing import disagreement_about_sets, several_case
from tests.set_soaking import set_case, set_disagreement
from tests.soaking import decision_case, disagreement, forest_case, neighbour_case
from tests.sure_soaking import KAPPAS, sure_disagreement

MAKERS: dict[str, Callable[[int], Case]] = {
    "forest": forest_case,
    "knn": neighbour_case,
    "several": several_case,
    "decision": decision_case,
}
#: Questions that are known by their seed alone, and what is wrong with their answers.
JUDGES: dict[str, Callable[[int], str | None]] = {
    **{name: family.wrong for name, family in FAMILIES.items() if name not in MAKERS and " " not in name},
    "sure": lambda seed: sure_disagreement(set_case(seed), KAPPAS[seed % len(KAPPAS)], every=bool(seed % 2)),
}
#: Models of other libraries.
ADAPTERS = [*predictors.LIBRARIES, "econml"]
#: Seeds after which the results file is written.
BLOCK = 50
#: Seconds that the integer program may take for one question; what it has not settled by then is no disagreement.
MILP_SECONDS = 20.0


def drawn(seed: int) -> Any:
    """Every predictor, claim and option in turn, alone and in pairs."""
    known = [
        (predictor, claim, options)
        for options in ("", *OPTIONS, *PAIRS)
        for predictor in PREDICTORS
        for claim in CLAIMS
        if not set(options) & set(REFUSED.get(predictor, "")) and not any((claim, one) in UNKNOWN for one in options)
    ]
    return draw(seed, *known[seed % len(known)])


def judged(weights: str, seed: int, milp: bool) -> str | None:
    """What is wrong with the answers to the question of `seed`; empty where nothing is, None where nobody knows."""
    try:
        if weights in ADAPTERS:
            if weights == "econml":
                from tests import econml_cases  # noqa: F401  (it takes seconds to import)
            found = predictors.compared(predictors.case(weights, seed))
            if milp and found == "":
                found = predictors.compared(predictors.case(weights, seed), engine="milp", time_limit=MILP_SECONDS)
                found = "" if found == "status time_limit" else found and f"integer program: {found}"
            return found
        if weights == "sets" and milp:
            found = set_disagreement(set_case(seed), engine="milp", time_limit=MILP_SECONDS)
            found = "" if found == "status time_limit" else found and f"integer program: {found}"
            return found or set_disagreement(set_case(seed))
        if weights in JUDGES:
            return JUDGES[weights](seed)
        # What is asked beside the nearest explanation is judged by the sets of features that explanations change.
        kind, _, few = weights.partition(" ")
        if few:
            return disagreement_about_sets(MAKERS[kind](seed), **({"engine": "milp"} if milp else {}))
        makers: dict[str, Callable[[int], Any]] = {"drawn": drawn, **MAKERS}
        judge: Callable[..., str] = drawn_disagreement if weights == "drawn" else disagreement
        case: Any = makers[weights](seed)
        found = judge(case)
        if milp and not found:
            found = judge(case, engine="milp", time_limit=MILP_SECONDS)
            found = "" if found == "status time_limit" else found and f"integer program: {found}"
    except TooMany:
        return None
    except Exception as error:  # Whatever else goes wrong is a finding too.
        found = f"{type(error).__name__}: {error}"
    return found


def done(results: Path, weights: str, milp: bool) -> tuple[int, int, int]:
    """The first seed that is not done yet, how many disagreements are known, and how many questions were compared."""
    first = wrong = known = 0
    for line in results.read_text(encoding="utf-8").splitlines() if results.exists() else []:
        entry = json.loads(line)
        if (entry["weights"], entry["milp"]) == (weights, milp):
            first = max(first, entry.get("until", 0))
            wrong += "wrong" in entry
            known += entry.get("compared", 0)
    return first, wrong, known


def soak(weights: str, milp: bool, cases: int, until: float, results: Path) -> int:
    """Go on until `cases` questions are done in all, or the clock says `until`; the number of disagreements."""
    first, wrong, known = done(results, weights, milp)
    began, start = time.perf_counter(), first
    label = f"{weights}{' and integer program' if milp else ''}"
    while first < cases and time.perf_counter() < until:
        last = min(first + BLOCK, cases)
        entries: list[dict[str, Any]] = []
        before = known
        for seed in range(first, last):
            found = judged(weights, seed, milp)
            known += found is not None
            if found:
                wrong += 1
                entries.append({"weights": weights, "milp": milp, "seed": seed, "wrong": found})
                print(f"\n{label}, seed {seed}: {found}", flush=True)
        entries.append({"weights": weights, "milp": milp, "until": last, "compared": known - before})
        with results.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(entry) + "\n" for entry in entries)
        first = last
        each = (time.perf_counter() - began) / (first - start)
        counted = f"{first} of {cases} done, {known} compared, {wrong} wrong"
        print(f"\r{label}: {counted}, {1e3 * each:.0f} ms each ", end="", flush=True)
    print()
    return wrong


def main() -> int:
    """Run the soak, or repeat one seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--weights",
        choices=[*MAKERS, *ADAPTERS, *JUDGES, "adapters", "both", "drawn"],
        default="both",
        help="what to ask about",
    )
    parser.add_argument("--few", action="store_true", help="ask for few changes, menus and reasons")
    parser.add_argument("--cases", type=int, default=1000, help="questions in all, those of earlier runs included")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop after this many minutes")
    parser.add_argument("--milp", action="store_true", help="let the integer program answer too")
    parser.add_argument("--seed", type=int, help="repeat this one question")
    parser.add_argument("--results", type=Path, default=Path("soak.jsonl"), help="file with the seeds done")
    given = parser.parse_args()
    several = {"both": ["forest", "knn"], "adapters": ADAPTERS}
    kinds = several.get(given.weights, [given.weights])
    kinds = [f"{kind} few" if given.few and kind in MAKERS else kind for kind in kinds]
    if given.seed is not None:
        found = [judged(weights, given.seed, given.milp) for weights in kinds]
        print("\n".join(f"{weights}: {text or 'agrees'}" for weights, text in zip(kinds, found, strict=True)))
        return int(any(found))
    until = time.perf_counter() + 60.0 * given.minutes
    return int(sum(soak(weights, given.milp, given.cases, until, given.results) for weights in kinds) > 0)


if __name__ == "__main__":
    sys.exit(main())
