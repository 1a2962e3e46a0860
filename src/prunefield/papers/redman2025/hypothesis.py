"""Hypothesis H* of redman2025 on one page: its evidence, and a pruning method that maximises only the kurtosis."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import letter_panels, title_part
from prunefield.papers import Frame, Scale, rows
from prunefield.papers._kit import has_tensors
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities
from prunefield.papers.redman2025._evidence import fill_evidence, read_evidence
from prunefield.papers.redman2025._fates import READING_CHOICE
from prunefield.papers.redman2025._greedy import RAISED
from prunefield.papers.redman2025._hstar import GREEDY_CHOICE, MAXIMAL_CHOICE, claim_hypothesis
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals
from prunefield.papers.redman2025._nets import (
    CLONE_SEEDS,
    DATA,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    greedy_runs,
    kurtoses,
    nets,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import data_in, draw_evidence, draw_greedy_row, find_greedy
from prunefield.runs import Result, Run

PART, LINE = (3.2, 3.2, 2.2), 0.3  # inches: the rows of panels of a data set, and a line of words instead of the last


class Hypothesis(NetItem):
    """H*: IMP finds local fields by maximally raising the kurtosis of pre-activations (redman2025, Sec. 1, 3 and 4)."""

    title = "Hypothesis H*: localisation and the kurtosis of pre-activations under iterative pruning"
    size = (11, sum(PART) * len(DATA))
    scales = SCALES
    from_values = True
    open_choices = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        READING_CHOICE,
        GREEDY_CHOICE,
        "Greedy pruning had eq. 5 as printed at first; the corrected one took its place before any laptop result of "
        "this item was published.",
        f"{CLONE_SEEDS} The same holds for greedy pruning, which is compared with IMP on its own seeds. At night scale "
        "it prunes the net of seed 2 and not that of seed 0, which was changed before it was run there: of seeds 0 and "
        "1 only values had been kept.",
        INTERVAL_CHOICE,
        MAXIMAL_CHOICE,
        "The claim on the first round and its criterion were added after the numbers of that round had been seen: "
        "Sec. 1 says that IMP maximises the statistics at each round, and only the first begins with the same weights.",
        "Since the laptop results, greedy pruning counts in (d) only where it raises the held-out kurtosis by at least "
        f"{RAISED} of IMP's rise (as to localisation, `greedy` alone), or shows that IMP's is not maximal. With the 50 "
        "images per class of tiny-imagenet at laptop scale it does not; until this was noticed, IMP was called maximal "
        "there. At night scale it has 250, which was set for this reason, before it was run there. All other "
        "criteria were written before greedy pruning had been run. The numbers of images and scoring passes were "
        "raised after the first smoke result: one pass per round with 100 images per class gave 4.3 on those images "
        "and 2.88, the value of random masks, on others (leaves).",
    )

    def runs(self, scale: Scale) -> list[Run]:
        fields = widths(scale, (*nets(scale), *nets(scale, clone=True)))
        return [*cavities(scale), *kurtoses(scale), *fields, *greedy_runs(scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, kind of inputs, seed, method and round; next: N_W times the next group's score."""
        return add_intervals(read_evidence(results), ("width", "kurtosis"), ("data", "inputs", "method", "round"))

    def ideal(self) -> Frame:
        """Figs 3 to 5 as printed, and greedy methods that reach what IMP reaches, and no more."""
        return fill_evidence()

    parts = claim_hypothesis(claim_on_nets, "data")

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        names, lettered = data_in(table), list[Axes]()
        greedy = {data: find_greedy(results, data) for data in names}
        has_masks = {data: any(map(has_tensors, found.values())) for data, found in greedy.items()}
        lines = {data: PART if has_masks[data] else (*PART[:2], LINE) for data in names}
        heights = [sum(lines[data]) for data in names]
        figure.set_figheight(sum(heights))
        parts: Any = figure.subfigures(len(names), 1, squeeze=False, height_ratios=heights)
        for part, data in zip(parts[:, 0], names, strict=True):
            title_part(part, data)
            grid = part.add_gridspec(3, 6, height_ratios=lines[data])
            panels = [part.add_subplot(grid[row, column : column + 2]) for row in (0, 1) for column in (0, 2, 4)]
            draw_evidence(panels, rows(table, data=data))
            lettered += panels[:4] + draw_greedy_row(part, [grid[2, :3], grid[2, 3:], grid[2, :]], greedy[data])
        letter_panels(lettered)
