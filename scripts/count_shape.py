"""Print how large the package is and how far one question walks through it.

python scripts/count_shape.py

Each line is a figure, its aim in brackets where there is one, and what was counted. The question that is followed is a
plain relative one about a newsvendor with a forest, asked twice; the second time is counted, when modules are imported.
"""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "whence"
#: Options of `explain` that few modules should have to name.
WORDS = ("confidence", "plausible", "relations", "margin")
#: Modules that are abilities added since the redesign began: true in the world and models offered, past contexts as
#: answers, strips along which the plan turns, a company's server and assistants, prices and rules. Abilities that were
#: added inside modules that stood before count as if they had been there.
ADDED = (
    "worlds/*.py", "evaluation/offers.py", "util/shares.py", "search/past_contexts.py", "search/verdict_strips.py",
    "plot/strip_chart.py", "web/strip_calls.py", "project/leaks.py", "assistants/*.py", "client.py",
    "cli/assistants_server.py", "web/audit.py", "web/clients.py", "web/problem_details.py", "web/records.py",
    "web/served_projects.py", "web/server_settings.py", "web/settings_file.py", "web/store.py", "web/tokens.py",
    "questions/implied.py", "questions/nearest_prices.py", "questions/possible_tails.py", "questions/price_*.py",
    "questions/prices.py", "questions/rule*.py", "questions/worst_case.py", "problems/pricing.py",
    "problems/priced_problems.py", "cli/price_questions.py",
)  # fmt: skip
#: The same of core/: linear problems under CVaR, exchanges beside a limit, and parts that trees agree on.
COMPILED_SINCE = ("linear_plans.hpp", "tail_program.hpp", "stock_exchange.hpp", "common_parts.hpp")
#: Endings of the files of core/ that are counted.
COMPILED = (".cpp", ".hpp", ".h")
#: Statements and expressions that make a function go one way or another.
FORKS = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.BoolOp, ast.comprehension, ast.match_case)


