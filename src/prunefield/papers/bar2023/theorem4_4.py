"""Theorem 4.4 of bar2023: the error of a mask made at initialisation and applied after training."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame, Series, concat

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, ORANGE, SKY, VERMILION, Row
from prunefield.papers.bar2023._cases import swap_errors_and_bounds
from prunefield.runs import Result, Run
from prunefield.runs.enumeration import Enumeration
from prunefield.runs.sketch import Sketch

TAUS = (0.0, 0.1, 0.5, 1.0, 2.0)
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
BOUNDS = {
    "printed": ("Theorem 4.4 as printed", VERMILION),
    "sum": ("corrected, sum", GREEN),
    "minimum": ("corrected, minimum", BLUE),
}
FAILURES = {bound: f"{bound}_failures" for bound in BOUNDS}
PAIR = ["start", "end", "examples"]
swap = partial(swap_errors_and_bounds, failures=FAILURES)


def tabulate_errors(run: Run, result: Result) -> list[Row]:
    source = "draws" if isinstance(run, Sketch) else "enumeration"
    settings = {key: str(value) if isinstance(value, tuple) else value for key, value in run.model_dump().items()}
    return [{"source": source, **settings, **values} for values in result.values]


def list_rates(table: Frame, name: str) -> str:
    """Percentages of draws by dimension, one for each distance: "d=10: 4/30/52/78%"."""
    rates = 100 * table[name] / table["draws"]
    parts = (
        f"d={d:.0f}: {'/'.join(f'{rate:.0f}' for rate in rates[group.index])}%"
        for d, group in table.sort_values("tau").groupby("dimension")
    )
    return ", ".join(parts)


def list_distances(table: Frame) -> str:
    return "τ=" + "/".join(f"{tau:g}" for tau in sorted(table["tau"].unique()))


def judge_counts(broken: Mapping[str, int], observed: str, n: int) -> Verdict:
    """The verdict, from how often each bound is violated."""
    good, fixed = not broken["printed"], not broken["sum"] and not broken["minimum"]
    note = (
        "the proof bounds Σ Δ_k²/|w0_k| from above by ‖Δ‖²/‖w0‖_∞, which is never larger; with that sum (and c_n in "
        "front), or with min|w0_k| instead of ‖w0‖_∞, the bound holds"
    )
    return judge(good, observed, n, note if fixed and not good else "", corrected=fixed)


class Theorem4_4(Item):
    """bar2023, Theorem 4.4 with Lemma 4.5: the bound on the error of sketched masks on weights that have moved."""

    title = "Theorem 4.4: the error of a mask made from w0 and applied to w⋆"
    size = (10, 7.4)
    open_choices = (
        "Weights: the theorem is stated for any; w0 ~ N(0, I), w⋆ = w0 + τ·N(0, I), n = 128, and hand-made pairs "
        "were chosen; all τ have the same w0 and the same direction of w⋆ − w0.",
        "Inputs: as in the proof, the mask is made from the X on which the error is measured; the statement is silent.",
        "Weights with w0_k = 0, for which the mask is biased, are excluded by the proof but not by the statement.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        largest, draws = {"smoke": (3, 400), "laptop": (4, 4000), "paper": (4, 20_000)}[scale]
        matrices = {"smoke": 20_000, "laptop": 200_000, "paper": 1_000_000}[scale]
        sketches = [Sketch(dimension=10**k, tau=tau, draws=draws) for k in range(1, largest + 1) for tau in TAUS]
        pairs = [((1.0, epsilon), (1.0, 1.0), n, 1) for epsilon in EPSILONS for n in (1, 8)]
        pairs += [((1.0, 0.05), (1.0, 1.0), 4, s) for s in (1, 2, 4)]
        triples = [((1.0, -0.5, 0.2), (0.5, 1.0, -1.0), 2, s) for s in (1, 2, 3)]
        enumerations = [
            Enumeration(start=start, end=end, examples=n, kept=s, nodes=24, draws=matrices, seed=seed)
            for seed, (start, end, n, s) in enumerate([*pairs, *triples])
        ]
        return [*sketches, *enumerations]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, tabulate_errors, Run)

    def ideal(self) -> Frame:
        """No failures, 1/d of the uniform error and bound at w⋆ = w0, and the error of the proof, 4/s."""
        draws = DataFrame([(d, tau) for d in (10, 100, 1000) for tau in TAUS], columns=["dimension", "tau"])
        draws = draws.assign(source="draws", draws=400, printed_ratio_max=0.9, **dict.fromkeys(FAILURES.values(), 0))
        ratio, moved = 1 / draws["dimension"], draws["tau"] > 0  # p0 need not be optimal once weights have moved
        draws = draws.assign(bounds_ratio_median=ratio, uniform_ratio_median=ratio, uniform_losses=200 * moved)
        s = Series([1, 2, 4])
        errors = {"enumerated": 4, "proof": 4, "exact": 3, "sampled": 3, "enumerated_uniform": 2}
        bounds = {"printed": 5, "sum": 6, "minimum": 7}
        made = DataFrame({"kept": s} | {name: error / s for name, error in (errors | bounds).items()})
        made = made.assign(source="enumeration", start="", end="", examples=4, sampled_spread=1.0)
        return concat([draws, made], ignore_index=True)

    @claim(
        "The error is at most (1/s)·‖w0‖₁·(‖w⋆−w0‖²/‖w0‖_∞ + 2‖w⋆−w0‖₁ + ‖w0‖₁), for all w0, w⋆ and s",
        at="Theorem 4.4",
        expect="no counterexample",
        null=swap,
        highlight=True,
    )
    def holds_for_given_weights(table: Frame) -> Verdict:
        made = rows(table, source="enumeration")
        broken = {bound: (made["enumerated"] > made[bound] * (1 + 1e-9)).sum() for bound in BOUNDS}
        worst = made.loc[(made["enumerated"] / made["printed"]).idxmax()]
        alike = rows(made, start=worst["start"], end=worst["end"], kept=worst["kept"])
        errors = ", ".join(f"{case.enumerated:.2f} at n={case.examples:.0f}" for case in alike.itertuples())
        seen = (
            f"w0={worst['start']}, w⋆={worst['end']}, s={worst['kept']:.0f}: error {errors}; printed bound "
            f"{worst['printed']:.3f}, corrected {worst['minimum']:.2f} (with the sum {worst['sum']:.2f}); "
            f"the printed bound is violated in {broken['printed']} of {len(made)} cases, the corrected ones in "
            f"{broken['minimum']} and {broken['sum']}"
        )
        return judge_counts(broken, seen, len(made))

    @claim(
        "The bound also holds for random weights of any dimension, however far they move",
        at="Theorem 4.4",
        expect="0% failures",
        null=swap,
    )
    def holds_for_random_weights(table: Frame) -> Verdict:
        moved = rows(table, source="draws", tau=TAUS[1:])
        broken, n = {bound: int(moved[name].sum()) for bound, name in FAILURES.items()}, int(moved["draws"].sum())
        seen = (
            f"the printed bound fails in {list_rates(moved, 'printed_failures')} of draws for {list_distances(moved)}, "
            f"the corrected ones in {broken['sum']} and {broken['minimum']} of {n}"
        )
        return judge_counts(broken, seen, n)

    @claim("The bound holds where the weights have not moved", at="Theorem 4.4", expect="0 failures", null=swap)
    def holds_at_start(table: Frame) -> Verdict:
        start = rows(table, source="draws", tau=0.0)
        failures, n = start[["printed_failures", "draws"]].sum()
        largest = start["printed_ratio_max"].max()
        seen = f"{failures:.0f} failures in {n:.0f} draws; the error is at most {largest:.3f} times the bound"
        return judge(failures == 0, seen, n)

    @claim(
        "The mean error is (1/s)·Σ_k[w⋆_k² + c_n·(w⋆_k²/|w0_k|)·Σ_{j≠k}|w0_j|], c_n = (2/n)·Γ((n+1)/2)²/Γ(n/2)²",
        at="Appendix B.4",
        expect="equal to full enumeration",
        null=lambda table: table.assign(enumerated=table["enumerated_uniform"]),
    )
    def closed_form(table: Frame) -> Verdict:
        made = rows(table, source="enumeration")
        printed, right = ((made["enumerated"] / made[name] - 1).abs().max() for name in ("proof", "exact"))
        spread = ((made["sampled"] - made["exact"]).abs() / made["sampled_spread"]).max()
        seen = (
            f"largest relative gap to enumeration {printed:.2g} as printed, {right:.0e} with −‖w⋆‖²/s; "
            f"with drawn X within {spread:.1f} standard errors"
        )
        note = "the printed = is a ≤: it drops −‖w⋆‖²/s; the exact mean is (c_n/s)·(‖w0‖₁·Σ w⋆_k²/|w0_k| − ‖w⋆‖²)"
        good = printed < 1e-8
        return judge(good, seen, len(made), "" if good else note, corrected=right < 1e-8 and spread < 5)

    @claim(
        "The uniform mask has an additional dimension factor d that is avoided in Theorem 4.4",
        at="Section 4, after Lemma 4.5",
        expect="ratio to uniform falls as d^-1",
        null=lambda table: table.assign(bounds_ratio_median=1.0, uniform_ratio_median=1.0),
    )
    def dimension_factor(table: Frame) -> Verdict:
        start = rows(table, source="draws", tau=0.0).sort_values("dimension")
        d, ratios = numbers(start, "dimension"), start[["bounds_ratio_median", "uniform_ratio_median"]].to_numpy(float)
        slopes, (bound, error) = np.polyfit(np.log(d), np.log(ratios), 1)[0], ratios[-1]
        seen = (
            f"at w⋆=w0 and d={d[-1]:.0f} the bound is {bound:.3f} and the error {error:.3f} of the uniform one; "
            f"they change as d^{slopes[0]:.2f} and d^{slopes[1]:.2f}"
        )
        note = "for Gaussian weights ‖w0‖₁² ≈ (2/π)·d·‖w0‖²: the factor d remains, and the only gain is 2/π ≈ 0.637"
        return judge(slopes.max() < -0.5, seen, start["draws"].sum(), note)

    @claim(
        "p0 is the optimal probability for sampling the mask at initialisation",
        at="Section 4",
        expect="never worse than uniform",
        null=lambda table: rows(table, tau=TAUS[-1]).assign(tau=0.0),  # the farthest weights as the initial ones
    )
    def optimal_at_start(table: Frame) -> Verdict:
        start, moved = rows(table, source="draws", tau=0.0), rows(table, source="draws", tau=TAUS[1:])
        losses, n = start[["uniform_losses", "draws"]].sum()
        seen = f"p0 loses to uniform probabilities in {losses:.0f} of {n:.0f} draws at w⋆=w0"
        note = f"only there: for {list_distances(moved)} p0 loses in {list_rates(moved, 'uniform_losses')} of draws"
        return judge(losses == 0, seen, n, note)

    @claim(
        "The error is proportional to 1/s",
        at="Section 4",
        expect="s·error constant",
        null=lambda table: table.assign(enumerated=table.groupby(PAIR)["enumerated"].transform("min")),  # for every s
    )
    def inverse_to_s(table: Frame) -> Verdict:
        groups = [group for _, group in rows(table, source="enumeration").groupby(PAIR) if len(group) >= 3]
        scaled = [group["enumerated"] * group["kept"] for group in groups]
        gap = max((errors / errors.mean() - 1).abs().max() for errors in scaled)
        seen = f"s·error is constant to {gap:.0e} for s from 1 to {max(group['kept'].max() for group in groups):.0f}"
        return judge(gap < 1e-8, seen, sum(map(len, groups)))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        (rates, family), (cloud, legends) = figure.subplots(2, 2)
        distances = rows(table, source="draws").groupby("tau")
        for (tau, group), colour, marker in zip(
            distances, (BLACK, SKY, GREEN, ORANGE, VERMILION), "osD^v", strict=True
        ):
            share = 100 * group["printed_failures"] / group["draws"]
            rates.plot(group["dimension"], share, color=colour, marker=marker, label=f"τ = {tau:g}")
        rates.set(xscale="log", xlabel="dimension d", ylabel="draws where it fails (%)", ylim=(-3, 103))
        rates.set_title("How often the printed bound fails")

        curves = rows(table, source="enumeration", examples=8, kept=1)
        for bound, (label, colour) in BOUNDS.items():
            family.plot(EPSILONS, curves[bound], color=colour, label=label)
        family.plot(EPSILONS, curves["exact"], color=BLACK, linestyle="--", label="exact, closed form")
        family.plot(EPSILONS, curves["enumerated"], "ko", fillstyle="none", label="exact, enumerated")
        family.set(xscale="log", yscale="log", xlabel="ε", ylabel="error, bound")
        family.set_title("w0 = (1, ε), w⋆ = (1, 1), s = 1, n = 8")

        chosen = next(run for run in results if isinstance(run, Sketch) and run.dimension == 100 and run.tau == 1)
        tensors = {name: tensor[:400].numpy() for name, tensor in results[chosen].records[0].tensors.items()}
        for bound, (label, colour) in BOUNDS.items():
            style = {"s": 8, "alpha": 0.6, "linewidths": 0, "rasterized": True}
            cloud.scatter(tensors[bound], tensors["exact"], color=colour, label=label, **style)
        ends = [min(tensors["exact"].min(), tensors["printed"].min()), tensors["exact"].max()]
        cloud.plot(ends, ends, color=BLACK, linewidth=1, label="error = bound")
        cloud.set(xscale="log", yscale="log", xlabel="bound", ylabel="exact error", ylim=(ends[0] / 8, None))
        cloud.set_title("d = 100, τ = 1: violated above the line")
        shared = [*family.lines, cloud.lines[0]]  # a bound has one colour in both panels
        legends.set_axis_off()
        legends.add_artist(legends.legend(handles=rates.lines, title="distance of w⋆", loc="upper left"))
        legends.legend(handles=shared, title="the other two panels", loc="upper right")
