"""Our own question: what makes IMP more local than one-shot pruning, reuse of images for instance?"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from prunefield.papers import Claim, Item, Scale
from prunefield.papers.redman2025 import _reuse_checks as checks
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_intervals
from prunefield.papers.redman2025._nets import TOP, nets
from prunefield.papers.redman2025._pictures import COLOURS, LABELS
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.widths import Widths
from prunefield.tasks import Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

VARIED: dict[Scale, dict[str, tuple[Any, ...]]] = {
    "smoke": {"images": (1_000, 200), "steps": (200,)},
    "laptop": {
        "images": (50_000, 10_000, 1_000),
        "classes": (2, 40),
        "steps": (1_250, 2_500),
        "width": (64, 128),
        "labels": (10_000,),
    },
    "paper": {"images": (100_000, 10_000), "classes": (2, 100), "steps": (10_000,), "width": (256,)},
}
AXES = {
    "images": "number of images, seen repeatedly (∞: once)",
    "classes": "classes",
    "steps": "training steps",
    "width": "hidden units in a layer",
    "data": "data",
}


class Reuse(Item):
    """Widths under IMP, one-shot and random pruning with one setting changed at a time (redman2025, App. C.2)."""

    title: ClassVar[str] = "Width of masks against reuse of images, classes, steps and width of the net"
    open_choices: ClassVar[tuple[str, ...]] = (
        "This item is not in the paper. It asks why IMP is more local than one-shot pruning on ImageNet32 and on "
        "dead leaves, where no image is seen often, and not on CIFAR-10, whose images are seen repeatedly.",
        "Base: the nets of Fig. 4 on dead leaves, all seeds; every other setting differs from it in one way, one seed. "
        "`images`: this many are drawn once, and every batch is sampled from them with replacement. `steps`: more or "
        "fewer images, none of them seen twice.",
        "`data`: the nets of Fig. 4 on natural images, and (laptop scale) 10,000 leaves with random labels.",
        "Width: σx at the last round, mean over the most connected units, as in Fig. 4. Accuracies: after the last "
        "training; the gap is the accuracy on the first training images minus that on held-out images.",
        INTERVAL_CHOICE,
        "An effect of reuse on locality had been seen in one prototype (10,000 images, one seed) before this was "
        "written.",
    )
    claims: ClassVar[tuple[Claim, ...]] = (
        Claim(
            "Reuse costs locality: IMP's masks are wider when images are seen repeatedly",
            "our question (App. C.2: 1.25 epochs)",
            "IMP's width with each reused set of images is above that of the endless stream in all seeds",
            checks.check_cost,
            checks.reuse_as_stream,
            decided_at="laptop",
        ),
        Claim(
            "IMP is more local than one-shot pruning when no image is seen twice",
            "our question; Fig. 4A",
            "IMP's width is smaller in every seed of the base setting",
            checks.check_advantage,
            checks.imp_as_random,
            decided_at="laptop",
        ),
        Claim(
            "The advantage of IMP over one-shot pruning shrinks with reuse",
            "our question",
            "1 − IMP/one-shot is smaller with each reused set than in every seed of the endless stream",
            checks.check_shrinkage,
            checks.reuse_as_stream,
            decided_at="laptop",
        ),
        Claim(
            "Reuse shows as a gap between training and test accuracy",
            "our question",
            "the gap with the fewest images is above that of the endless stream in all seeds",
            checks.check_gap,
            checks.reuse_as_stream,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Widths(of=imp, top=TOP[scale]) for imp in settings(scale)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per setting and seed."""
        import pandas

        axes = {imp: axis for scale in Reuse.scales for imp, axis in settings(scale).items()}
        rows = []
        for run in (run for run in results if isinstance(run, Widths)):
            imp = run.of
            last = {record["method"]: record for record in results[run].records if record["round"] == imp.rounds}
            trained = results[imp].records[imp.rounds - 1]
            row = {
                "axis": axes[imp],
                "seed": imp.seed,
                "images": imp.images,
                "classes": imp.task.classes,
                "steps": imp.steps,
                "width": imp.hidden[0],
                "data": f"{imp.task.kind()}, {imp.labels} labels",
                **{method: last[method]["mean_x_top"] for method in METHODS},
                "density": last["imp"]["density"],
                "accuracy": trained["accuracy"],
                "gap": trained["train_accuracy"] - trained["accuracy"],
            }
            rows.append(row)
        table = pandas.DataFrame(rows).astype(dict.fromkeys(("images", *METHODS), float))
        return add_intervals(table, METHODS, ("axis", *AXES))

    def ideal(self) -> "DataFrame":
        """The conjecture: the more often images are reused, the wider IMP's masks and the smaller its lead."""
        import pandas

        rows = [{"axis": "base", "images": math.nan, "imp": 4.5 + 0.1 * seed, "gap": 0.01} for seed in range(3)]
        rows += [{"axis": "steps", "images": math.nan, "imp": 5.0, "gap": 0.0}]
        for images, imp, gap in ((50_000.0, 6.0, 0.1), (10_000.0, 8.0, 0.3), (1_000.0, 9.0, 0.8)):
            rows.append({"axis": "images", "images": images, "imp": imp, "gap": gap})
        return pandas.DataFrame(rows).assign(oneshot=9.0, random=14.5, accuracy=0.8)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        varied = {axis: label for axis, label in AXES.items() if axis in set(table["axis"])}
        figure = Figure(figsize=(3.2 * len(varied), 3.8), layout="constrained")
        panels = figure.subplots(1, len(varied), sharey=True)
        for panel, (axis, label) in zip(panels, varied.items(), strict=True):
            rows = table[table["axis"].isin(("base", axis))].fillna({"images": math.inf})
            groups = rows.groupby(axis, sort=True)[list(METHODS)]
            names = [_name(value) for value in groups.groups]
            for method in METHODS:
                low, mean, high = (getattr(groups, part)()[method] for part in ("min", "mean", "max"))
                bars = [mean - low, high - mean]
                line = "o" if axis == "data" else "o-"
                panel.errorbar(names, mean, bars, fmt=line, color=COLOURS[method], label=LABELS[method], markersize=4)
                draw_intervals(panel, names, (values[method] for _, values in groups), COLOURS[method])
            panel.set_xlabel(label)
            panel.margins(x=0.2)
            panel.spines[["top", "right"]].set_visible(False)
        panels[-1].tick_params(axis="x", labelsize=7)
        panels[0].set_ylabel("width σx at the last round, pixels")
        panels[0].set_ylim(bottom=0)
        panels[0].legend(frameon=False)
        return figure


def settings(scale: Scale) -> dict[Imp, str]:
    """The pruning runs, each with the name of the setting that differs from the base."""
    base = nets(scale, "leaves")
    found = {**dict.fromkeys(base, "base"), **dict.fromkeys(nets(scale, "images"), "data")}
    for axis, values in VARIED[scale].items():
        found |= {_vary(base[0], axis, value): "data" if axis == "labels" else axis for value in values}
    return found


def _vary(base: Imp, axis: str, value: int) -> Imp:
    changes: dict[str, dict[str, Any]] = {
        "images": {"images": value},
        "classes": {"task": Task.parse({**base.task.settings(), "categories": value})},
        "steps": {"steps": value, "rewind": min(base.rewind, value // 4)},
        "width": {"hidden": (value, value)},
        "labels": {"images": value, "labels": "random"},
    }
    return Imp(**{**dict(base), **changes[axis]})


def _name(value: Any) -> str:
    if isinstance(value, str):
        return value.replace(", ", ",\n")
    return "∞" if math.isinf(value) else f"{value:,.0f}"
