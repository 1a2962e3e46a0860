"""Lemma 3.1 of lufkin2024: Eq. 5 against the true gradient, by sampling."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Item, Scale
from prunefield.papers._rows import rows
from prunefield.papers.lufkin2024._lemma3_1_claims import BINARY, CLAIMS, GAUSSIAN, LARGE, SMALL, relate_errors
from prunefield.papers.lufkin2024.fig3 import RATE, STEPS
from prunefield.papers.lufkin2024.fig3 import SIZES as FIG3
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.gradient import Gradient
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

TIMES = (0.0, 5.0, 10.0, 20.0, 40.0, 70.0, 100.0)
BLUE, GREEN, RED = "#0072B2", "#009E73", "#D55E00"
SIZES = (10, 20, 40, 80, 160)  # N
SAMPLES: dict[Scale, int] = {"smoke": 80_000, "laptop": 400_000, "paper": 8_000_000}
FEWEST = 240_000  # for the neuron with many sites: three times its noise must be below what is to be seen, 0.0985


class Lemma3_1(Item):
    """Lemma 3.1 and Appendices C.1, C.2 of lufkin2024: Eq. 5 is the gradient of a neuron's loss, early and for large N.

    Gradients are sample means over both classes, at the weights that a simulated neuron of Fig. 3 (Ising) has over
    time, on Ising and on Gaussian data; at those of a neuron with more sites; and at initial weights for a ladder of N.
    """

    title = "Eq. 5 against the true gradient of the loss"
    open_choices = (
        "errors are relative to the first term ½φ of Eq. 5, the only one that is approximated, and free of sampling "
        "bias (the sample is split in two halves)",
        "the weights are those of fig3's neuron on Ising data, N = 40, and of a similar one with N = 160; 'Gaussian' "
        "is NLGP(0.01); the fields of a neuron share one data stream and all fields share one sample; n counts "
        "initialisations",
        "'early and large N' means N = 40 at the initial weights: an error of at most 10 %; 'vanishing with N' an "
        "error halved, or lost in the noise, from N = 10 to 160; 'breaking down' an error at N = 160 of three times "
        "the initial one that is not halved from N = 40 to 160; 'localised' means IPR ≥ 0.15 for both",
        "changed after numbers had been seen: the factor of three was first required at N = 40, where initial "
        "weights have 0.041 and even w = one site, by its closed form, only 0.0985, so that only one verdict was "
        "possible; the factor was kept and the larger N added, where initial weights have about 0.01; IPR ≥ 0.15 "
        "replaced IPR·N ≥ 6, which is the same at N = 40 and weaker at N = 160",
        "a first estimate of the noise treated sites as independent and failed the Gaussian claim at laptop scale "
        "(5.1 standard deviations); it was corrected and the limit of 4 kept. Samples at smoke scale were raised "
        "from 24,000 to 80,000",
    )
    claims = CLAIMS

    def runs(self, scale: Scale) -> list[Run]:
        inits, (batch, *_), _, records = FIG3[scale]
        small, large = (
            Neuron(task=task, inits=inits, rate=RATE, batch=batch, steps=STEPS, record_every=STEPS // records)
            for task in (Ising(size=SMALL), Ising(size=LARGE))
        )
        samples = SAMPLES[scale]
        along: list[Run] = [
            Gradient(of=small, task=task, samples=samples, times=TIMES) for task in (small.task, Nlgp(g=0.01))
        ]
        along.append(Gradient(of=large, task=large.task, samples=max(samples, FEWEST), times=TIMES))
        for size in SIZES:
            task = Ising(size=size)
            start = Flow(task=task, inits=32, time=1.0, record_every=1.0)
            along.append(Gradient(of=start, task=task, samples=samples))
        return along

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        fields = []
        for run, result in results.items():
            if not isinstance(run, Gradient):
                continue
            path = "simulated" if isinstance(run.of, Neuron) else "initial"
            known = {"model": run.task.title, "path": path, "size": run.task.size, "samples": run.samples}
            known["one_hot"] = measure_one_hot(run.task) if isinstance(run.task, Ising) else None
            for record in result.records:
                columns = {name: tensor.tolist() for name, tensor in sorted(record.tensors.items())}
                for init in range(len(columns["ipr"])):
                    found = {name: values[init] for name, values in columns.items()}
                    fields.append({**known, "time": record["time"], "init": init, **found})
        return pd.DataFrame(fields)

    def ideal(self) -> "DataFrame":
        """Exact for Gaussian data and with the printed sign; else an error of 2/N, and of 0.3 once w is localised."""
        import pandas as pd

        points = [("initial", BINARY, size, 0.0) for size in SIZES]
        points += [("simulated", BINARY, size, time) for size in (SMALL, LARGE) for time in TIMES]
        points += [("simulated", GAUSSIAN, SMALL, time) for time in TIMES]
        found = []
        for path, model, size, time in points:
            local = time >= 40
            error = 0.0 if model == GAUSSIAN else 0.3 if local else 2 / size
            known = {"path": path, "model": model, "size": size, "time": time, "ipr": 0.8 if local else 3 / size}
            found += [known | {"distance": error**2, "init": init} for init in range(8)]
        return pd.DataFrame(found).assign(samples=400_000, drive=1.0, noise=1e-4, wrong=0.0, one_hot=0.3)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        twin = left.twinx()
        for model, size, colour in ((BINARY, SMALL, BLUE), (BINARY, LARGE, GREEN), (GAUSSIAN, SMALL, RED)):
            chosen = rows(table, model=model, path="simulated", size=size)
            times = sorted(chosen["time"].unique())
            left.plot(times, relate_errors(chosen), "o-", color=colour, label=f"{model} data, N = {size}")
            if model == BINARY:  # the weights are the same
                twin.plot(times, chosen.groupby("time")["ipr"].mean(), ":", color=colour)
        twin.set_ylabel("IPR of the weights (dotted)")
        left.set_xlabel("time at which the weights were taken")
        left.set_ylabel("relative error of Eq. 5")
        left.legend(frameon=False)
        chosen = rows(table, model=BINARY, path="initial")
        right.plot(sorted(chosen["size"].unique()), relate_errors(chosen), "o-", color=BLUE, label="initial weights")
        chosen = rows(table, model=BINARY, path="simulated")
        chosen = rows(chosen, time=chosen["time"].max())
        right.plot([SMALL, LARGE], relate_errors(chosen), "s-", color=GREEN, label="learned weights, t = 100")
        exact = rows(table, model=BINARY).groupby("size")["one_hot"].first()
        right.plot(exact.index, exact, "--", color="#777777", label="one site, exact")
        right.set_xscale("log")
        right.set_xlabel("N, Ising data")
        right.set_ylabel("relative error of Eq. 5")
        right.set_ylim(bottom=0)
        right.legend(frameon=False)
        return figure


def measure_one_hot(task: Ising) -> float:
    """The exact error of Eq. 5 for w = one site k, relative to its first term ½φ(ρ), ρ = Σ₁eₖ.

    E[xᵢ | xₖ] = ρᵢxₖ for spins, so that E[xᵢ 1(xₖ ≥ 0)] = ½ρᵢ; the rest of the gradient is exact. What is left is
    ‖φ(ρ) − ρ‖/‖φ(ρ)‖ with ρ_d = tanh(J)^d up to terms of the order tanh(J)^N: it does not vanish for large N.

    >>> [round(measure_one_hot(Ising(size=size)), 4) for size in (10, 40, 160)]
    [0.1017, 0.0985, 0.0985]
    """
    correlation = task.covariance(1)[0]
    predicted = task.amplifier(correlation)
    return float((predicted - correlation).norm() / predicted.norm())
