"""The item `lufkin2024/lemma3.1`: Eq. 5 against the true gradient, by sampling."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
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
SIZES = (10, 20, 40, 80, 160)  # N
SAMPLES: dict[Scale, int] = {"smoke": 80_000, "laptop": 400_000, "paper": 8_000_000}
GAUSSIAN, BINARY = "NLGP(0.01)", "Ising"


def _errors(chosen: "DataFrame") -> np.ndarray:
    """Relative errors of Eq. 5 over first weights, from means of squares, as single squares may be negative."""
    means = chosen.pivot_table(index=["size", "time"], values=["distance", "drive"])
    return np.sqrt(np.clip(means["distance"].to_numpy() / means["drive"].to_numpy(), 0, None))


def _check_gaussian(table: "DataFrame") -> Verdict:
    chosen = rows(table, model=GAUSSIAN, path="simulated")
    # Under the hypothesis each distance has mean 0 and the deviation `noise`; the fields are many, so 4 of it.
    worst = float(np.abs(chosen["distance"] / chosen["noise"]).max())
    seen = f"distance at most {worst:.1f} of its noise; relative error {_errors(chosen).max():.3f} or less, IPR·N up "
    seen += f"to {(chosen['ipr'] * chosen['size']).max():.0f}"
    return Verdict("reproduced" if worst <= 4 else "not reproduced", seen, len(chosen))


def _check_early(table: "DataFrame") -> Verdict:
    chosen = rows(table, model=BINARY, path="simulated", time=0)
    (error,) = _errors(chosen)
    seen = f"relative error of Eq. 5 at the first weights, N = {chosen['size'].iloc[0]}: {error:.3f}"
    return Verdict("reproduced" if error <= 0.1 else "not reproduced", seen, len(chosen))


def _check_vanishing(table: "DataFrame") -> Verdict:
    chosen = rows(table, model=BINARY, path="first")
    errors, sizes = _errors(chosen), sorted(chosen["size"].unique())
    seen = ", ".join(f"N = {size}: {error:.3f}" for size, error in zip(sizes, errors, strict=True))
    means = chosen.pivot_table(index="size", values=["noise", "drive"])
    noise, drive = (column(means, name)[-1] for name in ("noise", "drive"))
    floor = float(np.sqrt(noise / drive / np.sqrt(chosen["init"].nunique())))
    good = errors[-1] <= max(errors[0] / 2, floor)
    return Verdict("reproduced" if good else "not reproduced", f"{seen} (noise floor {floor:.3f})", len(chosen))


def _check_breakdown(table: "DataFrame") -> Verdict:
    chosen = rows(table, model=BINARY, path="simulated")
    errors, times = _errors(chosen), sorted(chosen["time"].unique())
    ipr = chosen.pivot_table(index="time", values="ipr")["ipr"].to_numpy() * chosen["size"].iloc[0]
    seen = ", ".join(f"t = {t:g} (IPR·N {p:.1f}): {e:.2f}" for t, p, e in zip(times, ipr, errors, strict=True))
    good = ipr[-1] >= 6 and errors[-1] >= 3 * max(errors[0], 0.03)
    note = f"The error rises {errors[-1] / errors[0]:.1f} times." if errors[0] > 0 else ""
    return Verdict("reproduced" if good else "not reproduced", f"relative error at {seen}", len(chosen), note)


def _check_sign(table: "DataFrame") -> Verdict:
    chosen = rows(table, path="simulated", time=0)
    means = chosen.pivot_table(index="model", values=["distance", "wrong", "drive"]).clip(lower=0)
    right, printed = (np.sqrt(means[name] / means["drive"]) for name in ("distance", "wrong"))
    seen = "; ".join(
        f"{model}: as printed {printed[model]:.2f}, with a minus {right[model]:.3f}" for model in means.index
    )
    status = "reproduced" if (printed <= 0.1).all() else "corrected" if (right <= 0.1).all() else "not reproduced"
    note = (
        "∇L has −2E[Y 1(⟨w,X⟩ ≥ 0)X]; with the printed + the neuron would flee its target. Eq. 10 follows from the "
        "minus, but sums the covariances over y = 1..K where it must be 0..K−1."
    )
    return Verdict(status, f"relative error of ∇L at the first weights; {seen}", len(chosen), note)


def _spoil(table: "DataFrame") -> "DataFrame":
    """A flow that is wrong by a third everywhere, at all N."""
    return table.assign(distance=table["drive"] / 9, wrong=table["drive"])


class Lemma3_1(Item):
    """Lemma 3.1 and Appendices C.1, C.2 of lufkin2024: Eq. 5 is the gradient of a neuron's loss, early and for large N.

    Gradients are sample means over both classes, at the weights that a simulated neuron of Fig. 3 (Ising) has over
    time, on Ising and on Gaussian data; and at first weights for a ladder of N.
    """

    title = "Eq. 5 against the true gradient of the loss"
    open_choices = (
        "errors are relative to the first term ½φ of Eq. 5, which is all that is approximated, and free of the bias "
        "of sampling (two halves of the sample)",
        "the weights are those of fig3's neuron on Ising data, N = 40; Gaussian is NLGP(0.01)",
        "early and large N is N = 40 at the first weights: an error of at most 10 %; vanishing with N is an error "
        "halved, or lost in the noise, from N = 10 to 160; breaking down is an error three times that of the start",
        "a first estimate of the noise took sites as independent and failed the Gaussian claim at laptop scale (5.1 "
        "deviations); it was mended, the limit of 4 kept. Smoke samples were raised from 24,000 to 80,000",
    )
    claims = (
        Claim(
            "For Gaussian data Eq. 5 is exact for every w, localised ones included",
            "Lemma 3.1; §3.1",
            "no error beyond sampling noise (4 deviations)",
            _check_gaussian,
            _spoil,
        ),
        Claim(
            "For Ising data Eq. 5 holds early in training",
            "Lemma 3.1",
            "o_N(1); here at most 10 %",
            _check_early,
            _spoil,
        ),
        Claim(
            "Its error vanishes as N grows",
            "Lemma 3.1, o_N(1)",
            "vanishes as N → ∞",
            _check_vanishing,
            _spoil,
        ),
        Claim(
            "It breaks down when w is localised",
            "§3.1; Appendix D.1",
            "breaks down",
            _check_breakdown,
            _spoil,
        ),
        Claim(
            "∇L = 2E[Y 1(⟨w,X⟩ ≥ 0)X] + (1/K)Σ Σ_y w",
            "Appendix C.1",
            "a plus before the first term",
            _check_sign,
            _spoil,
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        inits, (batch, *_), _, records = FIG3[scale]
        neuron = Neuron(task=Ising(), inits=inits, rate=RATE, batch=batch, steps=STEPS, record_every=STEPS // records)
        samples = SAMPLES[scale]
        along: list[Run] = [
            Gradient(of=neuron, task=task, samples=samples, times=TIMES) for task in (Ising(), Nlgp(g=0.01))
        ]
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
            path = "simulated" if isinstance(run.of, Neuron) else "first"
            known = {"model": run.task.title, "path": path, "size": run.task.size, "samples": run.samples}
            for record in result.records:
                columns = {name: tensor.tolist() for name, tensor in sorted(record.tensors.items())}
                for init in range(len(columns["ipr"])):
                    found = {name: values[init] for name, values in columns.items()}
                    fields.append({**known, "time": record["time"], "init": init, **found})
        return pd.DataFrame(fields)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        for model, colour in ((BINARY, "#0072B2"), (GAUSSIAN, "#D55E00")):
            chosen = rows(table, model=model, path="simulated")
            left.plot(sorted(chosen["time"].unique()), _errors(chosen), "o-", color=colour, label=f"{model} data")
        twin = left.twinx()
        chosen = rows(table, model=BINARY, path="simulated")
        twin.plot(sorted(chosen["time"].unique()), chosen.groupby("time")["ipr"].mean(), ":", color="#777777")
        twin.set_ylabel("IPR of the weights (dotted)")
        left.set_xlabel("time at which the weights were taken")
        left.set_ylabel("relative error of Eq. 5")
        left.legend(frameon=False)
        chosen = rows(table, model=BINARY, path="first")
        right.plot(sorted(chosen["size"].unique()), _errors(chosen), "o-", color="#0072B2")
        right.set_xscale("log")
        right.set_xlabel("N, Ising data, first weights")
        right.set_ylabel("relative error of Eq. 5")
        right.set_ylim(bottom=0)
        return figure
