"""Draw the pictures of the page on charts into docs/images: ``python docs/draw_plots.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

import whence as wh
from whence.examples import bakery, city

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Explain the built-in examples and draw every chart of them."""
    plt.switch_backend("Agg")
    example, trip = bakery.load(), city.load()
    policy = example.policy.fit(example.X, example.Y)
    why = policy.explain(example.today, example.alternative)
    best = policy.explain(example.today, example.alternative, kind="absolute", rule=True)
    route = trip.policy.fit(trip.X, trip.Y).explain(trip.today, trip.alternative)
    plain = wh.Policy(example.problem, wh.ForestWeights(random_state=0))
    drawn = {
        "overview": best.plot(),
        "changes": wh.plot.changes(best).figure,
        "costs": wh.plot.costs(why).figure,
        "outcomes": wh.plot.outcomes(why, when="after").figure,
        "weights": wh.plot.weights(why).figure,
        "plans": wh.plot.plans(why).figure,
        "routes": wh.plot.routes(route).figure,
        "evaluation": wh.evaluate({"forest": plain}, example.X, example.Y).plot().figure,
        "strips": wh.plot.strips(policy, example.today, example.alternative).figure,
        "plane": wh.plot.plane(policy, why, ("temperature", "weekday"), [best]).figure,
    }
    for name, figure in drawn.items():
        # No date and no version inside: drawn again, a picture that did not change is the same file.
        figure.savefig(IMAGES / f"plot-{name}.png", dpi=100, metadata={"Software": None})


if __name__ == "__main__":
    main()
