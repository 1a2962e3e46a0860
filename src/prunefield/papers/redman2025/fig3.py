"""Fig. 3 of redman2025: iterative pruning on images and on their Gaussian clone."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.core import seeds
from prunefield.measures.pictures import show
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._fig4_checks import LOCAL, curve
from prunefield.papers.redman2025._ideal import ROUNDS, fill_table, trace_width
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_mean
from prunefield.papers.redman2025._nets import CLONE_SEEDS, DATA, SHARED_CHOICES, TOP, data_of, full_clones, nets
from prunefield.papers.redman2025._pictures import COLOURS, connected
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.widths import Widths
from prunefield.tasks import Task
from prunefield.tasks.clone import Clone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

SHOWN = 60  # masks in a picture


def widths(table: "DataFrame", inputs: str, method: str = "imp") -> list[float]:
    """The median widths of all seeds, at the last round."""
    part = rows(table, inputs=inputs, method=method)
    return column(rows(part, round=part["round"].max()), "width")


def check_wider(table: "DataFrame") -> Verdict:
    data, clone = widths(table, "data"), widths(table, "clone")
    observed = f"median σx {_range(data)} on the data, {_range(clone)} on the clone"
    return judge(max(data) < min(clone), observed, len(data) + len(clone))


def check_diffuse(table: "DataFrame") -> Verdict:
    clone, chance = widths(table, "clone"), widths(table, "clone", "random")
    observed = f"median σx {_range(clone)} on the clone, {_range(chance)} for random masks"
    return judge(min(clone) > LOCAL * max(chance), observed, len(clone) + len(chance))


def check_full(table: "DataFrame") -> Verdict:
    leaves = rows(table, data="leaves")
    full, chance = widths(leaves, "full clone"), widths(leaves, "full clone", "random")
    part, other = widths(leaves, "clone"), widths(leaves, "clone", "random")
    ratios = [sum(ours) / sum(theirs) for ours, theirs in ((full, chance), (part, other))]
    observed = "σx over that of random masks: {:.2f} with 2,000 images per class, {:.2f} with 100".format(*ratios)
    note = "100 images give a covariance of rank 99 in as many dimensions as an image has pixels"
    return judge(min(full) > LOCAL * max(chance), observed, len(full) + len(part), note)


def _range(values: list[float]) -> str:
    spread = f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else ""
    return f"{sum(values) / len(values):.2f}{spread}"


def clone_as_data(table: "DataFrame") -> "DataFrame":
    """The table with the data instead of the clone."""
    import pandas

    data = rows(table, inputs="data")
    return pandas.concat([data, data.assign(inputs="clone")], ignore_index=True)


def narrow_clone(table: "DataFrame") -> "DataFrame":
    """The table with IMP's masks half as wide."""
    return table.assign(width=table["width"].where(table["method"] == "random", 0.5 * table["width"]))


