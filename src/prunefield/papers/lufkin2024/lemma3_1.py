"""Lemma 3.1 of lufkin2024: Eq. 5 against the true gradient, by sampling."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLUE, GREEN, GREY, PURPLE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.papers.lufkin2024._neurons import SIZES, train_neuron
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.gradient import Gradient
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.nlgp import Nlgp

GAUSSIAN, BINARY = "NLGP(0.01)", "Ising"
SMALL, LARGE = 40, 160  # N of the simulated neurons: Fig. 3's, and one for which o_N(1) is small
LOCAL = 6 / SMALL  # IPR at which a field is localised; Assumption A3 is violated if it does not shrink with N
RISE = 3.0
TIMES = (0.0, 5.0, 10.0, 20.0, 40.0, 70.0, 100.0)
LADDER = (10, 20, 40, 80, 160)  # N
LARGER = 400  # from night scale on
SAMPLES: dict[Scale, int] = {"smoke": 80_000, "laptop": 400_000, "night": 800_000, "paper": 8_000_000}
FEWEST = 240_000  # for the neuron with many sites: three times its noise must be below what is to be seen, 0.0985


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


def describe_errors(run: Gradient, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each field at each time."""
    known = {
        "model": run.task.title,
        "path": "simulated" if isinstance(run.of, Neuron) else "initial",
        "size": run.task.size,
        "samples": run.samples,
        "one_hot": measure_one_hot(run.task) if isinstance(run.task, Ising) else None,
    }
    for record in result.records:
        init = torch.arange(len(record.tensors["ipr"]))
        yield from list_fields(known | {"time": record["time"]}, init=init, **dict(sorted(record.tensors.items())))


def relate_errors(fields: Frame) -> np.ndarray:
    """Relative errors of Eq. 5 for each N and time, from means of squares, as single squares may be negative."""
    means = fields.groupby(["size", "time"])[["distance", "drive"]].mean()
    return np.sqrt(np.clip(means["distance"].to_numpy() / means["drive"].to_numpy(), 0, None))


def list_simulated(table: Frame) -> list[int]:
    """N of the simulated neurons on Ising data, from 40 upwards."""
    return sorted(rows(table, model=BINARY, path="simulated")["size"].unique())


def spoil(table: Frame) -> Frame:
    """The null: a flow that is wrong by a third everywhere, at all N."""
    return table.assign(distance=table["drive"] / 9, wrong=table["drive"])


def hold_errors(table: Frame) -> Frame:
    """The null: at every time the relative error of the initial weights."""
    start = rows(table, time=0).groupby(["model", "path", "size"])[["distance", "drive"]].mean()
    keys = table.set_index(["model", "path", "size"]).index
    return table.assign(distance=table["drive"] * (start["distance"] / start["drive"]).reindex(keys).to_numpy())


