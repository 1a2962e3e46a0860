"""Our own question: why is IMP more local than one-shot pruning, and does reuse of images matter?"""

import math
from collections.abc import Mapping
from typing import Any

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import add_legend
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_intervals
from prunefield.papers.redman2025._nets import nets, widths
from prunefield.papers.redman2025._pictures import COLOURS, LABELS
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.widths import Widths
from prunefield.tasks import Task

VARIED: dict[Scale, dict[str, tuple[int, ...]]] = {  # one setting at a time; at other scales nothing is gained
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
    "images": "images, seen repeatedly (∞: once)",
    "classes": "classes",
    "steps": "training steps",
    "width": "hidden units in a layer",
    "data": "data",
}


def list_settings(scale: Scale) -> dict[Imp, str]:
    """The pruning runs, each with the name of the setting that differs from the base."""
    base = nets(scale, "leaves")
    found = {**dict.fromkeys(nets(scale), "data"), **dict.fromkeys(base, "base")}
    for axis, values in VARIED[scale].items():
        found |= {change_axis(base[0], axis, value): "data" if axis == "labels" else axis for value in values}
    return found


def change_axis(base: Imp, axis: str, value: int) -> Imp:
    """The base with one setting changed."""
    changes: dict[str, dict[str, Any]] = {
        "images": {"images": value},
        "classes": {"task": Task.parse({**base.task.settings(), "categories": value})},
        "steps": {"steps": value, "rewind": min(base.rewind, value // 4)},
        "width": {"hidden": (value, value)},
        "labels": {"images": value, "labels": "random"},
    }
    return Imp(**{**dict(base), **changes[axis]})


def split(table: Frame) -> tuple[Frame, Frame]:
    """The rows of the endless stream in the base setting, and those of reused images, fewest last."""
    return rows(table, axis="base"), rows(table, axis="images").sort_values("images", ascending=False)


def list_values(endless: Frame, reused: Frame, values: Frame) -> str:
    """The stream's range over seeds, then the value of each reused set."""
    parts = [f"{n:,.0f} images {value:.2f}" for n, value in zip(reused["images"], values, strict=True)]
    return ", ".join([f"no image seen twice {endless.min():.2f} to {endless.max():.2f}", *parts])


def reuse_as_stream(table: Frame) -> Frame:
    """The null: each reused set has the numbers of the stream's first seed."""
    first = rows(table, axis="base").iloc[0]
    names = [*METHODS, "accuracy", "gap"]
    return table.assign(**{name: table[name].mask(table["axis"] == "images", first[name]) for name in names})


class Reuse(Item):
    """Widths under IMP, one-shot and random pruning with one setting changed at a time (redman2025, App. C.2)."""

    title = "Width of masks against reuse of images, classes, steps and width of the net"
    size = (10, 7.6)
    scales = tuple(VARIED)
    from_values = True
    open_choices = (
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

    def runs(self, scale: Scale) -> list[Run]:
        return [*widths(scale, list_settings(scale))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per setting and seed."""
        axes = {imp: axis for scale in VARIED for imp, axis in list_settings(scale).items()}

        def measure(run: Widths, result: Result) -> list[Row]:
            imp = run.of
            last = {record["method"]: record for record in result.records if record["round"] == imp.rounds}
            trained = results[imp].records[imp.rounds - 1]
            row = {
                "axis": axes[imp],
                "seed": imp.seed,
                "images": imp.images,
                "classes": imp.task.classes,
                "steps": imp.steps,
                "width": imp.hidden[0],
                "data": f"{imp.task.kind()}, {imp.labels} labels",
                "density": last["imp"]["density"],
                "accuracy": trained["accuracy"],
                "gap": trained["train_accuracy"] - trained["accuracy"],
            }
            return [row | {method: last[method]["mean_x_top"] for method in METHODS}]

        table = gather(results, measure, Widths).astype(dict.fromkeys(("images", *METHODS), float))
        return add_intervals(table, METHODS, ("axis", *AXES))

    def ideal(self) -> Frame:
        """The conjecture: the more often images are reused, the wider IMP's masks and the smaller its lead."""
        found = [("base", math.nan, 4.5 + 0.1 * seed, 0.01) for seed in range(3)]
        found += [("steps", math.nan, 5.0, 0.0)]
        found += [("images", 50_000, 6.0, 0.1), ("images", 10_000, 8.0, 0.3), ("images", 1_000, 9.0, 0.8)]
        table = pandas.DataFrame(found, columns=["axis", "images", "imp", "gap"])
        return table.assign(oneshot=9.0, random=14.5, accuracy=0.8)

    @claim(
        "Reuse reduces locality: IMP's masks are wider when images are seen repeatedly",
        at="our question (App. C.2: 1.25 epochs)",
        expect="IMP's width with each reused set of images is above that of the endless stream in all seeds",
        null=reuse_as_stream,
        decided_at="laptop",
    )
    def costs_locality(table: Frame) -> Verdict:
        stream, reused = split(table)
        observed = f"IMP's width in pixels: {list_values(stream['imp'], reused, reused['imp'])}"
        return judge((reused["imp"] > stream["imp"].max()).all(), observed, len(stream) + len(reused))

    @claim(
        "IMP is more local than one-shot pruning when no image is seen twice",
        at="our question; Fig. 4A",
        expect="IMP's width is smaller in every seed of the base setting",
        null=lambda table: table.assign(imp=table["random"], oneshot=table["random"]),
        decided_at="laptop",
    )
    def more_local(table: Frame) -> Verdict:
        stream, others = rows(table, axis="base"), rows(table, axis=("classes", "steps", "width"))
        observed = f"IMP {stream['imp'].mean():.2f}, one-shot {stream['oneshot'].mean():.2f}, in {len(stream)} seeds"
        better = (others["imp"] < others["oneshot"]).sum()
        note = f"the same in {better} of the {len(others)} other settings in which no image is seen twice"
        return judge((stream["imp"] < stream["oneshot"]).all(), observed, 2 * len(stream), note)

    @claim(
        "The advantage of IMP over one-shot pruning shrinks with reuse",
        at="our question",
        expect="1 − IMP/one-shot is smaller with each reused set than in every seed of the endless stream",
        null=reuse_as_stream,
        decided_at="laptop",
    )
    def advantage_shrinks(table: Frame) -> Verdict:
        stream, reused = split(table)
        endless, again = (1 - part["imp"] / part["oneshot"] for part in (stream, reused))
        observed = f"1 − IMP/one-shot: {list_values(endless, reused, again)}"
        return judge((again < endless.min()).all(), observed, 2 * (len(stream) + len(reused)))

    @claim(
        "Reuse shows as a gap between training and test accuracy",
        at="our question",
        expect="the gap with the fewest images is above that of the endless stream in all seeds",
        null=reuse_as_stream,
        decided_at="laptop",
    )
    def gap_opens(table: Frame) -> Verdict:
        stream, reused = split(table)
        observed = f"training minus test accuracy: {list_values(stream['gap'], reused, reused['gap'])}"
        return judge(reused["gap"].iloc[-1] > stream["gap"].max(), observed, len(table))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        varied = [axis for axis in AXES if axis in set(table["axis"])]
        lines = -(-len(varied) // 3)
        figure.set_figheight(0.8 + 3.4 * lines)
        grid, panels = figure.add_gridspec(lines, 3), list[Axes]()
        for place, axis in enumerate(varied):
            row, column = divmod(place, 3)
            end = 3 if axis == varied[-1] else column + 1  # the last has the longest names and takes what is free
            panel = figure.add_subplot(grid[row, column:end], sharey=panels[0] if panels else None)
            panel.tick_params(labelleft=column == 0)
            panels.append(panel)
            groups = rows(table, axis=("base", axis)).fillna({"images": math.inf}).groupby(axis)
            names = [name_value(value) for value in groups.groups]
            for method in METHODS:
                low, mean, high = (groups[method].agg(part) for part in ("min", "mean", "max"))
                look: dict[str, Any] = {
                    "fmt": "o" if axis == "data" else "o-",
                    "color": COLOURS[method],
                    "label": LABELS[method],
                }
                panel.errorbar(names, mean, [mean - low, high - mean], markersize=4, **look)
                draw_intervals(panel, names, (part[method] for _, part in groups), COLOURS[method])
            panel.set_xlabel(AXES[axis])
            panel.margins(x=0.2)
        for panel in panels[::3]:
            panel.set_ylabel("last width σx (pixels)")
        panels[0].set_ylim(bottom=0)
        title = "bars: minimum to maximum over seeds; thin bars: 95% interval"
        add_legend(figure, panels[:1], ncols=3, title=title)


def name_value(value: Any) -> str:
    """A setting on an axis, in lines that are short enough to stand beside each other.

    >>> name_value("tiny-imagenet, true labels"), name_value(math.inf), name_value(1_000)
    ('tiny-\\nimagenet,\\ntrue labels', '∞', '1,000')
    """
    if isinstance(value, str):
        return value.replace(", ", ",\n").replace("-", "-\n")
    return "∞" if math.isinf(value) else f"{value:,.0f}"
