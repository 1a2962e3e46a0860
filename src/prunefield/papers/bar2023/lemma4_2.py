"""Lemma 4.2 of bar2023: the error at initialisation for Gaussian inputs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._cases import Frame, exchange
from prunefield.runs import Result, Run
from prunefield.runs.enumeration import Enumeration
from prunefield.runs.sketch import Sketch
from prunefield.theory.sketch_lemmas import start_bound, start_bound_corrected

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DRAWS: dict[Scale, int] = {"smoke": 400, "laptop": 4000, "paper": 20_000}  # as in theorem4.4, to share runs
DIMENSIONS = (2, 3, 4, 6, 10, 30, 100, 1000)
NOTE = (
    "the proof takes (Σ a_k)² ≤ Σ a_k² for a_k ≥ 0; the exact error is (c_n/s)(‖w0‖₁² − ‖w0‖²), and the printed "
    "bound holds iff "
    "‖w0‖₁²/‖w0‖² ≤ 1 + 1/c_n: always for d ≤ 2"
)


def _judge(broken: int, mended: int, seen: str, n: int) -> Verdict:
    if not broken:
        return Verdict("reproduced", seen, n)
    return Verdict("not reproduced" if mended else "corrected", seen, n, NOTE)


def _check_made(table: Frame) -> Verdict:
    rows = table.query("source == 'enumeration'")
    parts = [
        f"w0 = {row.start}, n={row.examples}: error {row.enumerated:.4f}, printed {row.printed:g}"
        for row in rows.itertuples()
    ]
    broken, mended = ((rows["enumerated"] > rows[name] * (1 + 1e-9)).sum() for name in ("printed", "corrected"))
    return _judge(int(broken), int(mended), "; ".join(parts), len(rows))


def _check_drawn(table: Frame) -> Verdict:
    rows = table.query("source == 'draws'")
    parts = []
    for n, group in rows.groupby("examples"):
        rates = "/".join(f"{100 * rate:.0f}" for rate in group["failures"] / group["draws"])
        parts.append(f"{rates} % of draws at n={n}")
    dimensions = "/".join(str(d) for d in sorted(rows["dimension"].unique()))
    last = rows.query("dimension == 100 and examples == 128").iloc[0]
    seen = (
        f"fails in {', '.join(parts)} for d={dimensions}; at d=100 the error is {last['ratio']:.0f} × the printed bound"
    )
    return _judge(int(rows["failures"].sum()), int(rows["corrected_failures"].sum()), seen, int(rows["draws"].sum()))


def _check_plane(table: Frame) -> Verdict:
    rows = table.query("source == 'draws' and dimension == 2")
    seen = f"{int(rows['failures'].sum())} failures in {int(rows['draws'].sum())} draws at d=2"
    return Verdict("reproduced" if rows["failures"].sum() == 0 else "not reproduced", seen, int(rows["draws"].sum()))


def _exchange(table: Frame) -> Frame:
    return exchange(table, {"printed": "failures", "corrected": "corrected_failures"})


class Lemma4_2(Item):
    """bar2023, Lemma 4.2: the bound on the error at initialisation for Gaussian inputs."""

    title = "Lemma 4.2: the error at initialisation, Gaussian inputs"
    open_choices = (
        "Weights: the lemma is for any; w0 ~ N(0, I) with n = 1 and 128, and equal weights, were chosen.",
        "The error for random weights is the closed form, which enumeration and quadrature confirm for equal weights.",
    )
    claims = (
        Claim("The error is at most (1/s)‖w0‖²", "Lemma 4.2", "no counterexample", _check_made, _exchange),
        Claim("The same for random weights in every dimension", "Lemma 4.2", "0 % failures", _check_drawn, _exchange),
        Claim("It holds for two weights", "Lemma 4.2, d = 2", "0 failures", _check_plane, _exchange),
    )

    def runs(self, scale: Scale) -> list[Run]:
        draws, nodes = DRAWS[scale], 24
        drawn = [Sketch(dimension=d, tau=0.0, examples=n, draws=draws) for n in (1, 128) for d in DIMENSIONS]
        made = [
            Enumeration(start=(1.0,) * d, end=(1.0,) * d, examples=n, nodes=nodes, draws=2000)
            for d, n in ((2, 4), (3, 1), (3, 4))
        ]
        return [*drawn, *made]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        import pandas as pd

        rows = []
        for run, result in results.items():
            (record,) = result.records
            known = {"examples": getattr(run, "examples", 0), "kept": getattr(run, "kept", 0)}
            if isinstance(run, Sketch):
                exact = record.tensors["exact"]
                printed = record.tensors["uniform"] / (run.dimension - 1)  # ‖w0‖²/s, from the uniform mask's error
                corrected = record.tensors["printed"] - printed  # Theorem 4.4 at w⋆ = w0 is ‖w0‖₁²/s
                found = {"source": "draws", "dimension": run.dimension, "draws": run.draws}
                found |= {"failures": int((exact > printed * (1 + 1e-12)).sum())}
                found |= {"corrected_failures": int((exact > corrected * (1 + 1e-12)).sum())}
                rows.append(found | known | {"ratio": (exact / printed).median().item()})
            elif isinstance(run, Enumeration):
                w = torch.tensor(run.start, dtype=torch.float64)
                found = {"source": "enumeration", "dimension": len(w), "start": str(run.start), **known}
                found |= {"printed": start_bound(w, run.kept).item(), "enumerated": record["enumerated"]}
                found |= {"corrected": start_bound_corrected(w, run.kept).item()}
                rows.append(found | {"ratio": record["enumerated"] / found["printed"]})
        return pd.DataFrame(rows)

    def ideal(self) -> Frame:
        """The printed bound always holds: equal weights have 0.9 of ‖w0‖²/s = d, and random ones no failures."""
        import pandas as pd

        drawn = [(d, n) for n in (1, 128) for d in DIMENSIONS]
        draws = pd.DataFrame(drawn, columns=["dimension", "examples"])
        draws = draws.assign(source="draws", draws=400, failures=0, corrected_failures=0, ratio=0.9)
        made = pd.DataFrame([(2, 4), (3, 1), (3, 4)], columns=["dimension", "examples"])
        d = made["dimension"]
        made = made.assign(source="enumeration", start="", enumerated=0.9 * d, printed=d, corrected=d * (d - 1))
        return pd.concat([draws, made], ignore_index=True)

    def draw(self, table: Frame, results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        left, right = figure.subplots(1, 2)
        for (n, group), colour in zip(
            table.query("source == 'draws'").groupby("examples"), ("#D55E00", "#0072B2"), strict=True
        ):
            left.plot(
                group["dimension"], 100 * group["failures"] / group["draws"], "o-", color=colour, label=f"n = {n}"
            )
            right.plot(group["dimension"], group["ratio"], "o-", color=colour, label=f"n = {n}")
        made = table.query("source == 'enumeration'")
        right.plot(made["dimension"], made["ratio"], "k*", label="equal weights, enumerated")
        right.axhline(1, color="black", linewidth=1)
        left.set(xscale="log", xlabel="dimension d", ylabel="draws that violate the printed bound (%)")
        right.set(xscale="log", yscale="log", xlabel="dimension d", ylabel="exact error ÷ printed bound (median)")
        left.legend()
        right.legend()
        return figure
