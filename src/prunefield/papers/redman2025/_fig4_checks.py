"""The checks of Fig. 4: pure functions of its table, with their criteria."""

from typing import TYPE_CHECKING

from prunefield.papers import Verdict
from prunefield.papers.redman2025._claims import judge

if TYPE_CHECKING:
    from pandas import DataFrame

LOCAL = 0.8  # "significantly more localised": at most this share of the random masks' width, in every seed
FLAT = 0.05  # "flat": at most this far, relatively, from the width of a full mask, in every round
QUIET = 0.25  # random masks may change by at most this share of what IMP changes
MONOTONE = 0.9  # "almost monotonically": rank correlation of kurtosis and round


def curve(table: "DataFrame", method: str, column: str) -> "DataFrame":
    """One column of a method: rounds down, seeds across."""
    return table[table["method"] == method].pivot(index="round", columns="seed", values=column).sort_index()


def onset(holds: "DataFrame") -> int | None:
    """The round from which something holds in every seed until the end, for two rounds at least."""
    rounds = [n for n, row in zip(holds.index, holds.all(axis=1), strict=True) if not row]
    first = 0 if not rounds else int(rounds[-1]) + 1
    return first if first <= int(holds.index[-1]) - 1 else None


def change(table: "DataFrame", method: str, column: str) -> float:
    """Last round minus first, mean over seeds."""
    values = curve(table, method, column).mean(axis=1)
    return float(values.iloc[-1] - values.iloc[0])


def check_local(table: "DataFrame") -> Verdict:
    last = {method: curve(table, method, "width").iloc[-1] for method in ("imp", "oneshot", "random")}
    good = all((last[method] < LOCAL * last["random"]).all() for method in ("imp", "oneshot"))
    observed = ", ".join(f"{method} {values.mean():.2f}" for method, values in last.items())
    return judge(good, f"σx in pixels at the last round: {observed}", 3 * len(last["imp"]))


def check_random_width(table: "DataFrame") -> Verdict:
    widths = curve(table, "random", "width").mean(axis=1)
    full = float(table["full_width"].iloc[0])
    far = float((widths / full - 1).abs().max())
    moved, drop = change(table, "random", "width"), change(table, "imp", "width")
    good = far <= FLAT and abs(moved) <= QUIET * abs(drop)
    note = f"a full mask has {full:.2f}; the line deviates from it by at most {100 * far:.1f} %"
    return judge(
        good, f"random from {widths.iloc[0]:.2f} to {widths.iloc[-1]:.2f}, IMP by {drop:+.2f}", widths.size, note
    )


def check_width_gap(table: "DataFrame") -> Verdict:
    imp, oneshot = (curve(table, method, "width") for method in ("imp", "oneshot"))
    first = onset(imp < oneshot)
    observed = f"last round {imp.iloc[-1].mean():.2f} against {oneshot.iloc[-1].mean():.2f}; {_from(table, first)}"
    return judge(first is not None, observed, 2 * imp.size)


def check_growth(table: "DataFrame") -> Verdict:
    values = curve(table, "imp", "kurtosis").mean(axis=1)
    chance = curve(table, "random", "kurtosis").mean(axis=1)
    line, grown = float(table["gaussian"].iloc[0]), float(values.iloc[-1] - values.iloc[0])
    rank = float(values.rank().corr(values.index.to_series().rank()))
    good = values.iloc[-1] > line and rank >= MONOTONE and grown > chance.max() - chance.min()
    observed = (
        f"{values.iloc[0]:.3f} to {values.iloc[-1]:.3f} (maximum {values.max():.3f}), rank correlation {rank:.2f}"
    )
    note = f"Gaussian samples of the same size give {line:.3f}; random masks vary by {chance.max() - chance.min():.3f}"
    return judge(good, observed, values.size, note)


def kurtosis_onset(table: "DataFrame") -> int | None:
    """The round from which IMP's kurtosis is above the others'.

    Where one-shot pruning lowers the kurtosis, random masks are above it too, so IMP has to be above both.
    """
    imp, oneshot, chance = (curve(table, method, "kurtosis") for method in ("imp", "oneshot", "random"))
    return onset((imp > oneshot) & (imp > chance))


def check_kurtosis_gap(table: "DataFrame") -> Verdict:
    imp, oneshot, chance = (curve(table, method, "kurtosis") for method in ("imp", "oneshot", "random"))
    above, first = onset(imp > oneshot), kurtosis_onset(table)
    last = [float(values.iloc[-1].mean()) for values in (imp, oneshot, chance)]
    observed = "last round: imp {:.3f}, oneshot {:.3f}, random {:.3f}".format(*last)
    note = f"over one-shot: {_from(table, above)}; over random masks as well: {_from(table, first)}"
    return judge(first is not None, observed, 3 * imp.size, note)


def check_order(table: "DataFrame") -> Verdict:
    kurtosis = kurtosis_onset(table)
    width = onset(curve(table, "imp", "width") < curve(table, "oneshot", "width"))
    good = kurtosis is not None and width is not None and kurtosis < width
    return judge(good, f"kurtosis {_from(table, kurtosis)}, width {_from(table, width)}", 2 * len(table))


def check_only_trained(table: "DataFrame") -> Verdict:
    chance = curve(table, "random", "kurtosis").mean(axis=1)
    imp, oneshot, moved = (change(table, method, "kurtosis") for method in ("imp", "oneshot", "random"))
    spread = float(chance.max() - chance.min())
    good = min(imp, oneshot) > spread and abs(moved) <= QUIET * min(imp, oneshot)
    return judge(good, f"changes: imp {imp:+.3f}, oneshot {oneshot:+.3f}, random {moved:+.3f}", 3 * chance.size)


def check_identity(table: "DataFrame") -> Verdict:
    early = curve(table, "oneshot", "differ").iloc[:2]
    differ = int(early.to_numpy().sum())
    return judge(differ == 0, f"{differ} entries differ in rounds 0 and 1", early.size)


def imp_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of IMP."""
    return replace(table, "imp", by="random")


def trained_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of IMP and one-shot pruning."""
    return replace(imp_as_random(table), "oneshot", by="random")


def kurtosis_as_width(table: "DataFrame") -> "DataFrame":
    """The table with a kurtosis that follows the width, so that both gaps open in the same round."""
    return table.assign(kurtosis=3 + table["full_width"] - table["width"])


def random_as_imp(table: "DataFrame") -> "DataFrame":
    """The table with IMP instead of random masks."""
    return replace(table, "random", by="imp")


def oneshot_as_random(table: "DataFrame") -> "DataFrame":
    """The table with random masks instead of one-shot pruning."""
    return replace(table, "oneshot", by="random")


def replace(table: "DataFrame", method: str, *, by: str) -> "DataFrame":
    """The table with a method's rows taken from another one."""
    import pandas

    copies = table[table["method"] == by].assign(method=method)
    return pandas.DataFrame(pandas.concat([table[table["method"] != method], copies], ignore_index=True))


def _from(table: "DataFrame", first: int | None) -> str:
    if first is None:
        return f"no lasting gap in all {table['seed'].nunique()} seeds"
    density = table[table["round"] == first]["density"].mean()
    return f"gap in every seed from round {first} (density {density:.3f}) on"
