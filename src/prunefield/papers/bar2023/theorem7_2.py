"""Theorem 7.2 of bar2023: sketched masks in the tangent of a network, over training."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, ORANGE, VERMILION, Row
from prunefield.runs import Result, Run
from prunefield.runs.tangent import Tangent

WIDTHS: dict[Scale, tuple[int, ...]] = {
    "smoke": (8, 32, 128),
    "laptop": (8, 16, 32, 64, 128, 256, 512),
    "paper": (8, 16, 32, 64, 128, 256, 512),
}
SEEDS: dict[Scale, int] = {"smoke": 1, "laptop": 4, "paper": 16}
STEPS: dict[Scale, int] = {"smoke": 40, "laptop": 400, "paper": 2000}
DRAWN_WIDTH = 32
CURVES = {
    "printed": ("Theorem 7.2 as printed", VERMILION),
    "measured": ("same, with the distance measured", ORANGE),
    "exact": ("error of the sketched mask", BLACK),
    "even": ("of a uniform one", BLUE),
    "power": ("of keeping nothing", GREEN),
}


def tabulate_bounds(run: Tangent, result: Result) -> list[Row]:
    known = {name: getattr(run, name) for name in ("width", "activation", "kept", "seed")}
    return [known | values for values in result.values]


class Theorem7_2(Item):
    """bar2023, Theorem 7.2 (Section 7, Appendix B.6): the error of a mask from J(θ0) and θ0 on J(θt)θt."""

    title = "Theorem 7.2: sketching the tangent of a network"
    size = (9, 4.6)
    open_choices = (
        "Networks: 4 Gaussian inputs, one hidden layer, 1 output, no biases, weights of variance 1/fan-in, 6 examples "
        "with Gaussian labels; s = √d rounded. The paper reports no experiment.",
        "Constants are measured: K from the recorded Jacobians (norm and slope from θ0; at least 1), R0 = ‖f0 − y‖, "
        "λ_min of J(θ0)J(θ0)ᵀ. A larger K would only make the bound larger.",
        "The paper defines the kernel both as ∇f∇fᵀ and as (1/n)JJᵀ; the first is used, with J = ∇f.",
        "A bound counts as informative if it is below ‖J(θt)θt‖², the error of keeping nothing.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        nets = [*(("tanh", width) for width in WIDTHS[scale]), ("relu", DRAWN_WIDTH)]
        shared = {"steps": STEPS[scale], "every": STEPS[scale] // 10}
        places = [
            {"activation": name, "width": width, "kept": round((5 * width) ** 0.5), "seed": seed}
            for name, width in nets
            for seed in range(SEEDS[scale])
        ]
        return [Tangent.model_validate(shared | place) for place in places]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, tabulate_bounds, Tangent)

    def ideal(self) -> Frame:
        """Error 1 ≤ Lemma 4.3 1.5 ≤ printed bound 2 < 4 of keeping nothing, at all times; uniform probabilities have
        3.
        """
        nets = [("tanh", width) for width in WIDTHS["smoke"]] + [("relu", DRAWN_WIDTH)]
        cases = [(name, width, step) for name, width in nets for step in (0, 4)]
        table = DataFrame(cases, columns=["activation", "width", "step"])
        table = table.assign(seed=0, parameters=5 * table["width"], dead=0, distance=1.0, reach=3.0)
        return table.assign(exact=1.0, enumerated=1.0, bound=1.5, printed=2.0, even=3.0, power=4.0)

    @claim(
        "The error is at most (1/s)K³‖θ0‖₁F(J(θ0))·(‖θ0‖₁ + F(θ0)·9K⁴R0²/λ² + 6√d·K³R0/λ) at all times",
        at="Theorem 7.2",
        expect="no counterexample",
        null=lambda table: table.assign(printed=table["exact"] / 2),
    )
    def holds(table: Frame) -> Verdict:
        smooth = rows(table, activation="tanh")
        broken, share = (smooth["exact"] > smooth["printed"]).sum(), (smooth["exact"] / smooth["printed"]).max()
        seen = f"violated at {broken} of {len(smooth)} recorded times; the error is at most {share:.0e} times the bound"
        return judge(broken == 0, seen, len(smooth))

    @claim(
        "For s = O(√d) the error at time t only depends on the initialisation and constants",
        at="Section 7, after Theorem 7.2",
        expect="a bound below the error of keeping nothing",
        null=lambda table: table.assign(printed=table["exact"] + table["power"]),
    )
    def informative(table: Frame) -> Verdict:
        smooth = rows(table, activation="tanh")
        dead = rows(table, activation="relu").groupby(["width", "seed"])["dead"].first() > 0
        useful = (smooth["printed"] < smooth["power"]).sum()
        ratios = (smooth["printed"] / smooth["power"]).groupby(smooth["parameters"]).min()
        each = ", ".join(f"{ratio:.0e} at d={d}" for d, ratio in ratios.items())
        seen = f"below the error of keeping nothing at {useful} of {len(smooth)} times; smallest bound ÷ that error: "
        note = (
            f"F(J0) = ∞ in {dead.sum()} of {len(dead)} ReLU networks, which have parameters that no example reaches; "
            "and for d ≥ 4, s ≤ d the bound can be shown to exceed K²(‖θ0‖ + D)² ≥ ‖J(θt)θt‖² at all times"
        )
        return judge(useful == len(smooth), seen + each, len(smooth), note)

    @claim(
        "‖θt − θ0‖ ≤ 3KR0/λ_min",
        at="Appendix B.6",
        expect="no counterexample",
        null=lambda table: table.assign(reach=table["distance"] / 2),
    )
    def distance(table: Frame) -> Verdict:
        smooth = rows(table, activation="tanh")
        broken, far, reach = (smooth["distance"] > smooth["reach"]).sum(), smooth["distance"].max(), smooth["reach"]
        seen = f"violated at {broken} of {len(smooth)} times; the distance is at most {far:.2f}, the bound at least "
        return judge(broken == 0, f"{seen}{reach.min():.2g}", len(smooth))

    @claim(
        "Lemma 4.3 holds with the Jacobian instead of the inputs",
        at="Appendix B.6",
        expect="equal to full enumeration",
        null=lambda table: table.assign(exact=table["even"]),
    )
    def identity(table: Frame) -> Verdict:
        smooth = rows(table, activation="tanh")
        gap = (table["enumerated"] / table["exact"] - 1).abs().max()
        wrong = (smooth["exact"] > smooth["bound"] * (1 + 1e-10)).sum()
        seen = (
            f"s × error is the sum over all d masks of one draw to {gap:.0e}; the first ≤ of the proof is violated "
            f"{wrong} times"
        )
        last = smooth.groupby(["width", "seed"]).last()
        even, nothing = ((last["exact"] > last[name]).sum() for name in ("even", "power"))
        note = (
            f"at the end the mask made at initialisation loses to uniform probabilities in {even} of {len(last)} "
            f"networks, and to keeping nothing in {nothing}"
        )
        return judge(gap < 1e-8 and wrong == 0, seen, len(table), note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        smooth = rows(table, activation="tanh")
        one, last = rows(smooth, width=DRAWN_WIDTH, seed=0), rows(smooth, step=smooth["step"].max())
        medians = last.groupby("parameters")[list(CURVES)].median()
        for name, (label, colour) in CURVES.items():
            left.plot(one["step"], one[name], color=colour, label=label)
            right.plot(medians.index, medians[name], "o-", color=colour)
        left.set(yscale="log", xlabel="step of gradient descent", ylabel="error, bound")
        left.set_title(f"d = {one['parameters'][0]}, s = {one['kept'][0]}")
        right.set(xscale="log", yscale="log", xlabel="parameters d", ylabel="error, bound (median over seeds)")
        right.set_title("after training")
        right.set_xticks(medians.index, medians.index)
        right.minorticks_off()
        left.legend(loc="center right", bbox_to_anchor=(1, 0.4))
