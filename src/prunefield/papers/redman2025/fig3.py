"""Fig. 3 of redman2025: iterative pruning on images and on their Gaussian clone."""

from collections.abc import Iterator, Mapping
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.figures import add_legend, fill_with_legend
from prunefield.measures.pictures import show_fields
from prunefield.papers import Frame, Scale, Verdict, gather, judge, rows
from prunefield.papers._kit import BLACK, GREEN, NOT_SHIPPED, PURPLE, VERMILION, Row, explain_no_tensors, has_tensors
from prunefield.papers.redman2025._curves import (
    LOCAL,
    clone_as_data,
    curve,
    judge_clone_width,
    last_widths,
    note_seeds,
    show_range,
)
from prunefield.papers.redman2025._ideal import ROUNDS, fill_table, trace_width
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_mean, explain_band
from prunefield.papers.redman2025._nets import (
    CLONE_SEEDS,
    DATA,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    full_clones,
    inputs_of,
    list_cloned,
    make_row,
    nets,
    source_of,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import connected, find_net, fit_height, scale_fields
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.widths import Widths
from prunefield.tasks import Task
from prunefield.tasks.clone import Clone

SHOWN = 60  # masks in a picture
CURVES = 4.2  # inches: height of a drawing without pictures
PAIR = "clone, net of the full clone"
LINES = {  # inputs and method: how they are drawn
    ("data", "imp"): ("-", BLACK),
    ("clone", "imp"): ("--", PURPLE),
    ("full clone", "imp"): ("-.", GREEN),
    ("clone", "random"): (":", VERMILION),
}


def narrow_clone(table: Frame) -> Frame:
    """The null: IMP's masks half as wide."""
    return table.assign(width=table["width"].where(table["method"] == "random", 0.5 * table["width"]))


class Fig3(NetItem):
    """Masks and widths on a data set and on its Gaussian clone (redman2025, Fig. 3, Sec. 3.1 and App. C.1)."""

    title = "Widths of masks found on images and on their Gaussian clone"
    size = (11, 4.2 * len(DATA))
    scales = SCALES
    from_values = True
    open_choices = (
        *SHARED_CHOICES,
        "The clone: one Gaussian per class and channel, fitted to 100 images of each class; new samples for every "
        "batch, not rounded or clipped. The reference code rounds to 8 bits and clips, which makes the clone "
        "non-Gaussian (settings of `clone`).",
        "The 'full clone' is our own control, fitted to 2,000 images of each class, more than an image has pixels: "
        "leaves of 16 × 16 pixels and small nets, at night scale crops of Tiny ImageNet and the paper's net. It was "
        "added after masks on the clone of 100 images had turned out as wide as random ones. It has two seeds at "
        "laptop and paper scale, otherwise one, and is compared with the same net on a clone of 100 images.",
        CLONE_SEEDS,
        INTERVAL_CHOICE,
        "Width: median over the most connected units at the last round, as in Fig. 3C; 'significantly larger' means: "
        "every seed on the clone above every seed on the data.",
        "'Does not discover local receptive fields' and 'no obvious structure': the widths on the clone stay above "
        f"{LOCAL} times that of random masks, the same threshold that the claim on Fig. 4A uses for 'local'.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        imps = [net for is_clone in (False, True) for net in nets(scale, *list_cloned(scale), clone=is_clone)]
        imps += [*full_clones(scale), *full_clones(scale, Clone().per_class)]
        return [*widths(scale, dict.fromkeys(imps))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, kind of inputs, seed, method and round."""
        known = {_find_net(run.of): run for run in results if isinstance(run, Widths)}

        def measure(run: Widths, result: Result) -> Iterator[Row]:
            inputs, net = _find_net(run.of)
            is_pair = inputs == "clone" and ("full clone", net) in known
            kinds = [PAIR] * is_pair + [inputs] * (not is_pair or ("data", net) in known)
            for record, kind in product(result.records, kinds):
                row = make_row(run.of, record, "method", "round", "density", width="median_x_top")
                yield {**row, "inputs": kind}

        table = gather(results, measure, Widths)
        table = table.sort_values(["data", "inputs", "method", "seed", "round"], ignore_index=True)
        return add_intervals(table, ("width",), ("data", "inputs", "method", "round"))

    def ideal(self) -> Frame:
        """Local masks on the data, as in Fig. 4A; on either clone IMP's are as wide as random ones."""
        axes = {"inputs": ("data", "clone", "full clone", PAIR), "method": METHODS, "round": range(ROUNDS + 1)}
        return fill_table(lambda case: {"width": trace_width(case)}, **axes)

    @claim_on_nets(
        "Masks found on the Gaussian clone have a significantly larger width than those found on the data",
        at="Sec. 3.1, Fig. 3C",
        expect="the smallest median width on the clone is above the largest on the data",
        null=clone_as_data,
    )
    def wider(table: Frame) -> Verdict:
        return judge_clone_width(table)

    @claim_on_nets(
        "On the Gaussian clone IMP fails to find local receptive fields",
        at="Sec. 3.1, Fig. 3B",
        expect=f"the median widths on the clone are above {LOCAL} times that of random masks",
        null=narrow_clone,
    )
    def diffuse(table: Frame) -> Verdict:
        clone, chance = last_widths(table, "clone"), last_widths(table, "clone", "random")
        observed = f"median σx {show_range(clone)} on the clone, {show_range(chance)} for random masks"
        few = note_seeds(table, clone, "the clone")
        return judge(clone.min() > LOCAL * chance.max(), observed, clone.size + chance.size, few)

    @claim_on_nets(
        "On a Gaussian clone whose covariance has full rank IMP finds no local receptive fields either",
        at="a control for Sec. 3.1 and App. C.1",
        expect=f"its median width is above {LOCAL} times that of random masks",
        null=narrow_clone,
        needs={"inputs": "full clone"},
        highlight=True,
    )
    def diffuse_at_full_rank(table: Frame) -> Verdict:
        (full, chance), (part, other) = (
            [last_widths(table, inputs, method) for method in ("imp", "random")] for inputs in ("full clone", PAIR)
        )
        ratios = (full.sum() / chance.sum(), part.sum() / other.sum())
        observed = "σx over that of random masks: {:.2f} with 2,000 images per class, {:.2f} with 100".format(*ratios)
        pair = "diffuse" if part.min() > LOCAL * other.max() else "local, too"
        note = (
            "the same net on both; 100 images give a covariance of rank 99 in as many dimensions as an image has "
            f"pixels; by the same criterion masks on that clone are {pair}"
        )
        note = "; ".join(filter(None, (note, note_seeds(table, full, "the clone of full rank"))))
        return judge(full.min() > LOCAL * chance.max(), observed, full.size + part.size, note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        names, curves = fit_height(figure, table), list[Axes]()
        shown = [find_net(results, data, inputs) for data in names for inputs in ("data", "clone")]
        if not any(has_tensors(results[imp]) for imp in shown):
            draw_only_curves(figure, {data: rows(table, data=data) for data in names})
            return
        grid = figure.add_gridspec(2 * len(names), 3, width_ratios=(1, 2.4, 1.4))
        for place, data in enumerate(names):
            for row, inputs in enumerate(("data", "clone"), start=2 * place):
                imp = find_net(results, data, inputs)
                if not has_tensors(results[imp]):
                    explain_no_tensors(figure.add_subplot(grid[row, :2]), f"masks on {data}: {inputs}")
                    continue
                left, middle = (figure.add_subplot(grid[row, column]) for column in (0, 1))
                show_fields(left, sample_examples(imp.task), 4, f"{data}: {inputs}")
                show_fields(middle, connected(imp, results[imp], "imp", SHOWN), 15, f"masks on {data}: {inputs}")
            curves.append(figure.add_subplot(grid[2 * place : 2 * place + 2, 2]))
            draw_curves(curves[-1], rows(table, data=data))
        add_legend(figure, curves, ncols=3)


def _find_net(imp: Imp) -> tuple[str, tuple[object, ...]]:
    """What a net sees, and what nets have in common that differ only in that."""
    return inputs_of(imp.task), (source_of(imp.task), imp.hidden, imp.steps, imp.seed)


def sample_examples(task: Task, count: int = 8) -> Tensor:
    """Some inputs, each scaled to [0, 1]."""
    x = task.held_out(count, generator=seeds.generator(0, "examples")).x
    return scale_fields(x.view(count, *task.shape))


def draw_only_curves(figure: Figure, tables: Mapping[str, Frame]) -> None:
    """The curves beside each other, where no masks are there."""
    figure.set_figheight(CURVES)
    *curves, empty = figure.subplots(1, len(tables) + 1)
    for axes, (data, table) in zip(curves, tables.items(), strict=True):
        draw_curves(axes, table)
        axes.set_title(data)
    fill_with_legend(empty, curves, f"inputs and masks:\n{NOT_SHIPPED}\n")


def draw_curves(axes: Axes, table: Frame) -> None:
    for (inputs, method), (style, colour) in LINES.items():
        part = rows(table, inputs=inputs, method=method)
        if part.empty:
            continue
        values, density = (curve(part, method, name) for name in ("width", "density"))
        label = "random masks" if method == "random" else f"IMP on the {inputs}"
        relative = values / values.iloc[0].mean()
        draw_mean(axes, density.mean(axis=1).to_list(), relative, colour, label, linestyle=style, marker="")
    axes.set(xscale="log", xlabel="density", ylabel="median σx ÷ σx of a full mask")
    axes.invert_xaxis()
    axes.set_ylim(bottom=0)
    explain_band(axes)
