"""The claims of `lufkin2024/fig3`, as pure functions of its table.

A field of N sites has the inverse participation ratio (IPR) 1/N if it is flat, 1.5/N if it is a sinusoid and about 3/N
if it is noise. Criteria, set before anything was run: localised is at least 6/N, not localised at most 3/N.
"""

from math import comb
from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

LOCAL, DIFFUSE = 6.0, 3.0  # in units of 1/N
OTHERS = ("NLGP(0.01)", "Kur(5)")
MATCHED, TRIED = 26, 28  # the peaks of §4.2


def pick(table: "DataFrame", model: str, source: str) -> "DataFrame":
    """The rows of a data model that come from the simulation or from a flow."""
    return table.query("model == @model and source == @source")


def put(table: "DataFrame", model: str, other: str) -> "DataFrame":
    """The table with the rows of `other` instead of those of `model`."""
    return _join(table.query("model != @model"), table.query("model == @other").assign(model=model))


def _join(*tables: "DataFrame") -> "DataFrame":
    import pandas as pd

    return pd.DataFrame(pd.concat(tables, ignore_index=True))


def _numbers(rows: "DataFrame", name: str) -> np.ndarray:
    return rows[name].to_numpy(dtype=float)


def _range(values: np.ndarray, digits: int = 3) -> str:
    return f"{values.min():.{digits}f}–{values.max():.{digits}f}"


def _participation(rows: "DataFrame") -> np.ndarray:
    """IPR × N: 1 is flat, 1.5 a sinusoid, 3 noise."""
    return _numbers(rows, "ipr") * _numbers(rows, "size")


def _judge(good: np.ndarray, observed: str, note: str = "") -> Verdict:
    return Verdict("reproduced" if len(good) and good.all() else "not reproduced", observed, len(good), note)


def _check_local(*sources: str):
    def check(table: "DataFrame") -> Verdict:
        parts = {source: _participation(pick(table, "Ising", source)) for source in sources}
        seen = "; ".join(f"{source}: IPR·N {_range(part, 1)}" for source, part in parts.items())
        every = np.concatenate(list(parts.values()))
        return _judge(every >= LOCAL, f"{seen} (localised is ≥ {LOCAL:g})")

    return check


def _check_diffuse(*sources: str):
    def check(table: "DataFrame") -> Verdict:
        parts = {(model, source): _participation(pick(table, model, source)) for model in OTHERS for source in sources}
        seen = "; ".join(f"{model} {source}: IPR·N {_range(part, 2)}" for (model, source), part in parts.items())
        every = np.concatenate(list(parts.values()))
        return _judge(every <= DIFFUSE, f"{seen} (not localised is ≤ {DIFFUSE:g})")

    return check


def _both_local(table: "DataFrame") -> "DataFrame":
    return put(put(table, OTHERS[0], "Ising"), OTHERS[1], "Ising")


def _pairs(table: "DataFrame", model: str, source: str) -> "DataFrame":
    """Simulated and integrated fields of the same initialisation side by side, one row for each pair."""
    return pick(table, model, "simulated").merge(pick(table, model, source), on="init", suffixes=("", "_flow"))


def _count_peaks(table: "DataFrame", source: str) -> dict[int, tuple[int, int, int]]:
    """For each batch: how many peaks are equal, how many within one site, of how many."""
    pairs = _pairs(table, "Ising", source)
    gap = (_numbers(pairs, "peak") - _numbers(pairs, "peak_flow")) % _numbers(pairs, "size")
    gap = np.minimum(gap, _numbers(pairs, "size") - gap)
    batch = _numbers(pairs, "batch")
    return {
        int(size): (int((gap[batch == size] == 0).sum()), int((gap[batch == size] <= 1).sum()), int(sum(batch == size)))
        for size in np.unique(batch)
    }


def _reach(count: int, n: int) -> float:
    """The probability of at most `count` matches of `n` at the paper's rate of 26 in 28."""
    rate = MATCHED / TRIED
    return sum(comb(n, k) * rate**k * (1 - rate) ** (n - k) for k in range(count + 1))


