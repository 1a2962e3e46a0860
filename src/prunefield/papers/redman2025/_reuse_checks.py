"""The checks of `reuse`: pure functions of its table."""

from typing import TYPE_CHECKING

from prunefield.papers import Verdict
from prunefield.papers.redman2025._claims import judge

if TYPE_CHECKING:
    from pandas import DataFrame


def split(table: "DataFrame") -> "tuple[DataFrame, DataFrame]":
    """The rows of the endless stream in the base setting, and those of reused images, fewest last."""
    return table.query("axis == 'base'"), table.query("axis == 'images'").sort_values("images", ascending=False)


def check_cost(table: "DataFrame") -> Verdict:
    stream, reused = split(table)
    good = bool((reused["imp"] > stream["imp"].max()).all())
    return judge(
        good, f"IMP's width in pixels: {_line(stream['imp'], reused, reused['imp'])}", len(stream) + len(reused)
    )


def check_advantage(table: "DataFrame") -> Verdict:
    stream, _ = split(table)
    good = bool((stream["imp"] < stream["oneshot"]).all())
    others = table.query("axis in ('classes', 'steps', 'width')")
    better = len(others.query("imp < oneshot"))
    observed = f"IMP {stream['imp'].mean():.2f}, one-shot {stream['oneshot'].mean():.2f}, in {len(stream)} seeds"
    note = f"the same in {better} of the {len(others)} other settings in which no image is seen twice"
    return judge(good, observed, 2 * len(stream), note)


def check_shrinkage(table: "DataFrame") -> Verdict:
    stream, reused = split(table)
    endless, again = (1 - rows["imp"] / rows["oneshot"] for rows in (stream, reused))
    observed = f"1 − IMP/one-shot: {_line(endless, reused, again)}"
    return judge(bool((again < endless.min()).all()), observed, 2 * (len(stream) + len(reused)))


def check_gap(table: "DataFrame") -> Verdict:
    stream, reused = split(table)
    good = bool(reused["gap"].iloc[-1] > stream["gap"].max())
    return judge(good, f"training minus test accuracy: {_line(stream['gap'], reused, reused['gap'])}", len(table))


def reuse_as_stream(table: "DataFrame") -> "DataFrame":
    """The table without an effect of reuse: each reused set has the numbers of the stream's first seed."""
    stream, reused = split(table)
    other = table.copy()
    for column in ("imp", "oneshot", "random", "accuracy", "gap"):
        other.loc[reused.index, column] = stream[column].iloc[0]
    return other


def imp_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of IMP and one-shot pruning."""
    return table.assign(imp=table["random"], oneshot=table["random"])


def _line(endless, reused: "DataFrame", values) -> str:
    """The stream's range over seeds, then the value of each reused set."""
    parts = [f"{n:,.0f} images {value:.2f}" for n, value in zip(reused["images"], values, strict=True)]
    return ", ".join([f"no image seen twice {endless.min():.2f} to {endless.max():.2f}", *parts])
