"""Section 5 of lufkin2024: fields that are learnt from centre-surround filtered inputs."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from matplotlib.figure import Figure
from pandas import DataFrame
from torch import Tensor

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, numbers, replace_rows, rows
from prunefield.papers._kit import BLUE, GREY, VERMILION
from prunefield.papers.lufkin2024._fields import NOISE, list_fields
from prunefield.papers.lufkin2024._units import judge_signs, show_median_range
from prunefield.runs import Result, Run
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp
from prunefield.tasks.surround import Surround

CASES = [{"data": task.title} for task in (Ising(), Nlgp(g=100.0))]
DEEP = 0.1  # of the peak: a subfield
# For each scale: sites, initialisations, examples of a batch, rate, steps.
SIZES: dict[Scale, tuple[int, int, int, float, int]] = {
    "smoke": (40, 4, 20, 0.2, 300),
    "laptop": (40, 28, 50, 0.2, 2500),
    "night": (160, 28, 50, 0.2, 2500),
    "paper": (160, 28, 500, 0.05, 20_000),
}


def measure_depth(fields: Tensor) -> Tensor:
    """The largest weight of the sign opposite to the peak's, over the peak, for fields (n, N); 0 if all have one sign.

    >>> measure_depth(torch.tensor([[0.0, -4.0, 1.0], [1.0, 2.0, 0.5]])).tolist()
    [0.25, 0.0]
    """
    peak = fields.gather(1, fields.abs().argmax(1, keepdim=True))
    return (-fields / peak).amax(1).clamp(min=0)


def describe_neuron(run: Neuron, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each initialisation."""
    weights = result.records[-1].tensors["weights"]
    is_filtered = isinstance(run.task, Surround)
    known = {"data": (run.task.of if isinstance(run.task, Surround) else run.task).title, "filtered": is_filtered}
    ipr = compute_ipr(weights) * run.task.sites
    return list_fields(known, init=torch.arange(run.inits), ipr_n=ipr, depth=measure_depth(weights))


class Section5(Item):
    """Section 5 of lufkin2024: on-centre off-surround filtering gives fields with subfields, 'in our simulations'."""

    title = "Fields learnt from centre-surround filtered inputs"
    size = (9, 6)
    scales = tuple(SIZES)
    open_choices = (
        "the paper shows no such field and gives no filter: ours is one site minus a Gaussian surround of standard "
        "deviation 2 sites with the same sum",
        "single neurons on Ising and NLGP(100) data, N = 40, to t = 500; symmetric batches of 50; from night scale on "
        "N = 160, as a field with its flanks fills a ring of 40 sites, which laptop scale had shown: it no longer "
        "decides. Nothing else was changed, and this was written before N = 160 was run",
        "a subfield is a part of the field with the opposite sign and at least a tenth of the peak; noise and waves "
        "have such parts, too, so the field must also be above the IPR × N of noise. Set before anything was run",
        "smoke scale trains for too short a time to decide",
    )

    def runs(self, scale: Scale) -> list[Run]:
        sites, inits, batch, rate, steps = SIZES[scale]
        return [
            Neuron(
                task=task, inits=inits, batch_size=batch, lr=rate, steps=steps, record_every=steps // 2, symmetric=True
            )
            for plain in (Ising(size=sites), Nlgp(g=100.0, size=sites))
            for task in (plain, Surround(of=plain))
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_neuron, Neuron)

    def ideal(self) -> Frame:
        """Local fields, with subfields if the inputs are filtered."""
        return DataFrame(
            [
                {**case, "filtered": filtered, "init": init, "ipr_n": 20.0, "depth": 0.3 * filtered}
                for case in CASES
                for filtered in (False, True)
                for init in range(10)
            ]
        )

    @claim(
        "Fields learnt from centre-surround filtered {data} data have subfields",
        at="§5",
        expect="subfields; criterion: more initialisations than expected by chance with IPR·N > 3 and a part of the "
        "opposite sign of at least 0.1 of the peak",
        null=replace_rows({"filtered": True}, by={"filtered": False}),
        each=CASES,
        decided_at="night",
    )
    def subfields(table: Frame, data: str) -> Verdict:
        fields, plain = (rows(table, data=data, filtered=filtered) for filtered in (True, False))
        ipr, depth = numbers(fields, "ipr_n"), numbers(fields, "depth")
        note = (
            f"not filtered: IPR·N {show_median_range(numbers(plain, 'ipr_n'))}, the opposite sign up to "
            f"{numbers(plain, 'depth').max():.2f} of the peak"
        )
        seen = f"IPR·N {show_median_range(ipr)}, the opposite sign {depth.min():.2f} to {depth.max():.2f} of the peak"
        return judge_signs((ipr > NOISE) & (depth >= DEEP), seen, note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for axes, (run, result) in zip(figure.subplots(2, 2).flat, results.items(), strict=True):
            assert isinstance(run, Neuron)
            fields = result.records[-1].tensors["weights"]
            peaks = fields.abs().argmax(1)
            for field, peak in zip(fields, peaks, strict=True):
                centred = field.roll(len(field) // 2 - int(peak)) / field[peak]
                colour = VERMILION if isinstance(run.task, Surround) else BLUE
                axes.plot(torch.arange(len(field)) - len(field) // 2, centred, color=colour, linewidth=0.8)
            axes.axhline(0, color=GREY, linewidth=0.5)
            axes.set(title=run.task.title, xlabel="sites from the peak")
        for axes in figure.axes[::2]:
            axes.set_ylabel("weight ÷ that of the peak")
