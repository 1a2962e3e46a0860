"""Greedy pruning as a control of H*: what it is compared with, and where it can decide anything."""

from dataclasses import replace

import pandas

from prunefield.papers import Frame, Verdict, rows
from prunefield.papers.redman2025._curves import at_end, note_seeds
from prunefield.papers.redman2025._pictures import GOALS

RAISED = 0.5  # of IMP's rise in kurtosis: greedy pruning that reaches less cannot serve as a control
OPEN = "not testable at this scale"


def compare_last(table: Frame, name: str) -> Frame:
    """A column at the last round: seeds down, methods across; only seeds that greedy pruning has."""
    last = at_end(rows(table, inputs="data"))
    seeds = tuple(rows(last, method="greedy")["seed"])
    return rows(last, seed=seeds).pivot(index="seed", columns="method", values=name)


def widen_greedy(table: Frame) -> Frame:
    """The null: greedy pruning raises the kurtosis, but its masks are as wide as the widest."""
    return table.assign(width=table["width"].mask(table["method"].isin(GOALS.values()), table["width"].max()))


def open_unless_raised(verdict: Verdict, table: Frame, theirs: pandas.Series, ours: pandas.Series) -> Verdict:
    """The verdict where greedy pruning raises the kurtosis by half as much as IMP in every seed; else not testable."""
    few = note_seeds(table, theirs.to_numpy(), "greedy pruning")
    is_raised = ((theirs > 0) & (theirs >= RAISED * ours)).all()
    note = "; ".join(filter(None, (verdict.note, few)))
    return replace(verdict, note=note, status=verdict.status if is_raised else OPEN)