def modules() -> list[Path]:
    """Return the Python files of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def lines(paths: list[Path]) -> int:
    """Return how many lines the files have together."""
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def naming(word: str, paths: list[Path]) -> list[Path]:
    """Return the files in which `word` stands as a whole word, prose included."""
    whole = re.compile(rf"\b{word}\b")
    return [path for path in paths if whole.search(path.read_text("utf-8"))]


def names_twice(paths: list[Path]) -> list[str]:
    """Return the file names that occur more than once, apart from `__init__` and `base`."""
    count = Counter(path.stem for path in paths)
    return sorted(name for name, many in count.items() if many > 1 and name not in ("__init__", "base"))


def function_in(path: Path, name: str) -> ast.FunctionDef:
    """Return a function of a module by its name."""
    tree = ast.parse(path.read_text("utf-8"))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == name)


def branches(node: ast.AST) -> int:
    """Return how often a function goes one way or another.

    Examples
    --------
    >>> branches(ast.parse("x = 1 if a and b else 2"))
    2
    """
    return sum(isinstance(inner, FORKS) for inner in ast.walk(node))


@dataclasses.dataclass
class Walk:
    """Where one call went in the package.

    Attributes
    ----------
    modules, functions : set of str
        What was entered.
    crossings : set of pair of str
        Pairs of a function and one in another folder that it called.
    calls : int
        How often that happened.
    """

    modules: set[str] = dataclasses.field(default_factory=set)
    functions: set[str] = dataclasses.field(default_factory=set)
    crossings: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    calls: int = 0


def followed(ask: Callable[[], Any]) -> Walk:
    """Return where a call goes in the package."""
    walk = Walk()
    inside = f"{PACKAGE}/"

    def place(frame: FrameType) -> str:
        code = frame.f_code
        return f"{code.co_filename.removeprefix(inside)}:{code.co_qualname}"

    def seen(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(inside):
            return
        here = place(frame)
        walk.modules.add(here.partition(":")[0])
        walk.functions.add(here)
        caller = frame.f_back
        if caller is None or not caller.f_code.co_filename.startswith(inside):
            return
        before = place(caller)
        if _folder(before) != _folder(here):
            walk.crossings.add((before, here))
            walk.calls += 1

    sys.setprofile(seen)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return walk


def _folder(place: str) -> str:
    """Return the folder of a place, which for a module at the top of the package is the module itself."""
    path = place.partition(":")[0]
    return path.partition("/")[0]


def plain_question() -> Callable[[], Any]:
    """Return a call that asks one plain relative question about a newsvendor with a forest."""
    import numpy as np

    import whence as wh

    rng = np.random.default_rng(0)
    contexts = rng.uniform(size=(60, 3))
    demand = np.column_stack([100 * contexts[:, 0], 80 * contexts[:, 1]]) + rng.normal(size=(60, 2))
    weights = wh.ForestWeights(n_trees=20, max_depth=4, random_state=0)
    policy = wh.Policy(wh.Newsvendor([1, 1], [4, 4]), weights).fit(contexts, demand)
    plan = policy.decide(contexts[1])

    def ask() -> Any:
        return policy.explain(contexts[0], instead=plan)

    ask()
    return ask


def loaded_by_command(*arguments: str) -> int:
    """Return how many modules of the package are loaded once the command `whence` has run with these arguments."""
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from whence.cli.root import app\n"
        "CliRunner().invoke(app, sys.argv[1:])\n"
        "print(sum(name.split('.')[0] == 'whence' for name in sys.modules))"
    )
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return int(done.stdout.split()[-1])


def counts() -> Iterator[tuple[float, str, str]]:
    """Yield every figure, its aim and what was counted."""
    from whence.question import Question

    paths = modules()
    added = {path for pattern in ADDED for path in PACKAGE.glob(pattern)}
    same = [path for path in paths if path not in added]
    yield len(paths), "", "modules of src/whence"
    yield len(same), "180", "modules of src/whence without the abilities added since"
    yield lines(paths), "", "lines of src/whence"
    yield lines(same), "42,200", "lines of src/whence without the abilities added since"
    core = [path for path in sorted((ROOT / "core").rglob("*")) if path.suffix in COMPILED]
    yield lines(core), "", "lines of core/"
    then = [path for path in core if path.name not in COMPILED_SINCE]
    yield lines(then), "15,600", "lines of core/ without the abilities added since"
    walk = followed(plain_question())
    yield len(walk.modules), "28", "modules that a plain explain visits"
    yield len(walk.functions), "", "functions that it visits"
    yield len(walk.crossings), "70", "pairs of functions between which it crosses from folder to folder"
    yield walk.calls, "", "calls from folder to folder"
    yield loaded_by_command("explain", "--help"), "80", "modules loaded for the command `whence explain`"
    asked = ("explain", "examples/bakery-project", "-c", "12", "-i", "row:40", "--no-holds")
    yield loaded_by_command(*asked), "", "modules loaded once it has answered"
    for word in WORDS:
        yield len(naming(word, paths)), "20", f"modules that name {word}"
    yield len(dataclasses.fields(Question)), "8", "fields of Question"
    pipeline = function_in(PACKAGE / "explain" / "pipeline.py", "explain")
    assert pipeline.end_lineno is not None
    yield pipeline.end_lineno - pipeline.lineno + 1, "45", "lines of the pipeline function"
    yield branches(pipeline), "8", "branches of the pipeline function"
    twice = names_twice(paths)
    yield len(twice), "0", " ".join(["file names that occur twice", *twice])
    for folder in sorted(path for path in PACKAGE.iterdir() if path.is_dir() and list(path.rglob("*.py"))):
        own = sorted(folder.rglob("*.py"))
        yield lines(own), "", f"lines of {folder.name}/ in {len(own)} modules"


def main() -> None:
    """Print all figures."""
    if "--walk" in sys.argv[1:]:
        walk = followed(plain_question())
        print(*sorted(walk.modules), "", *sorted(f"{a} -> {b}" for a, b in walk.crossings), sep="\n")
        return
    for figure, aim, what in counts():
        print(f"{figure:>8,}  {f'({aim})' if aim else '':>9}  {what}")


if __name__ == "__main__":
    main()
