"""Fig. 1 of lufkin2024: fields on a square, by a soft committee machine and by ICA."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.papers import Frame, Item, Scale, Verdict, claim, numbers, replace_rows, rows
from prunefield.papers.lufkin2024._units import (
    imagine_units,
    judge_local,
    list_weights,
    name_data,
    name_network,
    tabulate_units,
)
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.ica import Ica
from prunefield.tasks.nlgp import Nlgp

SCM, LARGE, SMALL = "soft committee, relu", 100.0, 0.01
SHOWN = 8
# For each scale: side, batch and steps of the committee; side, components and samples of ICA.
SIZES: dict[Scale, tuple[tuple[int, int, int], tuple[int, int, int]]] = {
    "smoke": ((10, 250, 700), (8, 20, 10_000)),
    "laptop": ((16, 1000, 3000), (12, 45, 100_000)),
    "paper": ((30, 10_000, 10_000), (16, 80, 100_000)),
}


class Fig1(Item):
    """Figure 1, right, of lufkin2024: fields learnt from two-dimensional NLGP data by ICA and by a soft committee."""

    title = "Fields on a square, by a soft committee machine and by ICA"
    size = (9.6, 5.4)
    open_choices = (
        "committee: 30 × 30 sites, lengthscales 1 and 2, K = 20 ReLU units without bias, scale 0.01, rate 3, batch and "
        "steps 10,000 (the authors' code); 10 × 10, 250, 700 at smoke scale and 16 × 16, 1,000, 3,000 at laptop scale",
        "ICA: 16 × 16 sites, lengthscales 0.5 and 0.7, 80 components of 100,000 samples (the authors' code); 8 × 8, "
        "20 of 10,000 at smoke scale and 12 × 12, 45 of 100,000 at laptop scale, about the same fraction of the sites",
        "the size of ICA at smoke scale was chosen after trials: 20 components of 10 × 10 sites from 5,000 samples, "
        "and 80 of 16 × 16 from 20,000, had a median IPR·N of 3; ICA needs many samples for each site",
        "g = 100 as in the authors' code; g = 0.01, where the data are Gaussian, is the null",
        "the paper shows 8 hand-picked units, this item the first 8; the sign test of fig6 uses all of them",
        "the measured fields and the AlexNet kernels in the rest of the figure come from other authors and are not "
        "computed",
    )

    def runs(self, scale: Scale) -> list[Run]:
        (side, batch, steps), (ica_side, components, samples) = SIZES[scale]
        wide, narrow = (
            [Nlgp(g=g, dimensions=2, size=size, lengthscales=lengths) for g in (LARGE, SMALL)]
            for size, lengths in ((side, (1.0, 2.0)), (ica_side, (0.5, 0.7)))
        )
        units: dict[str, Any] = {"hidden": 20, "activation": "relu", "bias": False, "init_scale": 0.01, "lr": 3.0}
        return [
            *(Committee(task=task, batch_size=batch, steps=steps, **units) for task in wide),
            *(Ica(task=task, components=components, samples=samples) for task in narrow),
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_units(results).drop(columns="wave")  # that of a ring

    def ideal(self) -> Frame:
        """Either network has localised fields, and none on Gaussian data."""
        data = {"NLGP(100)": 20.0, "NLGP(0.01)": 2.0}
        units = [
            row for network in (SCM, "ICA") for name, ipr in data.items() for row in imagine_units(network, name, ipr)
        ]
        return DataFrame(units).drop(columns="wave")

    @claim(
        "{name} learns localised fields from two-dimensional data",
        at="Fig. 1 right, {short}",
        expect="localised; criterion: more {units} than expected by chance above IPR·N = 3",
        null=replace_rows({"data": "NLGP(100)"}, by={"data": "NLGP(0.01)"}),
        each=[
            {"name": "A soft committee machine", "short": "SCM", "network": SCM, "units": "units"},
            {"name": "ICA", "short": "ICA", "network": "ICA", "units": "components"},
        ],
    )
    def localised(table: Frame, network: str, **_: str) -> Verdict:
        return judge_local(rows(table, network=network, data="NLGP(100)"))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for row, (run, result) in zip(figure.subplots(len(results), SHOWN), results.items(), strict=True):
            assert isinstance(run, Committee | Ica)
            local = numbers(rows(table, network=name_network(run), data=name_data(run)), "ipr_n")
            for axes, field, value in zip(row, list_weights(run, result), local, strict=False):
                reach = float(field.abs().max())
                axes.imshow(field.view(run.task.shape).numpy(), cmap="RdBu_r", vmin=-reach, vmax=reach)
                axes.set(xticks=[], yticks=[])
                axes.set_title(f"{value:.1f}", pad=2)
            row[0].set_ylabel(f"{name_network(run)}\n{name_data(run)}".replace(", ", ",\n"), fontsize="small")
        figure.suptitle("first fields: red positive, blue negative; the number is IPR × N (1 flat, 3 noise)")
