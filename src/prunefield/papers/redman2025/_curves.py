"""Curves over rounds, and what several items of redman2025 conclude from them in the same way."""

import numpy as np
from scipy.stats import rankdata

from prunefield.papers import Frame, Verdict, judge, numbers, replace_rows, rows

METHOD_NAMES = {"imp": "IMP", "oneshot": "one-shot", "random": "random"}
LOCAL = 0.8  # "significantly more localised": at most this share of the random masks' width, in every seed
imp_as_random = replace_rows({"method": "imp"}, by={"method": "random"})
clone_as_data = replace_rows({"inputs": "clone"}, by={"inputs": "data"})


def curve(table: Frame, method: str, name: str) -> Frame:
    """One column of a method: rounds down, seeds across."""
    return rows(table, method=method).pivot(index="round", columns="seed", values=name)


def at_end(table: Frame) -> Frame:
    """The rows of the last round."""
    return rows(table, round=table["round"].max())


def find_onset(holds: Frame) -> int | None:
    """The round from which something holds in every seed until the end, for two rounds at least."""
    rounds = [n for n, row in zip(holds.index, holds.all(axis=1), strict=True) if not row]
    first = 0 if not rounds else int(rounds[-1]) + 1
    return first if first <= int(holds.index[-1]) - 1 else None


def describe_onset(table: Frame, first: int | None) -> str:
    if first is None:
        return f"no gap that lasts in all {table['seed'].nunique()} seeds"
    density = rows(table, round=first)["density"].mean()
    return f"gap in every seed from round {first} (density {density:.3f}) on"


def find_kurtosis_onset(table: Frame) -> int | None:
    """The round from which IMP's kurtosis is above the others'.

    Where one-shot pruning lowers the kurtosis, random masks are above it too, so IMP has to be above both.
    """
    imp, oneshot, chance = (curve(table, method, "kurtosis") for method in ("imp", "oneshot", "random"))
    return find_onset((imp > oneshot) & (imp > chance))


def judge_kurtosis_gap(table: Frame) -> Verdict:
    """Whether IMP leads to greater kurtosis than one-shot pruning (Sec. 3.2)."""
    curves = {method: curve(table, method, "kurtosis") for method in ("imp", "oneshot", "random")}
    over_one, over_all = find_onset(curves["imp"] > curves["oneshot"]), find_kurtosis_onset(table)
    last = ", ".join(f"{METHOD_NAMES[method]} {values.iloc[-1].mean():.3f}" for method, values in curves.items())
    over = f"over one-shot: {describe_onset(table, over_one)}"
    note = f"{over}; over random masks as well: {describe_onset(table, over_all)}"
    return judge(over_all is not None, f"last round: {last}", 3 * curves["imp"].size, note)


def last_widths(table: Frame, inputs: str, method: str = "imp") -> np.ndarray:
    """The median widths of all seeds, at the last round."""
    return numbers(at_end(rows(table, inputs=inputs, method=method)), "width")


def judge_clone_width(table: Frame) -> Verdict:
    """Whether masks found on the Gaussian clone are wider than those found on the data (Sec. 3.1)."""
    data, clone = last_widths(table, "data"), last_widths(table, "clone")
    observed = f"median σx {show_range(data)} on the data, {show_range(clone)} on the clone"
    return judge(data.max() < clone.min(), observed, data.size + clone.size, note_seeds(table, clone, "the clone"))


def note_seeds(table: Frame, values: np.ndarray, control: str) -> str:
    """A note where a control has one value and the data have more seeds; that there is one seed in all is said
    elsewhere.
    """
    return f"one seed of {control}" if values.size == 1 < table["seed"].nunique() else ""


def show_range(values: np.ndarray) -> str:
    spread = f" ({values.min():.2f} to {values.max():.2f})" if values.size > 1 else ""
    return f"{values.mean():.2f}{spread}"


def correlate_ranks(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation; 0 for constants."""
    if min(np.ptp(first), np.ptp(second)) == 0:
        return 0.0
    return float(np.corrcoef(rankdata(first), rankdata(second))[0, 1])
