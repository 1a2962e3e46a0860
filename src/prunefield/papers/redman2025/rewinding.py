"""Our own question: do Figs 4 and 5 and hypothesis H* turn out the same at an earlier rewind point?"""

from collections.abc import Mapping
from functools import partial

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import add_legend, letter_panels, title_part
from prunefield.papers import Frame, Item, Scale, Verdict, replace_rows, rows
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, read_groups
from prunefield.papers.redman2025._evidence import fill_evidence, read_evidence
from prunefield.papers.redman2025._fates import (
    READING_CHOICE,
    WHAT,
    add_panels,
    compare_signs,
    count_signs,
    draw_rounds,
    judge_readings,
    share_excess,
    shuffled,
)
from prunefield.papers.redman2025._hstar import GREEDY_CHOICE, MAXIMAL_CHOICE, claim_hypothesis
from prunefield.papers.redman2025._ideal import fill_scores
from prunefield.papers.redman2025._nets import SIZES, claim_on_nets
from prunefield.papers.redman2025._pictures import data_in, draw_evidence
from prunefield.papers.redman2025.conditions import base, plan_widths
from prunefield.runs import Result, Run
from prunefield.runs.cavity import Cavity
from prunefield.runs.greedy import Greedy
from prunefield.runs.imp import Imp
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.widths import Widths
from prunefield.tasks.clone import Clone

START, USUAL = "rewound to the start", "rewound to the usual step"  # of training
SCORED = {"smoke": 400, "night": 500}  # training images of each class that greedy pruning scores with
claim_at = partial(claim_on_nets, decided_at="night", per={"point": (START, USUAL)})


def rewind_nets(scale: Scale, *, clone: bool = False) -> list[Imp]:
    """The net of `conditions`, rewound to the start and to its usual step; or the same on the Gaussian clone."""
    usual = base(scale)
    task = Clone(of=usual.task) if clone else usual.task
    return [Imp(**{**dict(usual), "task": task, "rewind": step}) for step in (0, usual.rewind)]


class Rewinding(Item):
    """Cavity scores (Fig. 5), kurtosis (Fig. 4B) and H* with its controls, for a net that is rewound to the start of
    its training or, as in the paper, to a fortieth of it (redman2025, Sec. 2.1 and 3.3).
    """

    title = "Cavity scores and hypothesis H* at an earlier rewind point"
    size = (11, 21)
    scales = ("smoke", "night")
    from_values = True
    open_choices = (
        "This item is not in the paper, which rewinds to step 1,000 of 40,000. It uses the net of `conditions` (at "
        "night scale the paper's with 256 units and a quarter of its steps, on crops of Tiny ImageNet), rewound to "
        "step 250 of 10,000, which is the paper's fraction, and to step 0, the initial weights. One seed.",
        CAVITY_CHOICE,
        READING_CHOICE,
        "The expectations for Figs 4B and 5C were written down before any score and kurtosis of these nets was "
        "computed (both had been pruned before, and their widths published in `conditions`): that the signs of Fig. 5C "
        "and the order of Fig. 4B are there at both points, and that earlier rewinding does not weaken the signs, as "
        "late rewinding would hide what the initial weights show.",
        GREEDY_CHOICE,
        MAXIMAL_CHOICE,
        "The parts of H* were added after these results, with the criteria of `hypothesis`. The widths of both nets, "
        "(b), greater kurtosis (holds at both points), and (c) were known (10 of 10 groups positive at the usual step, "
        "9 of 10 at the start, so that its verdicts differ). Written down before the rest was computed: (a) holds "
        "and (d), enough to localise, does not, at both points, as with larger nets; greedy pruning, which scores with "
        f"{SCORED['night']} images per class (250 in `hypothesis`, where its rise was too small to decide anything), "
        "raises the kurtosis by more than there; and, but for (c), the verdicts at the two points are the same.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        size = SIZES["smoke"]["images"] if scale == "smoke" else SIZES["night"]["tiny-imagenet"]
        found: list[Run] = []
        for imp in rewind_nets(scale):
            same = {"of": imp, "per_class": size.per_class, "scored": SCORED[scale], "top": plan_widths(imp).top}
            found += [Cavity(of=imp, per_class=size.cavity), Kurtosis(of=imp, per_class=size.per_class)]
            found += [Greedy(goal="kurtosis", parts=size.parts, **same), Greedy(goal="corrected", **same)]
        nets = (*rewind_nets(scale), *rewind_nets(scale, clone=True))
        return found + [plan_widths(imp) for imp in nets]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per rewind point, control, round n and group (Fig. 5); and one per rewind point, kind of inputs,
        method and round, as in `hypothesis`.
        """
        tables = []
        for point in (START, USUAL):
            part: dict[Run, Result] = {
                run: result
                for run, result in results.items()
                if isinstance(run, Cavity | Kurtosis | Greedy | Widths) and (run.of.rewind == 0) == (point == START)
            }
            tables += [one.assign(point=point) for one in (read_groups(part), read_evidence(part))]
        return pandas.concat(tables, ignore_index=True)

    def ideal(self) -> Frame:
        """Figs 3 to 5, and greedy pruning that reaches what IMP reaches, at both points."""
        points = {"data": ("tiny-imagenet",), "seed": (0,), "point": (START, USUAL)}
        return pandas.concat([fill_scores(**points), fill_evidence(**points)], ignore_index=True)

    @claim_at(
        "After r − 1 rounds the group of round r is positive and later ones are negative",
        at="our question; Sec. 3.3, Fig. 5C",
        expect="more signs agree with the paper than with fates shuffled, from n = 1 on",
        null=shuffled,
    )
    def signs(table: Frame) -> Verdict:
        return compare_signs(table, "shuffled")

    @claim_on_nets(
        "The signs are as clear after rewinding to the start",
        at="our question",
        expect="the share of signs as in the paper exceeds that with fates shuffled, by at least as much as after "
        "rewinding to the usual step",
        null=replace_rows({"by": "fate", "point": START}, by={"by": "shuffled", "point": START}),
        decided_at="night",
        per=None,
    )
    def as_clear(table: Frame) -> Verdict:
        def measure(name: str) -> tuple[bool, str]:
            start, usual = (share_excess(rows(table, point=point), name) for point in (START, USUAL))
            return start > 0 and start >= usual, f"{start:+.2f} at the start, {usual:+.2f} at the usual step"

        return judge_readings(measure, 2 * count_signs(table))

    parts = claim_hypothesis(claim_at, "point")

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        lettered: list[Axes] = []
        for part, point in zip(figure.subfigures(2, 1, squeeze=False)[:, 0], (START, USUAL), strict=True):
            found = rows(table, point=point)
            title_part(part, f"{', '.join(data_in(found))}, {point}")
            grid = part.add_gridspec(4, 3)
            scores = add_panels(part, grid, 0, alike=5)
            draw_rounds(scores, found[found["by"].notna()].astype({"group": int}))
            evidence = [part.add_subplot(grid[row, column]) for row in (2, 3) for column in range(3)]
            draw_evidence(evidence, found)
            lettered += scores[:-1] + evidence[:4]
        letter_panels(lettered)
        add_legend(figure, lettered[:1], ncols=4, title=WHAT)
