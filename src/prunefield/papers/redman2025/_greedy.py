"""Greedy pruning as a control of H*: what it is compared with, and where it can decide anything."""

from dataclasses import replace

import pandas

from prunefield.papers import OPEN, Frame, Verdict, judge, rows
from prunefield.papers.redman2025._curves import LOCAL, METHOD_NAMES, at_end, note_seeds
from prunefield.papers.redman2025._pictures import GOALS

MOST = 0.9  # "maximally": this share of the rise that greedy pruning reaches
RAISED = 0.5  # of IMP's rise in kurtosis: greedy pruning that reaches less cannot serve as a control


def compare_methods(table: Frame, name: str, after: int | None = None) -> Frame:
    """A column after a round (the last by default): seeds down, methods across; only seeds that greedy pruning has."""
    data = rows(table, inputs="data")
    found = at_end(data) if after is None else rows(data, round=after)
    seeds = tuple(rows(found, method="greedy")["seed"])
    return rows(found, seed=seeds).pivot(index="seed", columns="method", values=name)


def judge_rise(table: Frame, after: int | None = None) -> Verdict:
    """Does IMP reach `MOST` of the rise in kurtosis, over random masks, that the better greedy method reaches?"""
    kurtosis, own = compare_methods(table, "kurtosis", after), compare_methods(table, "own", after).mean()
    ours = kurtosis["imp"] - kurtosis["random"]
    theirs = kurtosis[["greedy", "cavity"]].max(axis=1) - kurtosis["random"]
    means = ", ".join(f"{METHOD_NAMES.get(name, name)} {value:.3f}" for name, value in kurtosis.mean().items())
    share = f"share of the rise {ours.mean() / theirs.mean():.3f}"
    note = share if theirs.min() > 0 else "greedy pruning is not above random masks in every seed"
    note += f"; on the images used for selection: greedy {own['greedy']:.3f}, cavity {own['cavity']:.3f}"
    is_maximal = ((ours > 0) & (ours >= MOST * theirs)).all()
    place = "the last round" if after is None else f"round {after}"
    found = judge(is_maximal, f"kurtosis at {place}: {means}", kurtosis.size, note)
    checked = open_unless_raised(found, table, theirs, ours)
    return checked if is_maximal else replace(checked, status=found.status)  # one better method is enough


def judge_first_rise(table: Frame) -> Verdict:
    """The same after round 1; not testable where greedy pruning rises by no more than random masks vary over rounds."""
    verdict, kurtosis = judge_rise(table, after=1), compare_methods(table, "kurtosis", after=1)
    rise = kurtosis[["greedy", "cavity"]].max(axis=1) - kurtosis["random"]
    lines = rows(table, inputs="data", method="random", seed=tuple(kurtosis.index)).groupby("seed")["kurtosis"]
    spread = lines.max() - lines.min()
    note = f"{verdict.note}; random masks vary by {spread.max():.3f} over the rounds"
    return replace(verdict, note=note, status=verdict.status if (rise > spread).all() else OPEN)


def judge_localisation(table: Frame) -> Verdict:
    """Are the masks of greedy pruning local, where it raises the kurtosis?"""
    width, kurtosis = compare_methods(table, "width"), compare_methods(table, "kurtosis")
    means = ", ".join(f"{METHOD_NAMES.get(name, name)} {value:.2f}" for name, value in width.mean().items())
    rise = kurtosis.sub(kurtosis["random"], axis=0)
    note = f"kurtosis over random masks: greedy {rise['greedy'].mean():+.3f}, IMP {rise['imp'].mean():+.3f}"
    is_local = (width["greedy"] < LOCAL * width["random"]).all()
    found = judge(is_local, f"median σx at the last round: {means}", width.size, note)
    return open_unless_raised(found, table, rise["greedy"], rise["imp"])


def widen_greedy(table: Frame) -> Frame:
    """The null: greedy pruning raises the kurtosis, but its masks are as wide as the widest."""
    return table.assign(width=table["width"].mask(table["method"].isin(GOALS.values()), table["width"].max()))


def open_unless_raised(verdict: Verdict, table: Frame, theirs: pandas.Series, ours: pandas.Series) -> Verdict:
    """The verdict where greedy pruning raises the kurtosis by half as much as IMP in every seed; else not testable."""
    few = note_seeds(table, theirs.to_numpy(), "greedy pruning")
    is_raised = ((theirs > 0) & (theirs >= RAISED * ours)).all()
    note = "; ".join(filter(None, (verdict.note, few)))
    return replace(verdict, note=note, status=verdict.status if is_raised else OPEN)
