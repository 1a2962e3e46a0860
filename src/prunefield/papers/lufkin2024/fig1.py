"""Fig. 1 of lufkin2024: fields on a square, by a soft committee machine and by ICA."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.lufkin2024._units import (
    NOISE,
    count_signs,
    describe,
    fields_of,
    imagine,
    list_units,
    name_network,
    numbers,
    pick,
    put,
)
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.ica import Ica
from prunefield.tasks.nlgp import Nlgp

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SCM, LARGE, SMALL = "soft committee, relu", 100.0, 0.01
SHOWN = 8
# For each scale: side, batch and steps of the committee; side, components and samples of ICA.
SIZES: dict[Scale, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "smoke": ((10, 250, 700), (8, 20, 10_000)),
    "laptop": ((16, 1000, 3000), (12, 45, 100_000)),
    "paper": ((30, 10_000, 10_000), (16, 80, 100_000)),
}


def _check(network: str):
    def check(table: "DataFrame") -> Verdict:
        ipr = numbers(pick(table, network, "NLGP(100)"))
        return count_signs(ipr > NOISE, f"IPR·N {describe(ipr)}, above the {NOISE:g} of noise")

    return check


class Fig1(Item):
    """Figure 1, right, of lufkin2024: fields learnt from two-dimensional NLGP data by ICA and by a soft committee."""

    title = "Fields on a square, by a soft committee machine and by ICA"
    open_choices = (
        "committee: 30 × 30 sites, lengthscales 1 and 2, K = 20 ReLU units without bias, scale 0.01, rate 3, batch and "
        "steps 10,000 (the authors' code); 10 × 10, 250, 700 at smoke scale and 16 × 16, 1,000, 3,000 at laptop scale",
        "ICA: 16 × 16 sites, lengthscales 0.5 and 0.7, 80 components of 100,000 samples (the authors' code); 8 × 8, "
        "20 of 10,000 at smoke scale and 12 × 12, 45 of 100,000 at laptop scale, about the same fraction of the sites",
        "the size of ICA at smoke scale was chosen after trials: 20 components of 10 × 10 sites from 5,000 samples, "
        "and 80 "
        "of 16 × 16 from 20,000, had a median IPR·N of 3; ICA needs many samples for each site",
        "g = 100 as in the authors' code; g = 0.01, where the data are Gaussian, is the null",
        "the paper shows 8 hand-picked units, this item the first 8; the sign test of fig6 uses all of them",
        "the measured fields and the AlexNet kernels in the rest of the figure come from other authors and are not "
        "computed",
    )
    claims = (
        Claim(
            "A soft committee machine learns localised fields from two-dimensional data",
            "Fig. 1 right, SCM",
            "localised; criterion: more units than expected by chance above IPR·N = 3",
            _check(SCM),
            put(SCM, "NLGP(100)", "NLGP(0.01)"),
        ),
        Claim(
            "ICA learns localised fields from two-dimensional data",
            "Fig. 1 right, ICA",
            "localised; criterion: more components than expected by chance above IPR·N = 3",
            _check("ICA"),
            put("ICA", "NLGP(100)", "NLGP(0.01)"),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        (side, batch, steps), (ica_side, components, samples) = SIZES[scale]
        return [
            *(
                Committee(
                    task=Nlgp(g=g, dimensions=2, size=side, lengthscales=(1.0, 2.0)),
                    hidden=20,
                    activation="relu",
                    bias=False,
                    init_scale=0.01,
                    rate=3.0,
                    batch=batch,
                    steps=steps,
                )
                for g in (LARGE, SMALL)
            ),
            *(
                Ica(
                    task=Nlgp(g=g, dimensions=2, size=ica_side, lengthscales=(0.5, 0.7)),
                    components=components,
                    samples=samples,
                )
                for g in (LARGE, SMALL)
            ),
        ]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        rows = [row for run, result in results.items() for row in list_units(run, result)]
        return pd.DataFrame(rows).drop(columns="wave")  # that of a ring

    def ideal(self) -> "DataFrame":
        """Either network has localised fields, and none on Gaussian data."""
        import pandas as pd

        data = {"NLGP(100)": 20.0, "NLGP(0.01)": 2.0}
        units = [row for network in (SCM, "ICA") for name, ipr in data.items() for row in imagine(network, name, ipr)]
        return pd.DataFrame(units).drop(columns="wave")

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1.2 * SHOWN, 1.35 * len(results)), layout="constrained")
        rows = figure.subplots(len(results), SHOWN, squeeze=False)
        for axes, (run, result) in zip(rows, results.items(), strict=True):
            assert isinstance(run, Committee | Ica)
            assert isinstance(run.task, Nlgp)
            fields = fields_of(run, result)
            local = numbers(pick(table, name_network(run), run.task.title))
            for axis, field, value in zip(axes, fields, local, strict=False):
                reach = float(field.abs().max())
                axis.imshow(field.view(run.task.shape).numpy(), cmap="RdBu_r", vmin=-reach, vmax=reach)
                axis.set(xticks=[], yticks=[])
                axis.set_title(f"{value:.1f}", pad=2)
            axes[0].set_ylabel(f"{name_network(run)}\n{run.task.title}")
        figure.suptitle("first fields of each network, red positive, blue negative; the number is IPR × N")
        return figure
