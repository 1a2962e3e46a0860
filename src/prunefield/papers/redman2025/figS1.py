"""Fig. S1 of redman2025: Gaussian fits to the correlation functions of masks."""

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from prunefield.measures.widths import count_pairs, fit_gaussians
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._fig4_checks import imp_as_random
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, TOP, data_of, nets
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected
from prunefield.runs import Result, Run
from prunefield.runs.imp import Imp
from prunefield.runs.widths import Widths

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

SIGNIFICANT = 0.01


def check_misfit(table: "DataFrame") -> Verdict:
    from scipy.stats import mannwhitneyu

    pairs = [
        [column(rows(table, seed=seed, method=method), "misfit") for method in ("imp", "random")]
        for seed in table["seed"].unique()
    ]
    worst = max(mannwhitneyu(ours, theirs, alternative="less").pvalue for ours, theirs in pairs)
    ours, theirs = (median(value for pair in pairs for value in pair[which]) for which in (0, 1))
    observed = f"median error IMP {ours:.2e}, random {theirs:.2e}, p ≤ {worst:.1e}"
    note = "the error of a random mask is partly the sampling noise of its few pairs, not only a lack of structure"
    return judge(worst < SIGNIFICANT, observed, len(table), note)


class FigS1(Item):
    """Masks, their S_i(d) and the fitted Gaussians; the fits' mean squared errors (redman2025, Fig. S1, App. A)."""

    title: ClassVar[str] = "Gaussian fits to the correlation functions of masks"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        "The error is the mean squared residual of S/max S over all d ≠ 0; with unscaled S, units with many inputs "
        "would have larger errors.",
        "Units: the most connected ones (120 of 1024; 40 of 256, 20 of 64) at the last round. 'Significantly "
        f"smaller' means: one-sided Mann–Whitney test with p < {SIGNIFICANT} in every seed.",
        "The three examples are the first, the middle and the last of the most connected units, of the first seed.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "The mean squared error of the Gaussian fit is significantly smaller for IMP's masks than for random ones",
            "App. A, Fig. S1B",
            f"p < {SIGNIFICANT} in every seed",
            check_misfit,
            imp_as_random,
            decided_at="laptop",
        )
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Widths(of=imp, top=TOP[scale]) for data in DATA for imp in nets(scale, data)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, seed, method and unit among the most connected ones that has a fit."""
        import pandas

        found = []
        for run, result in results.items():
            if not isinstance(run, Widths):
                continue
            for record in (record for record in result.records if record["round"] == run.of.rounds):
                place = {"data": data_of(run.of), "seed": run.of.seed, "method": record["method"]}
                kept, misfit, width = (record.tensors[name] for name in ("kept", "misfit", "width_x"))
                units = kept.argsort(descending=True, stable=True)[: run.top]
                found += [
                    place
                    | {
                        "unit": unit,
                        "kept": int(kept[unit]),
                        "misfit": float(misfit[unit]),
                        "width": float(width[unit]),
                    }
                    for unit in units.tolist()
                    if misfit[unit].isfinite()
                ]
        return pandas.DataFrame(found)

    def ideal(self) -> "DataFrame":
        """The errors of random masks are ten times as large (Fig. S1B)."""
        scale = {"imp": 0.001, "random": 0.01}
        axes = {"method": scale, "unit": range(120)}
        return fill_table(lambda case: {"misfit": scale[case["method"]] * (1 + case["unit"] / 60)}, **axes)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(11, 4.6 * len(DATA)), layout="constrained")
        grid = figure.add_gridspec(3 * len(DATA), 4, width_ratios=(1, 1, 1, 2.6))
        for place, data in enumerate(DATA):
            imp = next(run for run in results if isinstance(run, Imp) and run.seed == 0 and data_of(run) == data)
            top = next(run.top for run in results if isinstance(run, Widths))
            fields = connected(imp, results[imp], "imp", top)
            for row, unit in enumerate((0, len(fields) // 2, len(fields) - 1)):
                panels = [figure.add_subplot(grid[3 * place + row, column]) for column in range(3)]
                _draw_unit(panels, fields[unit], titled=row == 0)
            _draw_errors(figure.add_subplot(grid[3 * place : 3 * place + 3, 3]), rows(table, data=data), data)
        return figure


def _draw_unit(panels: "list[Axes]", field: "Tensor", *, titled: bool) -> None:
    pairs = count_pairs(field[None])
    fit = fit_gaussians(pairs)
    pictures: list[np.ndarray] = [
        field.permute(1, 2, 0).float().numpy(),
        (pairs[0] / pairs.max()).numpy(),
        _gaussian(fit.amplitude.item(), fit.width_x.item(), fit.width_y.item(), (pairs.shape[1], pairs.shape[2])),
    ]
    for axes, picture, title in zip(panels, pictures, ("mask", "S(d)", "fit"), strict=True):
        axes.imshow(picture, interpolation="nearest", vmin=0, vmax=1, cmap="magma")
        axes.set_axis_off()
        axes.set_title(title if titled else "")


def _gaussian(amplitude: float, width_x: float, width_y: float, shape: tuple[int, int]) -> "np.ndarray":
    import numpy as np

    y, x = (np.arange(size) - size // 2 for size in shape)
    return amplitude * np.exp(-(x[None, :] ** 2) / (2 * width_x**2) - y[:, None] ** 2 / (2 * width_y**2))


def _draw_errors(axes: "Axes", table: "DataFrame", data: str) -> None:
    import numpy as np

    bins = np.geomspace(table["misfit"].min(), 1.001 * table["misfit"].max(), 30).tolist()
    for method in ("imp", "random"):
        values = column(rows(table, method=method), "misfit")
        axes.hist(values, bins, color=COLOURS[method], alpha=0.6, label=LABELS[method])
    axes.set_xscale("log")
    axes.set_xlabel("mean squared error of the fit")
    axes.set_ylabel("units, all seeds")
    axes.set_title(data)
    axes.legend()
