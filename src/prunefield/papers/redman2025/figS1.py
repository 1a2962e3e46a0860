"""Fig. S1 of redman2025: Gaussian fits to the correlation functions of masks."""

from collections.abc import Iterator, Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import mannwhitneyu
from torch import Tensor

from prunefield.measures.widths import count_pairs, fit_gaussians
from prunefield.papers import Frame, Scale, Verdict, gather, judge, numbers, rows
from prunefield.papers._kit import SEQUENCE, Row
from prunefield.papers.redman2025._curves import imp_as_random
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import (
    DATA,
    MOST_CONNECTED,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    make_row,
    nets,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected, find_net, fit_height
from prunefield.runs import Result, Run
from prunefield.runs.widths import Widths

SIGNIFICANT = 0.01


class FigS1(NetItem):
    """Masks, their S_i(d) and the fitted Gaussians; the fits' mean squared errors (redman2025, Fig. S1, App. A)."""

    title = "Gaussian fits to the correlation functions of masks"
    size = (11, 4.6 * len(DATA))
    scales = SCALES
    open_choices = (
        *SHARED_CHOICES,
        "The error is the mean squared residual of S/max S over all d ≠ 0; with unscaled S, units with many inputs "
        "would have larger errors.",
        f"Units: the most connected ones, {MOST_CONNECTED}, at the last round. 'Significantly smaller' means: "
        f"one-sided Mann–Whitney test with p < {SIGNIFICANT} in every seed.",
        "The three examples are the first, the middle and the last of the most connected units, of the first seed.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*widths(scale, nets(scale))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed, method and unit among the most connected ones that has a fit."""

        def measure(run: Widths, result: Result) -> Iterator[Row]:
            for record in (record for record in result.records if record["round"] == run.of.rounds):
                kept, misfit, width = (record.tensors[name].numpy() for name in ("kept", "misfit", "width_x"))
                units = record.tensors["kept"].argsort(descending=True, stable=True)[: run.top].tolist()
                for unit in (unit for unit in units if np.isfinite(misfit[unit])):
                    row = make_row(run.of, record, "method")
                    yield {**row, "unit": unit, "kept": kept[unit], "misfit": misfit[unit], "width": width[unit]}

        return gather(results, measure, Widths)

    def ideal(self) -> Frame:
        """The errors of random masks are ten times as large (Fig. S1B)."""
        scale = {"imp": 0.001, "random": 0.01}
        axes = {"method": scale, "unit": range(120)}
        return fill_table(lambda case: {"misfit": scale[case["method"]] * (1 + case["unit"] / 60)}, **axes)

    @claim_on_nets(
        "The mean squared error of the Gaussian fit is significantly smaller for IMP's masks than for random ones",
        at="App. A, Fig. S1B",
        expect=f"p < {SIGNIFICANT} in every seed",
        null=imp_as_random,
    )
    def better_fits(table: Frame) -> Verdict:
        seeds = [part for _, part in table.groupby("seed")]
        pairs = [[numbers(rows(part, method=method), "misfit") for method in ("imp", "random")] for part in seeds]
        worst = max(mannwhitneyu(ours, theirs, alternative="less").pvalue for ours, theirs in pairs)
        imp, chance = (rows(table, method=method)["misfit"].median() for method in ("imp", "random"))
        observed = f"median error IMP {imp:.2e}, random {chance:.2e}, p ≤ {worst:.1e}"
        note = "the error of a random mask is partly the sampling noise of its few pairs, not only a lack of structure"
        return judge(worst < SIGNIFICANT, observed, len(table), note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        names = fit_height(figure, table)
        grid = figure.add_gridspec(3 * len(names), 4, width_ratios=(1, 1, 1, 2.6))
        for place, data in enumerate(names):
            imp = find_net(results, data)
            top = next(run.top for run in results if isinstance(run, Widths) and run.of == imp)
            fields = connected(imp, results[imp], "imp", top)
            for row, unit in enumerate((0, len(fields) // 2, len(fields) - 1), start=3 * place):
                panels = [figure.add_subplot(grid[row, column]) for column in range(3)]
                draw_unit(panels, fields[unit], titled=row == 3 * place)
            right = figure.add_subplot(grid[3 * place : 3 * place + 3, 3], title=f"{data}: error of the fit")
            draw_errors(right, rows(table, data=data))


def draw_unit(panels: list[Axes], field: Tensor, *, titled: bool) -> None:
    pairs = count_pairs(field[None])
    fit = fit_gaussians(pairs)
    y, x = (np.arange(size) - size // 2 for size in pairs.shape[1:])
    along_x, along_y = x / fit.width_x.item(), y[:, None] / fit.width_y.item()
    pictures = {
        "mask": field.permute(1, 2, 0).float().numpy(),
        "S(d)": (pairs[0] / pairs.max()).numpy(),
        "fit": fit.amplitude.item() * np.exp(-(along_x**2 + along_y**2) / 2),
    }
    for axes, (title, picture) in zip(panels, pictures.items(), strict=True):
        axes.imshow(picture, interpolation="nearest", vmin=0, vmax=1, cmap=SEQUENCE)
        axes.set_axis_off()
        axes.set_title(title if titled else "")


def draw_errors(axes: Axes, table: Frame) -> None:
    bins = np.geomspace(table["misfit"].min(), 1.001 * table["misfit"].max(), 30).tolist()
    for method in ("imp", "random"):
        axes.hist(rows(table, method=method)["misfit"], bins, color=COLOURS[method], alpha=0.6, label=LABELS[method])
    axes.set(xscale="log", xlabel="mean squared error of the fit", ylabel="units, all seeds")
    axes.legend()