def _check_peaks(table: "DataFrame") -> Verdict:
    counts = {source: _count_peaks(table, source) for source in ("cubic", "exact")}
    seen = "; ".join(
        f"batch {batch}, {source} φ: {same} of {n} equal, {near} within ±1"
        for source, count in counts.items()
        for batch, (same, near, n) in count.items()
    )
    # The cubic is the paper's; the flow is the limit of large batches, so the largest is the kindest to the paper.
    same, near, n = counts["cubic"][max(counts["cubic"])]
    exact, close = (_reach(count, n) for count in (same, near))
    status = "reproduced" if exact >= 0.05 else "corrected" if close >= 0.05 else "not reproduced"
    note = (
        f"P(this few | 26/28) = {exact:.2g} for equal, {close:.2g} for within ±1 (cubic φ, largest batch). The only "
        "sweep of 28 in the authors' code history uses NLGP data, and there 26 is the count within ±1."
    )
    return Verdict(status, seen, n, note)


def _shift_peaks(table: "DataFrame") -> "DataFrame":
    """Each flow is compared with the simulation of the next initialisation."""
    flow = table["source"] != "simulated"
    shifted = table.copy()
    shifted.loc[flow, "init"] = (table.loc[flow, "init"] + 1) % (table["init"].max() + 1)
    return shifted


def _check_peaked(table: "DataFrame") -> Verdict:
    good, seen = [], []
    for source in ("exact", "cubic"):
        pairs = _pairs(table, "Ising", source)
        good.append(
            (_numbers(pairs, "height_flow") < _numbers(pairs, "height"))
            & (_numbers(pairs, "ipr_flow") < _numbers(pairs, "ipr"))
        )
        height, ipr = pairs["height_flow"].median(), pairs["ipr_flow"].median()
        seen.append(f"{source} φ: height {height:.3f}, IPR {ipr:.3f}")
    rows = pick(table, "Ising", "simulated")
    seen.append(f"simulated: height {rows['height'].median():.3f}, IPR {rows['ipr'].median():.3f}")
    return _judge(np.concatenate(good), "; ".join(seen) + " (medians)")


def _copy_flow(table: "DataFrame") -> "DataFrame":
    """The simulation shows what the exact flow shows."""
    copied = table.query("source == 'exact'").assign(source="simulated")
    return _join(table.query("source != 'simulated'"), copied)


def _check_amplifier(table: "DataFrame") -> Verdict:
    first = {model: table[table["model"] == model].iloc[0] for model in ("Ising", "Kur(5)")}
    ising, kur = first["Ising"], first["Kur(5)"]
    good = np.array([ising["phi_low"] >= 0, ising["phi_high"] > 0.01, kur["phi_low"] < -1e-3, kur["phi_high"] > 1e-3])
    seen = "; ".join(
        f"{model}: φ(a) − √(2/π)a from {row['phi_low']:+.4f} to {row['phi_high']:+.4f}" for model, row in first.items()
    )
    return _judge(good, f"{seen} on 0 ≤ a ≤ 1")


def _check_kurtosis(table: "DataFrame") -> Verdict:
    values = table.groupby("model")["kurtosis"].first()
    cut = table.loc[table["model"] == "Kur(5)", "kurtosis_cut"].iloc[0]
    right = {"Ising": 1.0, "NLGP(0.01)": 2.9992, "Kur(5)": 4.2853}
    printed = {"Ising": 1.0, "NLGP(0.01)": 2.99, "Kur(5)": 3.86}
    observed = ", ".join(f"{model} {values[model]:.4f}" for model in right)
    if all(abs(values[model] - printed[model]) < 0.005 for model in printed):
        return Verdict("reproduced", observed, 3)
    good = all(abs(values[model] - right[model]) < 5e-5 for model in right)
    note = (
        f"Truncating the distribution at |x| ≤ 10 gives 3.86 ({cut:.4f}), and so may a single sample: for k < 8 the "
        "sample kurtosis has infinite variance. 2.99 is a sample value too."
    )
    return Verdict("corrected" if good else "not reproduced", observed, 3, note)


