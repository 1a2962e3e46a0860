"""The checks of H*: pure functions of the page's table, with their criteria."""

from typing import TYPE_CHECKING

from prunefield.papers import Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025 import _fig4_checks as fig4
from prunefield.papers.redman2025._claims import judge
from prunefield.papers.redman2025._fig5_checks import correlate_ranks
from prunefield.papers.redman2025.fig3 import check_wider, clone_as_data

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["check_clone", "clone_as_data"]
LOCAL = fig4.LOCAL
MOST = 0.9  # "maximally": this share of the rise that greedy pruning reaches
TOGETHER = -0.9  # rank correlation over rounds
check_clone = check_wider


def _data(table: "DataFrame") -> "DataFrame":
    return rows(table, inputs="data")


def check_gap(table: "DataFrame") -> Verdict:
    return fig4.check_kurtosis_gap(_data(table))


def check_together(table: "DataFrame") -> Verdict:
    width, kurtosis = (fig4.curve(_data(table), "imp", name) for name in ("width", "kurtosis"))
    found = [correlate_ranks(column(width, seed), column(kurtosis, seed)) for seed in width]
    return judge(max(found) <= TOGETHER, f"rank correlations {min(found):+.2f} to {max(found):+.2f}", 2 * width.size)


def check_next(table: "DataFrame") -> Verdict:
    imp = rows(_data(table), method="imp").dropna(subset=["next"])
    scores, chance = column(imp, "next"), column(imp, "next_shuffled")
    if not scores:  # chance has no fates
        return judge(False, "0 scores", 1)
    good = sum(score > 0 for score in scores)
    observed = f"{good} of {len(scores)} (rounds × seeds) are positive, mean {sum(scores) / len(scores):+.4f}"
    return judge(good == len(scores), observed, len(scores), f"fates shuffled: {sum(chance) / len(chance):+.4f}")


def last(table: "DataFrame", name: str) -> "DataFrame":
    """A column at the last round: seeds down, methods across; only seeds that greedy pruning has."""
    part = _data(table)
    part = rows(part, round=part["round"].max())
    chosen = part[part["seed"].isin(rows(part, method="greedy")["seed"])]
    return chosen.pivot(index="seed", columns="method", values=name)


def check_maximal(table: "DataFrame") -> Verdict:
    kurtosis = last(table, "kurtosis")
    best = kurtosis[["greedy", "cavity"]].max(axis=1)
    ours, theirs = kurtosis["imp"] - kurtosis["random"], best - kurtosis["random"]
    good = bool(((ours > 0) & (ours >= MOST * theirs)).all())
    means = ", ".join(f"{name} {value:.3f}" for name, value in kurtosis.mean().items())
    share = float(ours.mean() / theirs.mean())
    note = f"share of the rise {share:.3f}" if theirs.min() > 0 else "greedy pruning is not above random masks"
    own = last(table, "own").mean()
    note += f"; on the images used for selection: greedy {own['greedy']:.3f}, cavity {own['cavity']:.3f}"
    return judge(good, f"kurtosis at the last round: {means}", kurtosis.size, note)


def check_localising(table: "DataFrame") -> Verdict:
    width = last(table, "width")
    good = all((width[name] < LOCAL * width["random"]).all() for name in ("greedy", "cavity"))
    means = ", ".join(f"{name} {value:.2f}" for name, value in width.mean().items())
    return judge(good, f"median σx at the last round: {means}", width.size)


def check_all(table: "DataFrame") -> Verdict:
    parts = (check_clone, check_gap, check_together, check_next, check_maximal, check_localising)
    found = [check(table) for check in parts]
    good = [verdict.status == "reproduced" for verdict in found]
    return judge(all(good), f"{sum(good)} of {len(good)} parts hold", sum(verdict.n for verdict in found))


def imp_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of IMP."""
    return fig4.imp_as_random(table)


def greedy_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of greedy pruning."""
    return fig4.replace(fig4.replace(table, "greedy", by="random"), "cavity", by="random")


def shuffled_fates(table: "DataFrame") -> "DataFrame":
    """The table with scores that do not depend on when a weight is pruned."""
    return table.assign(next=table["next_shuffled"])
