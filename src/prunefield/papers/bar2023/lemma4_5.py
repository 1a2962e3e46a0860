"""Lemma 4.5 of bar2023: masks drawn uniformly."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import EXACT, Frame
from prunefield.papers.bar2023.theorem4_4 import Theorem44
from prunefield.runs import Result, Run
from prunefield.runs.enumeration import Enumeration
from prunefield.theory.sketch_bounds import uniform_bound, uniform_error
from prunefield.theory.sketch_lemmas import enumerate_subsets, subset_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENSES = {
    "replaced": "with replacement, times d/s",
    "subset": "a subset, times d/s",
    "binary": "a subset, zeros and ones",
}


def _check_bound(table: Frame) -> Verdict:
    broken = int((table["enumerated"] > table["bound"] * (1 + EXACT)).sum())
    gap = (table["enumerated"] / table["replaced"] - 1).abs().max()
    seen = f"violated in {broken} of {len(table)} cases; ((d−1)/s)‖w⋆‖² is the enumerated error to {gap:.0e}"
    good = broken == 0 and gap < 1e-8
    return Verdict("reproduced" if good else "not reproduced", seen, len(table))


def _check_senses(table: Frame) -> Verdict:
    rows = table[table["subset"].notna()]
    shares = {name: (rows[name] / rows["bound"]).max() for name in SENSES}
    gap = max(float((rows[name] - rows[f"{name}_sum"]).abs().max()) for name in ("subset", "binary"))
    seen = "largest error ÷ bound: " + ", ".join(f"{SENSES[name]}: {share:.2f}" for name, share in shares.items())
    good = max(shares.values()) <= 1 and gap < EXACT
    note = f"((d−s)/s)‖w⋆‖² and (1−s/d)‖w⋆‖² are the sums over all subsets to {gap:.0e}"
    return Verdict("reproduced" if good else "not reproduced", seen, len(rows), note)


def _check_expansion(table: Frame) -> Verdict:
    gap = (table["expanded"] / table["bound"] - 1).abs().max()
    seen = f"both sides agree to {gap:.0e}"
    return Verdict("reproduced" if gap < EXACT else "not reproduced", seen, len(table))


class Lemma4_5(Item):
    """bar2023, Lemma 4.5 (Appendix B.5): the error of masks that are drawn uniformly."""

    title = "Lemma 4.5: the error of uniform masks"
    open_choices = (
        "'Uniformly at random' is, as in the proof, Algorithm 1 with p = 1/d; subsets of s weights are shown for "
        "comparison.",
        "The weights and runs are those of theorem4.4's enumerations.",
    )
    claims = (
        Claim(
            "The error is at most (d/s)‖w⋆‖²",
            "Lemma 4.5",
            "no counterexample",
            _check_bound,
            lambda table: table.assign(bound=table["bound"] / table["dimension"]),
        ),
        Claim(
            "The same for every way of drawing the mask uniformly",
            "Lemma 4.5",
            "no counterexample",
            _check_senses,
            lambda table: table.assign(bound=table["bound"] / table["dimension"]),
        ),
        Claim(
            "(d/s)‖w⋆‖² = (d/s)(‖w⋆−w0‖² + 2w⋆ᵀw0) − (d/s)‖w0‖²",
            "Lemma 4.5",
            "equal",
            _check_expansion,
            lambda table: table.assign(expanded=-table["expanded"]),
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [run for run in Theorem44().runs(scale) if isinstance(run, Enumeration)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        import pandas as pd

        rows = []
        for run, result in results.items():
            assert isinstance(run, Enumeration)
            w0, w = (torch.tensor(weights, dtype=torch.float64) for weights in (run.start, run.end))
            d, s = len(w), run.kept
            found = {"start": str(run.start), "end": str(run.end), "dimension": d, "kept": s, "examples": run.examples}
            found |= {"enumerated": result.records[0]["enumerated_uniform"], "replaced": uniform_error(w, s).item()}
            found |= {"bound": uniform_bound(w, s).item()}
            cross = (w - w0).square().sum() + 2 * w @ w0 - w0.square().sum()
            found |= {"expanded": (d / s * cross).item()}
            if s <= d:
                for name, rescaled in (("subset", True), ("binary", False)):
                    found[name] = subset_error(w, s, rescaled=rescaled).item()
                    found[f"{name}_sum"] = enumerate_subsets(w, s, rescaled=rescaled).item()
            rows.append(found)
        return pd.DataFrame(rows)

    def ideal(self) -> Frame:
        """The three errors of uniform masks for d = 3 and ‖w⋆‖² = 1, each below d/s, which is also the expansion."""
        import pandas as pd

        d, s = 3, pd.Series([1, 2, 3])
        table = pd.DataFrame({"dimension": d, "kept": s, "bound": d / s, "expanded": d / s})
        errors = {"replaced": (d - 1) / s, "subset": (d - s) / s, "binary": 1 - s / d}
        sums = {f"{name}_sum": errors[name] for name in ("subset", "binary")}
        return table.assign(enumerated=errors["replaced"], **errors, **sums)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(5, 3.6), layout="constrained")
        axes = figure.subplots()
        rows = table.query("dimension == 3").sort_values("kept")
        for (name, label), colour in zip(SENSES.items(), ("#0072B2", "#009E73", "#E69F00"), strict=True):
            axes.plot(rows["kept"], rows[name], "o-", color=colour, label=label)
        axes.plot(rows["kept"], rows["enumerated"], "kx", label="with replacement, enumerated")
        axes.plot(rows["kept"], rows["bound"], "--", color="#D55E00", label="Lemma 4.5")
        axes.set(xlabel="s, of d = 3 weights", ylabel="error", xticks=sorted(rows["kept"].unique()))
        axes.set_title(f"w⋆ = {rows['end'].iloc[0]}")
        axes.legend()
        return figure
