"""Section 5 of bar2023: SynFlow's scores in the linear model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import EXACT, Frame
from prunefield.papers.bar2023._linear import CASES, tabulate
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores
from prunefield.theory.sketch_bounds import fresh_constant, norm_constant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DENSITIES = (0.1, 0.05, 0.02)


def _check_equivalence(table: Frame) -> Verdict:
    gap, formula, excess = table["norms_gap"].max(), table["flow_formula"].max(), table["norms_excess"].max()
    seen = f"normalised scores and p0 differ by {gap:.0e} of its maximum, scores and ‖X_(i)‖|w_i| by {formula:.0e}; "
    seen += f"error of Algorithm 1 ÷ optimum {excess:.10f}"
    good = max(gap, formula, abs(excess - 1)) < EXACT
    return Verdict("reproduced" if good else "not reproduced", seen, len(table))


def _check_chi(table: Frame) -> Verdict:
    chi, ones = table["chi_excess"], table["ones_excess"]
    wins, n = int((chi < ones).sum()), int(table["examples"].iloc[0])
    seen = (
        f"the norms of other inputs (χ) beat ones in {wins} of {len(table)} cases; median error ÷ optimum "
        f"{chi.median():.5f}"
    )
    seen += f" with χ, {ones.median():.5f} with ones"
    note = f"on average over X at n = {n} the error is 1 with ones, {norm_constant(n):.4f} with the norms of X itself, "
    note += f"{fresh_constant(n):.4f} with those of other inputs, times (‖w‖₁² − ‖w‖²)/s: new χ inputs only add noise"
    return Verdict("reproduced" if wins > 0.5 * len(table) else "not reproduced", seen, len(table), note)


def _check_sampling(table: Frame) -> Verdict:
    means = table.groupby("density")[["sketched", "hard", "drawn", "even"]].mean().sort_index(ascending=False)
    parts = [f"{row.sketched:.2f}/{row.hard:.3f}/{row.drawn:.3f}/{row.even:.2f}" for row in means.itertuples()]
    seen = "error ÷ ‖w‖² of Algorithm 1/largest scores/sampled/uniform binary masks: " + ", ".join(
        f"{part} at {density:.0%}" for part, density in zip(parts, means.index, strict=True)
    )
    good = bool((table["drawn"] < table["hard"]).mean() > 0.5 or (table["sketched"] < table["hard"]).mean() > 0.5)
    note = (
        "a binary mask has the error Σ(1−π_k)w_k², which is smallest for the largest |w_k|; Algorithm 1 is worse "
        "than an empty mask"
    )
    return Verdict("reproduced" if good else "not reproduced", seen, len(table), note)


class Section5(Item):
    """bar2023, Section 5 (Eqs. 3 and 4): SynFlow's scores of a linear model, and the probabilities of Eq. 2."""

    title = "Section 5: SynFlow's scores in the linear model"
    open_choices = (
        "X ~ N(0, I)/√128, w ~ N(0, I), d = 1000; the scores are those of `synflow` in this package on a linear layer.",
        "The advice to use χ inputs and sampling is tested as: a smaller error than with ones, and than with the "
        "largest scores.",
    )
    claims = (
        Claim(
            "With the input ‖X_(i)‖, SynFlow's scores are proportional to p0, so that Section 4 applies to it",
            "Section 5, Eq. 4",
            "equal",
            _check_equivalence,
            lambda table: table.assign(norms_gap=table["ones_gap"], norms_excess=table["ones_excess"]),
        ),
        Claim(
            "SynFlow should be applied with χ-distributed input",
            "Section 5",
            "a smaller error than with ones",
            _check_chi,
            lambda table: table.assign(chi_excess=table["ones_excess"]),
        ),
        Claim(
            "SynFlow should be applied with random sampling",
            "Section 5",
            "a smaller error than with the largest scores",
            _check_sampling,
            lambda table: table.assign(drawn=table["even"], sketched=1.0),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [LinearScores(dimension=1000, density=density, cases=CASES[scale]) for density in DENSITIES]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate(results)

    def ideal(self) -> Frame:
        """Norms give p0, χ nearly so, ones less; of the binary masks, sampled ones have the smallest error."""
        import pandas as pd

        table = pd.DataFrame({"density": DENSITIES}).assign(examples=128, norms_gap=0.0, ones_gap=0.1, flow_formula=0.0)
        table = table.assign(norms_excess=1.0, chi_excess=1.001, ones_excess=1.004)
        return table.assign(sketched=0.4, drawn=0.5, hard=0.6, even=1 - table["density"])

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        rules = {"norms": "‖X_(i)‖", "ones": "ones", "chi": "χ"}
        left.boxplot([(table[f"{rule}_excess"]).tolist() for rule in rules], tick_labels=list(rules.values()))
        left.set(xlabel="input of SynFlow", ylabel="error of Algorithm 1 ÷ optimum")
        means = table.groupby("density")[["sketched", "even", "drawn", "hard"]].mean()
        labels = ("Algorithm 1", "binary, uniform", "binary, sampled", "binary, largest scores")
        for name, label, marker in zip(means, labels, "osD^", strict=True):
            right.plot(100 * means.index, means[name], marker=marker, label=label)
        right.axhline(1, color="black", linewidth=1)
        right.set(yscale="log", xlabel="density (%)", ylabel="error ÷ ‖w‖², Gaussian X")
        right.legend()
        return figure
