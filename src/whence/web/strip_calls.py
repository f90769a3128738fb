"""Verdict strips for the page: along every control, which plan is best."""

from __future__ import annotations

from whence.errors import InputError
from whence.search.verdict_strips import NEAR, strips
from whence.util.json import to_plain
from whence.web import wire as models
from whence.web.scenes import Scene

#: Processor seconds after which no more problems are solved: while a control is moved, and once it rests.
SECONDS, PATIENT = 0.1, 2.0


def strips_of(scene: Scene, asked: models.StripsRequest) -> models.Strips:
    """Return the strips in a context; a plan that cannot be carried out is left out."""
    row, plans = scene.row_of(asked.context), []
    for plain in (asked.plan, asked.decision):
        try:
            plans.append(None if plain is None else scene.plan_of(plain))
        except InputError:
            plans.append(None)  # the check of the plan says why
    found = strips(scene.policy, row, plans[0], decision=plans[1], seconds=PATIENT if asked.patient else SECONDS)
    return models.Strips(
        near=NEAR,
        strips=[
            models.FeatureStrip(
                feature=strip.feature,
                ordered=strip.ordered,
                exact=strip.exact,
                stretches=[models.StripStretch(**to_plain(vars(one))) for one in strip.stretches],
            )
            for strip in found
        ],
    )