def _check_amplitude(table: "DataFrame") -> Verdict:
    ratios, seen = [], []
    for model in OTHERS:
        pairs = _pairs(table, model, "cubic")
        ratio = float(np.median(_numbers(pairs, "rms_flow") / _numbers(pairs, "rms")))
        ratios.append(ratio)
        seen.append(
            f"{model}: rms {pairs['rms_flow'].median():.4f} integrated, {pairs['rms'].median():.4f} simulated, median "
            f"ratio {ratio:.2f} (flat fixed point {pairs['flat'].iloc[0]:.4f})"
        )
    agree, larger = (all(low <= ratio <= high for ratio in ratios) for low, high in ((0.8, 1.25), (1.5, np.inf)))
    note = (
        "With the factor ½ of Eq. 5 before φ, the integrated field is as large as the simulated one. Without it, as "
        "in the authors' integrator, it is twice as large, which is enough to explain the printed panels."
    )
    status = "reproduced" if larger else "corrected" if agree else "not reproduced"
    return Verdict(
        status, "; ".join(seen), len(table[table["model"].isin(OTHERS) & (table["source"] == "cubic")]), note
    )


def _freeze_flow(table: "DataFrame") -> "DataFrame":
    """A flow that stays where it starts."""
    frozen = table.copy()
    flow = table["source"] != "simulated"
    frozen.loc[flow, "rms"] = table.loc[flow, "rms_start"]
    return frozen


CLAIMS = (
    Claim(
        "A neuron trained on Ising data learns a localised field",
        "Fig. 3 top, third column; §4.1",
        "one peak of 0.41 on N = 40 sites (IPR·N = 34 in the authors' run)",
        _check_local("simulated"),
        lambda table: put(table, "Ising", "NLGP(0.01)"),
    ),
    Claim(
        "Neurons trained on NLGP(0.01) and Kur(5) data do not localise",
        "Fig. 3 middle and bottom, third column; §4.1",
        "oscillatory or flat fields",
        _check_diffuse("simulated"),
        _both_local,
    ),
    Claim(
        "Integrating Eq. 5 gives a localised field for Ising data",
        "Fig. 3 top, last column; §4.1",
        "one peak",
        _check_local("exact", "cubic"),
        lambda table: put(table, "Ising", "NLGP(0.01)"),
    ),
    Claim(
        "Integrating Eq. 5 gives no localised field for NLGP(0.01) and Kur(5) data",
        "Fig. 3 middle and bottom, last column; §4.1",
        "oscillatory or flat fields",
        _check_diffuse("exact", "cubic"),
        _both_local,
    ),
    Claim(
        "On Ising data the integrated and the simulated field peak at exactly the same site",
        "§4.2",
        "26 of 28 initialisations (93 %)",
        _check_peaks,
        _shift_peaks,
        decided_at="laptop",
    ),
    Claim(
        "The localised bump of Eq. 5 is less peaked than the simulated one",
        "§3.1",
        "less peaked",
        _check_peaked,
        _copy_flow,
    ),
    Claim(
        "φ lies above its tangent for Ising, and on both sides of it for Kur(5)",
        "§3.2; Fig. 3, second column",
        "super-linear for Ising; both for Kur(5)",
        _check_amplifier,
        lambda table: put(put(table, "Ising", "NLGP(0.01)"), "Kur(5)", "NLGP(0.01)"),
    ),
    Claim(
        "The marginals have the kurtosis κ = 1.00, 2.99 and 3.86",
        "Fig. 3, second column",
        "1.00, 2.99, 3.86",
        _check_kurtosis,
        lambda table: put(table, "Kur(5)", "NLGP(0.01)"),
    ),
    Claim(
        "For NLGP(0.01) and Kur(5) the integrated steady state is more negative than the simulated one",
        "§4.1; Fig. 3 middle and bottom",
        "−0.15 against −0.08 and −0.125 against −0.08",
        _check_amplitude,
        _freeze_flow,
    ),
)
