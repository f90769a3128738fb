"""Where scenes come from, and how their contexts and plans look to the page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.web.live import STRANGE, finished, running, strange_scene

import whence as wh
from whence.errors import InputError
from whence.project import Project
from whence.web.scenes import Scene, built_in, project_scene

PROJECT = """
title = "Why not more?"

[data]
history = "days.csv"

[outcomes]
columns = ["apples", "pears"]

[features."{name}"]
type = "continuous"

[weights]
kind = "knn"
k = 5

[problem]
kind = "newsvendor"
holding = 1
backorder = 3
budget = 60

[explain]
fixed = ["shop"]
time_limit = 7
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project file with its history, a feature of which has markup for a name."""
    rng = np.random.default_rng(1)
    n = 80
    warmth = rng.random(n).round(3)
    days = pd.DataFrame({STRANGE: warmth, "shop": rng.choice(["north", "south"], n)})
    days["apples"], days["pears"] = (10 + 20 * warmth).round(2), (8 + 10 * rng.random(n)).round(2)
    days.to_csv(tmp_path / "days.csv", index=False)
    path = tmp_path / "whence.toml"
    path.write_text(PROJECT.format(name=STRANGE), "utf-8")
    return Project.load(path)


def test_a_project_is_served(project: Project) -> None:
    """A project's page begins with its last observation; what the project fixes stays in every explanation."""
    scene = project_scene(project)
    with running([scene]) as live, live.client() as client:
        shown = client.get("/api/scenes/project").json()
        assert shown["title"] == "Why not more?"
        assert shown["observations"] == 80
        assert shown["plan"]["parts"] == ["apples", "pears"]
        assert {f["name"]: f["change"] for f in shown["features"]} == {STRANGE: "free", "shop": "fixed"}
        # Numbered as the command counts them, and as reports call them.
        last = client.get("/api/scenes/project/observations/80").json()
        assert shown["context"] == last["context"]
        assert last["label"] == "80"
        plan = [30.0, 12.0] if shown["context"][STRANGE] < 0.5 else [10.0, 12.0]
        question = {"context": shown["context"], "plan": plan}
        job = client.post("/api/scenes/project/explanations", json=question).json()
        assert job["time_limit"] == 7
        told = finished(client, job["job"])
        assert told["state"] == "done", told
        assert told["result"]["then"]["context"]["shop"] == shown["context"]["shop"]


def test_built_in_scenes_are_the_examples() -> None:
    """Without a project the bakery and the city are offered, each with a plan that can be carried out."""
    for scene in built_in():
        assert scene.policy.problem.check(scene.alternative) is None
        assert scene.shown().alternative is not None


def test_features_tell_what_the_history_holds() -> None:
    """Numbers come with their smallest and largest on record, which today's may exceed; categories with those met."""
    scene = strange_scene()
    X = scene.policy.X_
    features = {feature.name: feature for feature in scene.shown().features}
    assert features[STRANGE].recorded == [X[STRANGE].min(), X[STRANGE].max()]
    assert features["level"].recorded == [1, 3]
    assert features["kind"].recorded == ["a", "b"]


def test_contexts_go_there_and_back() -> None:
    """Every past context, as the page sees it, is the row it came from: numbers, whole numbers, 0/1 columns."""
    scene = strange_scene()
    for row in range(scene.observations):
        seen = scene.observation(row)
        back = scene.row_of(seen.context)
        assert back.to_dict() == scene.policy.X_.iloc[row].to_dict()
        assert np.array_equal(scene.policy.weights_at(back), scene.policy.weights_at(scene.policy.X_.iloc[[row]]))


def test_categories_that_are_numbers_or_bools() -> None:
    """The category 1 is neither the category True nor the text 1."""
    X = pd.DataFrame({"code": pd.Categorical([1, 2, 3] * 4), "size": np.arange(12.0)})
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=2)).fit(X, np.arange(12.0)[:, None])
    scene = Scene("codes", "", "", policy, X.iloc[0])
    assert scene.shown().features[0].values == [1, 2, 3]
    assert scene.row_of({"code": 2.0, "size": 1.5})["code"] == 2
    for wrong in (True, "2", 7):
        with pytest.raises(InputError, match="'code' must be one of 1, 2, 3"):
            scene.row_of({"code": wrong, "size": 1.5})


def test_whole_numbers_have_a_list_or_a_slider() -> None:
    """Few whole numbers are a list, many a slider in whole steps; what lies between them is refused."""
    X = pd.DataFrame({"hr": np.arange(120) % 24, "count": np.arange(120) ** 2, "x": np.linspace(0, 1, 120)})
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=2)).fit(X, X[["x"]])
    scene = Scene("whole", "", "", policy, X.iloc[0])
    hr, count, _ = scene.shown().features
    assert (hr.kind, hr.values) == ("discrete", [float(h) for h in range(24)])
    assert (count.kind, count.values, count.step, count.high) == ("discrete", None, 1.0, 119.0**2)
    there = scene.row_of({"hr": 5.0, "count": 20_000, "x": 0.5})
    assert there.to_dict() == {"hr": 5, "count": 20_000, "x": 0.5}
    for name in ("hr", "count"):
        with pytest.raises(InputError, match=f"'{name}' of the 'context' must be a whole number. Got 5.4 instead"):
            scene.row_of({"hr": 5, "count": 5, "x": 0.5} | {name: 5.4})


def test_many_outcomes_are_put_together() -> None:
    """A distribution over many observations keeps its mean and its ends' order in at most 200 values."""
    rng = np.random.default_rng(0)
    X, Y = rng.random((900, 2)), 50 * rng.random((900, 1))
    policy = wh.Policy(wh.Newsvendor(1, 2), wh.KNNWeights(k=800)).fit(X, Y)
    scene = Scene("many", "", "", policy, policy.X_.iloc[0])
    decided = scene.decided(scene.today)
    values, weights = np.array(decided.outcomes.values), np.array(decided.outcomes.weights)
    assert 100 < values.size <= 200
    assert (np.diff(values) > 0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert values @ weights == pytest.approx(decided.cost)
