"""Section 5 of bar2023: SynFlow's scores in the linear model."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import draw_boxes
from prunefield.papers import Frame, Item, Scale, Verdict, claim, judge
from prunefield.papers._kit import BLACK
from prunefield.papers.bar2023._cases import EXACT
from prunefield.papers.bar2023._linear import CASES, tabulate_models
from prunefield.runs import Result, Run
from prunefield.runs.linear_scores import LinearScores
from prunefield.theory.sketch_bounds import fresh_constant, norm_constant

DENSITIES = (0.1, 0.05, 0.02)


class Section5(Item):
    """bar2023, Section 5 (Eqs. 3 and 4): SynFlow's scores of a linear model, and the probabilities of Eq. 2."""

    title = "Section 5: SynFlow's scores in the linear model"
    size = (9, 4.4)
    open_choices = (
        "X ~ N(0, I)/√128, w ~ N(0, I), d = 1000; the scores are those of `synflow` in this package on a linear layer.",
        "The advice to use χ inputs and sampling is tested as: a smaller error than with ones, and than with the "
        "largest scores.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        cases = CASES[scale]  # other models at each density
        return [LinearScores(dimension=1000, density=p, cases=cases, seed=seed) for seed, p in enumerate(DENSITIES)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_models(results)

    def ideal(self) -> Frame:
        """Norms give p0, χ nearly so, ones less; of the binary masks, sampled ones have the smallest error."""
        table = DataFrame({"density": DENSITIES}).assign(examples=128, norms_gap=0.0, ones_gap=0.1, flow_formula=0.0)
        table = table.assign(norms_excess=1.0, chi_excess=1.001, ones_excess=1.004)
        return table.assign(sketched=0.4, drawn=0.5, hard=0.6, even=1 - table["density"])

    @claim(
        "With the input ‖X_(i)‖, SynFlow's scores are proportional to p0, so that Section 4 applies to SynFlow",
        at="Section 5, Eq. 4",
        expect="equal",
        null=lambda table: table.assign(norms_gap=table["ones_gap"], norms_excess=table["ones_excess"]),
    )
    def scores_are_probabilities(table: Frame) -> Verdict:
        gap, formula, excess = table[["norms_gap", "flow_formula", "norms_excess"]].max()
        seen = (
            f"normalised scores and p0 differ by {gap:.0e} of its maximum, scores and ‖X_(i)‖|w_i| by {formula:.0e}; "
            f"error of Algorithm 1 ÷ optimum {excess:.10f}"
        )
        return judge(max(gap, formula, abs(excess - 1)) < EXACT, seen, len(table))

    @claim(
        "SynFlow should be applied with χ-distributed input",
        at="Section 5",
        expect="a smaller error than with ones",
        null=lambda table: table.assign(chi_excess=table["ones_excess"]),
    )
    def chi_beats_ones(table: Frame) -> Verdict:
        chi, ones, n = table["chi_excess"], table["ones_excess"], int(table["examples"].iloc[0])
        wins = (chi < ones).sum()
        seen = (
            f"the norms of other inputs (χ) beat ones in {wins} of {len(table)} cases; median error ÷ optimum "
            f"{chi.median():.5f} with χ, {ones.median():.5f} with ones"
        )
        note = (
            f"in units of (‖w‖₁² − ‖w‖²)/s, the mean error over X at n = {n} is 1 with ones, {norm_constant(n):.4f} "
            f"with the norms of X itself and {fresh_constant(n):.4f} with those of other inputs: new χ inputs only add "
            "noise"
        )
        return judge(wins > 0.5 * len(table), seen, len(table), note)

    @claim(
        "SynFlow should be applied with random sampling",
        at="Section 5",
        expect="a smaller error than with the largest scores",
        null=lambda table: table.assign(drawn=table["even"], sketched=1.0),
    )
    def sampling_beats_ranking(table: Frame) -> Verdict:
        means = table.groupby("density")[["sketched", "hard", "drawn", "even"]].mean().sort_index(ascending=False)
        each = ", ".join(
            f"{row.sketched:.2f}/{row.hard:.3f}/{row.drawn:.3f}/{row.even:.2f} at {row.Index:.0%}"
            for row in means.itertuples()
        )
        good = any((table[name] < table["hard"]).mean() > 0.5 for name in ("drawn", "sketched"))
        note = (
            "a binary mask has the error Σ(1−π_k)w_k², which is smallest for the largest |w_k|; Algorithm 1 is worse "
            "than an empty mask"
        )
        seen = f"error ÷ ‖w‖² of Algorithm 1/largest scores/sampled/uniform binary masks: {each}"
        return judge(good, seen, len(table), note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        rules = {"norms_excess": "‖X_(i)‖", "ones_excess": "ones", "chi_excess": "χ"}
        draw_boxes(left, [table[name] for name in rules], list(rules.values()))
        left.set(xlabel="input of SynFlow", ylabel="error of Algorithm 1 ÷ optimum")
        means = table.groupby("density")[["sketched", "even", "drawn", "hard"]].mean()
        labels = ("Algorithm 1", "binary, uniform", "binary, sampled", "binary, largest scores")
        for name, label, marker in zip(means, labels, "osD^", strict=True):
            right.plot(100 * means.index, means[name], marker=marker, label=label)
        right.axhline(1, color=BLACK, linewidth=1, label="keeping nothing")
        right.set(yscale="log", xlabel="density (%)", ylabel="error ÷ ‖w‖², Gaussian X")
        right.legend()