class Fig3(Item):
    """Masks and widths on a data set and on its Gaussian clone (redman2025, Fig. 3, Sec. 3.1 and App. C.1)."""

    title: ClassVar[str] = "Widths of masks found on images and on their Gaussian clone"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        "The clone: one Gaussian per class and channel, fitted to 100 images of each class; new samples for every "
        "batch, not rounded or clipped. The reference code rounds to 8 bits and clips, which makes the clone "
        "non-Gaussian (settings of `clone`).",
        "The 'full clone' is our own control: leaves of 16 × 16 pixels and the small nets at every scale, fitted to "
        "2,000 images of each class, more than an image has pixels. It was added after masks on the clone of 100 "
        "images had turned out as wide as random ones. It has one seed at smoke scale and two otherwise.",
        CLONE_SEEDS,
        INTERVAL_CHOICE,
        "Width: median over the most connected units at the last round, as in Fig. 3C; 'significantly larger' means: "
        "every seed on the clone above every seed on the data.",
        "'Does not discover local receptive fields' and 'no obvious structure': the widths on the clone stay above "
        f"{LOCAL} times that of random masks, the same threshold that the claim on Fig. 4A uses for 'local'.",
    )
    claims: ClassVar[tuple[Claim, ...]] = (
        *on_each(
            Claim(
                "Masks found on the Gaussian clone have a significantly larger width than those found on the data",
                "Sec. 3.1, Fig. 3C",
                "the smallest median width on the clone is above the largest on the data",
                check_wider,
                clone_as_data,
                decided_at="laptop",
            ),
            Claim(
                "On the Gaussian clone IMP fails to find local receptive fields",
                "Sec. 3.1, Fig. 3B",
                f"the median widths on the clone are above {LOCAL} times that of random masks",
                check_diffuse,
                narrow_clone,
                decided_at="laptop",
            ),
        ),
        Claim(
            "On a Gaussian clone whose covariance has full rank IMP finds no local receptive fields either (leaves)",
            "a control for Sec. 3.1 and App. C.1",
            f"its median width is above {LOCAL} times that of random masks",
            check_full,
            narrow_clone,
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        imps = [imp for data in DATA for clone in (False, True) for imp in nets(scale, data, clone=clone)]
        return [Widths(of=imp, top=TOP[scale]) for imp in (*imps, *full_clones(scale))]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, kind of inputs, seed, method and round."""
        import pandas

        found = []
        for run, result in results.items():
            if isinstance(run, Widths):
                inputs = _inputs(run.of)
                for record in result.records:
                    place = {"data": data_of(run.of), "inputs": inputs, "seed": run.of.seed}
                    numbers = {"density": record["density"], "width": record["median_x_top"]}
                    found.append(place | {"method": record["method"], "round": record["round"]} | numbers)
        names = ["data", "inputs", "method", "seed", "round"]
        table = pandas.DataFrame(found).sort_values(names, ignore_index=True)
        return add_intervals(table, ("width",), ("data", "inputs", "method", "round"))

    def ideal(self) -> "DataFrame":
        """Local masks on the data, as in Fig. 4A; on either clone IMP's are as wide as random ones."""
        axes = {"inputs": ("data", "clone", "full clone"), "method": METHODS, "round": range(ROUNDS + 1)}
        return fill_table(lambda case: {"width": trace_width(case)}, **axes)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 4.2 * len(DATA)), layout="constrained")
        grid = figure.add_gridspec(2 * len(DATA), 3, width_ratios=(1, 2.4, 1.4))
        for place, data in enumerate(DATA):
            for row, inputs in enumerate(("data", "clone")):
                imp = next(run for run in results if _is(run, data, inputs))
                assert isinstance(imp, Imp)
                left, middle = (figure.add_subplot(grid[2 * place + row, column]) for column in (0, 1))
                show(left, _examples(imp.task), 4, f"{data}: {inputs}")
                show(middle, connected(imp, results[imp], "imp", SHOWN), 15, f"masks on {data}: {inputs}")
            _draw_curves(figure.add_subplot(grid[2 * place : 2 * place + 2, 2]), rows(table, data=data))
        return figure


def _inputs(imp: Imp) -> str:
    if not isinstance(imp.task, Clone):
        return "data"
    return "clone" if imp.task.per_class == Clone().per_class else "full clone"


def _is(run: Run, data: str, inputs: str) -> bool:
    return isinstance(run, Imp) and (run.seed, data_of(run), _inputs(run)) == (0, data, inputs)


def _examples(task: Task, count: int = 8) -> "Tensor":
    """Some inputs, each scaled to [0, 1]."""
    fields = task.held_out(count, generator=seeds.generator(0, "examples")).x
    least, most = fields.amin(1, keepdim=True), fields.amax(1, keepdim=True)
    return ((fields - least) / (most - least)).view(count, *task.shape)


def _draw_curves(axes: "Axes", table: "DataFrame") -> None:
    lines = {("data", "imp"): ("-", COLOURS["imp"]), ("clone", "imp"): ("--", "#cc79a7")}
    lines |= {("full clone", "imp"): ("-.", "#009e73"), ("clone", "random"): (":", COLOURS["random"])}
    for (inputs, method), (style, colour) in lines.items():
        part = rows(table, inputs=inputs, method=method)
        if part.empty:
            continue
        values = curve(part, method, "width")
        density = curve(part, method, "density").mean(axis=1).to_list()
        label = "random masks" if method == "random" else f"IMP on the {inputs}"
        draw_mean(axes, density, values / values.iloc[0].mean(), colour, label, linestyle=style, marker="")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_ylim(bottom=0)
    axes.set_xlabel("density")
    axes.set_ylabel("median width σx relative to a full mask")
    axes.legend()
