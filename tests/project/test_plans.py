"""Plans as people give them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whence.errors import InputError
from whence.project import Project

PAIRS = "temp=3.5, rain=yes, day=Monday, events=2"


VALUES = {"temp": 3.5, "rain": True, "day": "Monday", "events": 2}


def test_a_plan_in_every_form(project: Project, tmp_path: Path) -> None:
    """Pairs, numbers, JSON, and files of one row or of two columns give one and the same plan."""
    (tmp_path / "p.json").write_text("[30, 12.5]", "utf-8")
    (tmp_path / "row.csv").write_text("cakes,rolls\n12.5,30\n", "utf-8")
    (tmp_path / "parts.csv").write_text("part,quantity\nrolls,30\ncakes,12.5\n", "utf-8")
    forms = ["rolls=30, cakes=12.5", "30, 12.5", "30 12.5", "[30, 12.5]", '{"cakes": 12.5, "rolls": 30}', [30, 12.5]]
    forms += [np.array([30, 12.5]), *(str(tmp_path / name) for name in ("p.json", "row.csv", "parts.csv"))]
    for form in forms:
        np.testing.assert_array_equal(project.plan(form), [30.0, 12.5], err_msg=str(form))
    np.testing.assert_array_equal(project.plan("row:3"), project.fitted().decide(project.context(3)))
    np.testing.assert_array_equal(project.plan(f"context:{PAIRS}"), project.fitted().decide(VALUES))


def test_a_route_in_every_form(city: Project, tmp_path: Path) -> None:
    """Stops between arrows or commas, JSON and a file of one column give one and the same route."""
    (tmp_path / "stops.csv").write_text("node\nhome\ntunnel\nwork\n", "utf-8")
    for form in ["home > tunnel > work", "home,tunnel, work", "home -> tunnel → work", '["home", "tunnel", "work"]']:
        assert city.plan(form) == ["home", "tunnel", "work"]
    assert city.plan(str(tmp_path / "stops.csv")) == ["home", "tunnel", "work"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rolls=90, cakes=20", "The plan orders 110 in total, 10 more than the budget of 100."),
        ("rolls=-1, cakes=2", "The quantity of rolls must not be negative, but it is -1."),
        ("rolls=1, bread=2", "The plan must name parts among 'rolls', 'cakes'. Got 'bread' instead."),
        ("rolls=many", "A quantity of the plan must be a finite number. Got 'many' instead."),
        ("1,2,3", "The plan must hold 2 numbers, for 'rolls', 'cakes'. Got 3 instead."),
        ("[1, 2", "The plan is not valid JSON"),
        ("row:99", "The history has the rows 1 to 40. Got row 99 instead."),
        ("absent.csv", "The file 'absent.csv' does not exist."),
        ("null", "A quantity of the plan must be a finite number."),
    ],
)
def test_plans_that_are_refused(project: Project, text: str, expected: str) -> None:
    """A plan that is none, or not feasible, is refused in a sentence."""
    with pytest.raises(InputError) as refused:
        project.plan(text)
    assert expected in str(refused.value)


def test_a_route_that_is_refused(city: Project) -> None:
    """A route over a street that does not exist is refused with that street."""
    with pytest.raises(InputError, match="there is no edge bridge -> tunnel"):
        city.plan("home > bridge > tunnel > work")