class Lemma3_1(Item):
    """Lemma 3.1 and Appendices C.1, C.2 of lufkin2024: Eq. 5 is the gradient of a neuron's loss, early and for large N.

    Gradients are sample means over both classes, at the weights that a simulated neuron of Fig. 3 (Ising) has over
    time, on Ising and on Gaussian data; at those of a neuron with more sites; and at initial weights for a ladder of N.
    """

    title = "Eq. 5 against the true gradient of the loss"
    size = (10, 4.8)
    scales = ("smoke", "laptop", "night", "paper")
    open_choices = (
        "errors are relative to the first term ½φ of Eq. 5, the only one that is approximated, and free of sampling "
        "bias (the sample is split in two halves)",
        "the weights are those of fig3's neuron on Ising data, N = 40, and of a similar one with N = 160; 'Gaussian' "
        "is NLGP(0.01); the fields of a neuron share one data stream and all fields share one sample; n counts "
        "initialisations",
        "'early and large N' means N = 40 at the initial weights: an error of at most 10%; 'vanishing with N' an "
        "error halved, or lost in the noise, from N = 10 to 160; 'breaking down' an error at N = 160 of three times "
        "the initial one that is not halved from N = 40 to 160; 'localised' means IPR ≥ 0.15 for both",
        "from night scale on, N = 400 is added and must meet the criteria of N = 160, too; set before it was run",
        "changed after numbers had been seen: the factor of three was first required at N = 40, where initial "
        "weights have 0.041 and even w = one site, by its closed form, only 0.0985, so that only one verdict was "
        "possible; the factor was kept and the larger N added, where initial weights have about 0.01; IPR ≥ 0.15 "
        "replaced IPR·N ≥ 6, which is the same at N = 40 and weaker at N = 160",
        "a first estimate of the noise treated sites as independent and failed the Gaussian claim at laptop scale "
        "(5.1 standard deviations); it was corrected and the limit of 4 kept. Samples at smoke scale were raised "
        "from 24,000 to 80,000",
    )

    def runs(self, scale: Scale) -> list[Run]:
        known: Scale = "laptop" if scale == "night" else scale  # the neurons are the same
        more = (LARGER,) if scale in ("night", "paper") else ()
        spins = [Ising(size=size) for size in (SMALL, LARGE, *more)]
        small, *large = (train_neuron(task, SIZES[known].ising_batches[0], known) for task in spins)
        samples = SAMPLES[scale]
        starts = [Flow(task=Ising(size=size), inits=32, time=1.0, record_every=1.0) for size in (*LADDER, *more)]
        return [
            *(Gradient(of=small, task=task, samples=samples, times=TIMES) for task in (spins[0], Nlgp(g=0.01))),
            *(
                Gradient(of=run, task=task, samples=max(samples, FEWEST), times=TIMES)
                for run, task in zip(large, spins[1:], strict=True)
            ),
            *(Gradient(of=start, task=start.task, samples=samples) for start in starts),
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_errors, Gradient)

    def ideal(self) -> Frame:
        """Exact for Gaussian data and with the printed sign; else an error of 2/N, and of 0.3 once w is localised."""
        points = [("initial", BINARY, size, 0.0) for size in LADDER]
        points += [("simulated", BINARY, size, time) for size in (SMALL, LARGE) for time in TIMES]
        points += [("simulated", GAUSSIAN, SMALL, time) for time in TIMES]
        found = []
        for path, model, size, time in points:
            local = time >= 40
            error = 0.0 if model == GAUSSIAN else 0.3 if local else 2 / size
            known = {"path": path, "model": model, "size": size, "time": time, "ipr": 0.8 if local else 3 / size}
            found += [known | {"distance": error**2, "init": init} for init in range(8)]
        return DataFrame(found).assign(samples=400_000, drive=1.0, noise=1e-4, wrong=0.0, one_hot=0.3)

    @claim(
        "For Gaussian data Eq. 5 is exact for every w, localised ones included",
        at="Lemma 3.1; §3.1",
        expect="no error beyond sampling noise (4 deviations)",
        null=spoil,
    )
    def exact_for_gaussian_data(table: Frame) -> Verdict:
        fields = rows(table, model=GAUSSIAN, path="simulated")
        # Under the hypothesis each distance has mean 0 and the deviation `noise`; the fields are many, so 4 of it.
        worst = np.abs(numbers(fields, "distance") / numbers(fields, "noise")).max()
        seen = (
            f"distance at most {worst:.1f} times its noise in {len(fields)} fields, IPR·N up to "
            f"{(fields['ipr'] * fields['size']).max():.0f}, with one sample of {fields['samples'].iloc[0]:,}; relative "
            f"error {relate_errors(fields).max():.3f} or less"
        )
        return judge(worst <= 4, seen, fields["init"].nunique())

    @claim("For Ising data Eq. 5 holds early in training", at="Lemma 3.1", expect="error at most 10%", null=spoil)
    def holds_early(table: Frame) -> Verdict:
        fields = rows(table, model=BINARY, path="simulated", size=SMALL, time=0)
        (error,) = relate_errors(fields)
        seen = f"relative error of Eq. 5 at the initial weights, N = {SMALL}: {error:.3f}"
        return judge(error <= 0.1, seen, len(fields))

    @claim("The error of Eq. 5 vanishes as N grows", at="Lemma 3.1, o_N(1)", expect="vanishes as N → ∞", null=spoil)
    def vanishes(table: Frame) -> Verdict:
        fields = rows(table, model=BINARY, path="initial")
        errors, sizes = relate_errors(fields), sorted(fields["size"].unique())
        seen = ", ".join(f"N = {size}: {error:.3f}" for size, error in zip(sizes, errors, strict=True))
        last = rows(fields, size=sizes[-1])
        floor = np.sqrt(last["noise"].mean() / last["drive"].mean() / np.sqrt(fields["init"].nunique()))
        return judge(errors[-1] <= max(errors[0] / 2, floor), f"{seen} (noise floor {floor:.3f})", len(fields))

    @claim(
        "Eq. 5 breaks down once w is localised",
        at="§3.1; Appendix D.1",
        expect="breaks down (criterion: at N = 160 at least 3 times the error of initial weights and at least half "
        "that at N = 40)",
        null=hold_errors,
    )
    def breaks_down(table: Frame) -> Verdict:
        """Once w is localised, is the error far above that of initial weights, and no smaller for large N?

        The factor is required at the N where initial weights have almost no error. At N = 40 theirs is 0.041, and even
        w = one site, the most localised of all, has only 0.0985 there, at every N.
        """
        errors, ipr, floors, seen, sizes = {}, {}, {}, [], list_simulated(table)
        for size in sizes:
            fields = rows(table, model=BINARY, path="simulated", size=size)
            errors[size], ipr[size] = relate_errors(fields), fields.groupby("time")["ipr"].mean()
            path = zip(ipr[size].items(), errors[size], strict=True)
            seen.append(f"N = {size}: " + ", ".join(f"t = {t:g} (IPR {p:.2f}) {e:.3f}" for (t, p), e in path))
            first = rows(fields, time=0)
            # All fields see the same sample, so their noise may be the same and does not average out.
            floors[size] = np.sqrt(first["noise"].mean() / first["drive"].mean())
        local = min(path.iloc[-1] for path in ipr.values()) >= LOCAL
        least = {size: max(RISE * errors[size][0], RISE * floors[size], errors[SMALL][-1] / 2) for size in sizes[1:]}
        far = all(errors[size][-1] >= limit for size, limit in least.items())
        floor = ", ".join(f"{floors[size]:.3f}" for size in sizes[1:])
        last = rows(table, model=BINARY, path="simulated", size=sizes[-1])
        note = f"w = one site has exactly {last['one_hot'].iloc[0]:.4f}; noise floor at the start {floor}."
        return judge(local and far, "; ".join(seen), last["init"].nunique(), note)

    @claim(
        "∇L = 2E[Y 1(⟨w,X⟩ ≥ 0)X] + (1/K)Σ Σ_y w",
        at="Appendix C.1",
        expect="a plus sign before the first term",
        null=spoil,
    )
    def plus(table: Frame) -> Verdict:
        fields = rows(table, path="simulated", size=SMALL, time=0)
        means = fields.groupby("model")[["distance", "wrong", "drive"]].mean().clip(lower=0)
        right, printed = (np.sqrt(means[name] / means["drive"]) for name in ("distance", "wrong"))
        parts = [f"{of}: as printed {printed[of]:.2f}, with a minus {right[of]:.3f}" for of in means.index]
        seen = "; ".join(["relative error of ∇L at the initial weights", *parts])
        note = (
            "∇L has −2E[Y 1(⟨w,X⟩ ≥ 0)X]; with the printed + the neuron would move away from its target. Eq. 10 "
            "follows from the minus, but sums the covariances over y = 1..K instead of 0..K−1."
        )
        return judge(printed.max() <= 0.1, seen, len(fields), note, corrected=right.max() <= 0.1)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        twin = left.twinx()
        sizes = list_simulated(table)
        shown = [(BINARY, size, colour) for size, colour in zip(sizes, (BLUE, GREEN, PURPLE), strict=False)]
        for model, size, colour in (*shown, (GAUSSIAN, SMALL, VERMILION)):
            fields = rows(table, model=model, path="simulated", size=size)
            left.plot(TIMES, relate_errors(fields), "o-", color=colour, label=f"{model} data, N = {size}")
            if model == BINARY:  # the weights are the same
                twin.plot(TIMES, fields.groupby("time")["ipr"].mean(), ":", color=colour)
        left.plot([], [], ":", color=GREY, label="IPR of the weights, in\nthe colour of N (right axis)")
        twin.set_ylabel("IPR of the weights")
        twin.spines["right"].set_visible(True)
        left.set(xlabel="time at which the weights were taken", ylabel="relative error of Eq. 5")
        known = rows(table, model=BINARY)
        start, end = rows(known, path="initial", time=0), rows(known, path="simulated", time=100)
        ladder = sorted(start["size"].unique())
        right.plot(ladder, relate_errors(start), "o-", color=BLUE, label="initial weights")
        right.plot(sizes, relate_errors(end), "s-", color=GREEN, label="learned weights, t = 100")
        right.plot(known.groupby("size")["one_hot"].first(), "--", color=GREY, label="one site, exact")
        right.set(xscale="log", xlabel="N, Ising data", ylabel="relative error of Eq. 5", ylim=(0, None))
        right.set_xticks(ladder, list(map(str, ladder)))
        right.minorticks_off()
        left.legend(loc="center right")
        right.legend()
