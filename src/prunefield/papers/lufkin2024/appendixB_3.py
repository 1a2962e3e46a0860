"""Appendix B.3 of lufkin2024: Gaussian equivalence against conditioning on one pixel."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, replace_rows, rows
from prunefield.papers._kit import BLACK, BLUE, GREY, VERMILION
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE, list_fields
from prunefield.papers.lufkin2024.section4_2 import TASKS, Section4_2
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron

SOURCES = {"simulated": BLUE, "Eq. 5": VERMILION, "Gaussian equivalence": BLACK}
EQUIVALENT = "Gaussian equivalence"


def name_source(run: Neuron | Flow) -> str:
    if isinstance(run, Neuron):
        return "simulated"
    return EQUIVALENT if run.amplifier == "gaussian" else "Eq. 5"


def measure_end(run: Neuron | Flow, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each initialisation."""
    w = result.records[-1].tensors["weights"]
    known = {"model": run.task.title, "source": name_source(run), "size": run.task.sites}
    return list_fields(known, init=torch.arange(run.inits), ipr_n=compute_ipr(w) * run.task.sites)


class AppendixB_3(Item):
    """Appendix B.3 of lufkin2024: a Gaussian preactivation, conditioned on a pixel (Eq. 5) or not, and simulations."""

    title = "Gaussian equivalence against conditioning on one pixel"
    size = (9, 4.6)
    open_choices = (
        "Gaussian equivalence replaces ⟨w, X⟩ and X by Gaussian variables with the same covariances before the loss is "
        "differentiated, so that φ(a) is √(2/π)a whatever the data; Eq. 5 conditions on one pixel first",
        "the neurons and flows of section4.2; criteria of fig3: local is IPR × N ≥ 6, not local ≤ 3, in every field",
    )

    def runs(self, scale: Scale) -> list[Run]:
        shared = [
            run
            for run in Section4_2().runs(scale)
            if (isinstance(run, Neuron) and run.symmetric and not run.stream)
            or (isinstance(run, Flow) and run.amplifier == "exact")
        ]
        flows = [run for run in shared if isinstance(run, Flow)]
        return [*shared, *(flow.model_copy(update={"amplifier": "gaussian"}) for flow in flows)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, measure_end, (Neuron, Flow))

    def ideal(self) -> Frame:
        """Only Gaussian equivalence misses that fields are local."""
        cells = product((task.title for task in TASKS), SOURCES, range(28))
        table = DataFrame(cells, columns=["model", "source", "init"]).assign(size=40)
        return table.assign(ipr_n=table["source"].map(lambda source: 1.2 if source == EQUIVALENT else 15.0))

    @claim(
        "Gaussian equivalence does not capture the localisation that Eq. 5 and simulations show on {model} data",
        at="Appendix B.3",
        expect="not localised (IPR·N ≤ 3) against localised (≥ 6)",
        null=replace_rows({"source": EQUIVALENT}, by={"source": "Eq. 5"}),
        each=[{"model": task.title} for task in TASKS],
    )
    def misses(table: Frame, model: str) -> Verdict:
        parts = {source: numbers(rows(table, model=model, source=source), "ipr_n") for source in SOURCES}
        seen = "; ".join(f"{source} {part.min():.2f}–{part.max():.2f}" for source, part in parts.items())
        good = parts[EQUIVALENT].max() <= NOISE and min(parts[name].min() for name in ("simulated", "Eq. 5")) >= LOCAL
        return judge(good, f"IPR·N at the end: {seen}", len(parts[EQUIVALENT]))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for axes, task in zip(figure.subplots(1, len(TASKS)), TASKS, strict=True):
            axes.axhline(0, color=GREY, linewidth=0.5)
            for run, result in results.items():
                if isinstance(run, Neuron | Flow) and run.task == task:
                    source = name_source(run)
                    axes.plot(result.records[-1].tensors["weights"][0], color=SOURCES[source], label=source)
            axes.set(title=f"{task.title}, first initialisation", xlabel="site i")
        figure.axes[0].set_ylabel("weight at the end")
        figure.axes[0].legend()
        figure.suptitle(
            "all from the same initial weights; where two sites compete, simulation and Eq. 5 may choose differently",
            fontsize="small",
        )
