"""The panels of H*: width and kurtosis of all methods, and the scores of the weights that are pruned next."""

from matplotlib.axes import Axes

from prunefield.papers import Frame, rows
from prunefield.papers._kit import BLACK, GREY, PALETTE
from prunefield.papers.redman2025._cavities import name_next
from prunefield.papers.redman2025._curves import curve
from prunefield.papers.redman2025._fates import READINGS
from prunefield.papers.redman2025._pictures import COLOURS, draw_methods
from prunefield.runs.imp import METHODS


def draw_evidence(panels: list[Axes], table: Frame, data: str) -> None:
    """Width, kurtosis, one against the other, and the scores of the next group in all readings."""
    part, methods, (width, kurtosis, both, after) = rows(table, inputs="data"), (*METHODS, "greedy", "cavity"), panels
    draw_methods(width, part, "width", methods, markersize=3)
    draw_methods(kurtosis, part, "kurtosis", methods, markersize=3)
    for method in methods:
        means = [curve(part, method, name).mean(axis=1) for name in ("kurtosis", "width")]
        both.plot(*means, "o-", color=COLOURS[method], markersize=3)
    means = [curve(rows(table, inputs="clone"), "imp", name).mean(axis=1) for name in ("density", "width")]
    width.plot(*means, "--", color=BLACK, label="IMP on the clone")
    imp = rows(part, method="imp")
    for (name, label), colour in zip(READINGS.items(), PALETTE, strict=False):
        for by, mark in (("fate", "o-"), ("shuffled", "x:")):
            values = imp.pivot(index="round", columns="seed", values=name_next(name, by)).mean(axis=1)
            name_once = label if by == "fate" else None
            after.plot(values.index, values, mark, color=colour, label=name_once, markersize=3, linewidth=0.8)
    after.axhline(0, color=GREY, linewidth=0.6)
    width.set_ylim(bottom=0)
    both.set_xlabel("kurtosis")
    after.set(xlabel="after n rounds", xticks=sorted(set(imp.dropna(subset=["next"])["round"])))
    titles = (f"{data}: width", "kurtosis", "width against kurtosis", "N_W · score of the next group")
    for axes, title in zip(panels, titles, strict=True):
        axes.set_title(title, loc="left")
    both.set_ylabel("width σx (pixels)")
    width.set_ylabel("width σx (pixels)")
    after.plot([], [], "x:", color=GREY, label="with fates shuffled", markersize=3)
