"""Theorem 7.2 of bar2023: sketched masks in the tangent of a network, over training."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import Frame
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTHS: dict[Scale, tuple[int, ...]] = {
    "smoke": (8, 32, 128),
    "laptop": (8, 16, 32, 64, 128, 256, 512),
    "paper": (8, 16, 32, 64, 128, 256, 512),
}
SEEDS: dict[Scale, int] = {"smoke": 1, "laptop": 4, "paper": 16}
STEPS: dict[Scale, int] = {"smoke": 40, "laptop": 400, "paper": 2000}
DRAWN_WIDTH = 32


def _smooth(table: Frame) -> Frame:
    return table.query("activation == 'tanh'")


def _check_bound(table: Frame) -> Verdict:
    rows = _smooth(table)
    broken = int((rows["exact"] > rows["printed"]).sum())
    share = (rows["exact"] / rows["printed"]).max()
    seen = f"violated at {broken} of {len(rows)} recorded times; the error is at most {share:.0e} of the bound"
    return Verdict("reproduced" if broken == 0 else "not reproduced", seen, len(rows))


def _check_informative(table: Frame) -> Verdict:
    rows, relu = _smooth(table), table.query("activation == 'relu'").groupby(["width", "seed"]).first()
    useful = int((rows["printed"] < rows["power"]).sum())
    ratio = (rows["printed"] / rows["power"]).groupby(rows["parameters"]).min()
    parts = ", ".join(f"{ratio[d]:.0e} at d={d}" for d in ratio.index)
    seen = f"below the error of keeping nothing at {useful} of {len(rows)} times; smallest bound ÷ that error: {parts}"
    dead = int((relu["dead"] > 0).sum())
    note = f"F(J0) = ∞ in {dead} of {len(relu)} ReLU networks, which have parameters that no example reaches; and "
    note += "for d ≥ 4, s ≤ d the bound can be shown to exceed K²(‖θ0‖ + D)² ≥ ‖J(θt)θt‖² at all times"
    return Verdict("reproduced" if useful == len(rows) else "not reproduced", seen, len(rows), note)


def _check_distance(table: Frame) -> Verdict:
    rows = _smooth(table)
    broken, share = int((rows["distance"] > rows["reach"]).sum()), rows["distance"].max()
    seen = f"violated at {broken} of {len(rows)} times; the distance is at most {share:.2f}, the bound at least "
    seen += f"{rows['reach'].min():.2g}"
    return Verdict("reproduced" if broken == 0 else "not reproduced", seen, len(rows))


def _check_identity(table: Frame) -> Verdict:
    gap = (table["enumerated"] / table["exact"] - 1).abs().max()
    rows = _smooth(table)
    wrong = int((rows["exact"] > rows["bound"] * (1 + 1e-10)).sum())
    seen = (
        f"s × error is the sum over all d masks of one draw to {gap:.0e}; the first ≤ of the proof is violated "
        f"{wrong} times"
    )
    last = rows.groupby(["width", "seed"]).last()
    lost = int((last["exact"] > last["even"]).sum())
    note = (
        f"at the end the mask made at initialisation loses to uniform probabilities in {lost} of {len(last)} "
        "networks, and to "
    )
    note += f"keeping nothing in {int((last['exact'] > last['power']).sum())}"
    good = gap < 1e-8 and wrong == 0
    return Verdict("reproduced" if good else "not reproduced", seen, len(table), note)


class Theorem7_2(Item):
    """bar2023, Theorem 7.2 (Section 7, Appendix B.6): the error of a mask from J(θ0) and θ0 on J(θt)θt."""

    title = "Theorem 7.2: sketching the tangent of a network"
    open_choices = (
        "Networks: 4 Gaussian inputs, one hidden layer, 1 output, no biases, weights of variance 1/fan-in, 6 examples "
        "with Gaussian labels; s = √d rounded. The paper reports no experiment.",
        "Constants are measured: K from the recorded Jacobians (norm and slope from θ0; at least 1), R0 = ‖f0 − y‖, "
        "λ_min of J(θ0)J(θ0)ᵀ. A larger K would only make the bound larger.",
        "The paper defines the kernel both as ∇f∇fᵀ and as (1/n)JJᵀ; the first is used, with J = ∇f.",
        "A bound counts as informative if it is below ‖J(θt)θt‖², the error of keeping nothing.",
    )
    claims = (
        Claim(
            "The error is at most (1/s)K³‖θ0‖₁F(J(θ0))·(‖θ0‖₁ + F(θ0)·9K⁴R0²/λ² + 6√d·K³R0/λ) at all times",
            "Theorem 7.2",
            "no counterexample",
            _check_bound,
            lambda table: table.assign(printed=table["exact"] / 2),
        ),
        Claim(
            "For s = O(√d) the error at time t only depends on the initialisation and constants",
            "Section 7, after Theorem 7.2",
            "a bound below the error of keeping nothing",
            _check_informative,
            lambda table: table.assign(printed=table["exact"] + table["power"]),
        ),
        Claim(
            "‖θt − θ0‖ ≤ 3KR0/λ_min",
            "Appendix B.6",
            "no counterexample",
            _check_distance,
            lambda table: table.assign(reach=table["distance"] / 2),
        ),
        Claim(
            "Lemma 4.3 holds with the Jacobian instead of the inputs",
            "Appendix B.6",
            "equal to full enumeration",
            _check_identity,
            lambda table: table.assign(exact=table["even"]),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        steps = STEPS[scale]
        nets = [{"activation": "tanh", "width": width} for width in WIDTHS[scale]]
        nets.append({"activation": "relu", "width": DRAWN_WIDTH})
        shared = {"kind": "tangent", "steps": steps, "every": steps // 10}
        return [
            Run.parse({**shared, **net, "kept": round((5 * net["width"]) ** 0.5), "seed": seed})
            for net in nets
            for seed in range(SEEDS[scale])
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        import pandas as pd

        names = ("width", "activation", "kept", "seed")
        return pd.DataFrame(
            [
                {name: getattr(run, name) for name in names} | record.values
                for run, result in results.items()
                for record in result.records
            ]
        )

    def ideal(self) -> Frame:
        """Error 1 ≤ Lemma 4.3 1.5 ≤ printed bound 2 < 4 of keeping nothing, at all times; uniform probabilities have
        3.
        """
        import pandas as pd

        nets = [("tanh", width) for width in WIDTHS["smoke"]] + [("relu", DRAWN_WIDTH)]
        rows = [(name, width, step) for name, width in nets for step in (0, 4)]
        table = pd.DataFrame(rows, columns=["activation", "width", "step"])
        table = table.assign(seed=0, parameters=5 * table["width"], dead=0, distance=1.0, reach=3.0)
        return table.assign(exact=1.0, enumerated=1.0, bound=1.5, printed=2.0, even=3.0, power=4.0)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        curves = {
            "printed": ("Theorem 7.2 as printed", "#D55E00"),
            "measured": ("same, with the distance measured", "#E69F00"),
            "exact": ("error of the sketched mask", "black"),
            "even": ("of a uniform one", "#0072B2"),
            "power": ("of keeping nothing", "#009E73"),
        }
        rows = _smooth(table)
        one, last = rows.query(f"width == {DRAWN_WIDTH} and seed == 0"), rows.query("step == step.max()")
        for name, (label, colour) in curves.items():
            left.plot(one["step"], one[name], color=colour, label=label)
            right.plot(*zip(*last.groupby("parameters")[name].median().items(), strict=True), "o-", color=colour)
        left.set(yscale="log", xlabel="step of gradient descent", ylabel="error, bound")
        left.set_title(f"d = {one['parameters'].iloc[0]}, s = {one['kept'].iloc[0]}")
        right.set(xscale="log", yscale="log", xlabel="parameters d", ylabel="error, bound (median over seeds)")
        right.set_title("after training")
        right.set_xticks(*(sorted(last["parameters"].unique()),) * 2)
        right.minorticks_off()
        left.legend(loc="center right", bbox_to_anchor=(1, 0.4))
        return figure
