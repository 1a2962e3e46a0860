"""Our own question: do cavity scores and kurtosis follow Figs 4 and 5 at an earlier rewind point, too?"""

from collections.abc import Mapping

import pandas
from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, replace_rows, rows
from prunefield.papers._kit import GREY, Row
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, read_groups
from prunefield.papers.redman2025._curves import curve, imp_as_random, judge_kurtosis_gap
from prunefield.papers.redman2025._fates import (
    READING_CHOICE,
    compare_signs,
    draw_rounds,
    judge_readings,
    pruned,
    share_signs,
    shuffled,
)
from prunefield.papers.redman2025._ideal import ROUNDS, fill_scores, fill_table, trace_curves
from prunefield.papers.redman2025._intervals import draw_mean
from prunefield.papers.redman2025._nets import SIZES, make_row
from prunefield.papers.redman2025._pictures import COLOURS, LABELS
from prunefield.papers.redman2025.conditions import base
from prunefield.runs import Result, Run
from prunefield.runs.cavity import Cavity
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.kurtosis import Kurtosis

START, USUAL = "the start", "the usual step"  # of training, to which weights are rewound
POINTS = [{"point": START}, {"point": USUAL}]


def rewind_nets(scale: Scale) -> list[Imp]:
    """The net of `conditions`, rewound to the start and to its usual step."""
    usual = base(scale)
    return [Imp(**{**dict(usual), "rewind": 0}), usual]


def share_excess(table: Frame, name: str) -> float:
    """By how much the share of signs as in Fig. 5C exceeds that with fates shuffled."""
    fate, chance = (share_signs(table, by, name).mean() for by in ("fate", "shuffled"))
    return float(fate - chance)


class Rewinding(Item):
    """Cavity scores (Fig. 5) and kurtosis (Fig. 4B) of a net that is rewound to the start of its training or, as in
    the paper, to a fortieth of it (redman2025, Sec. 2.1 and 3.3).
    """

    title = "Cavity scores and kurtosis at an earlier rewind point"
    size = (19, 6.4)
    scales = ("smoke", "night")
    from_values = True
    open_choices = (
        "This item is not in the paper, which rewinds to step 1,000 of 40,000. It uses the net of `conditions` (at "
        "night scale the paper's with 256 units and a quarter of its steps, on crops of Tiny ImageNet), rewound to "
        "step 250 of 10,000, which is the paper's fraction, and to step 0, the initial weights. One seed.",
        CAVITY_CHOICE,
        READING_CHOICE,
        "Expectations were written down before any of its scores and kurtoses was computed (both nets had been pruned "
        "before, and their widths published in `conditions`): that the signs of Fig. 5C and the order of "
        "Fig. 4B are there at both points, and that earlier rewinding does not weaken the signs, as late rewinding "
        "would hide what the initial weights show.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        size = SIZES["smoke"]["images"] if scale == "smoke" else SIZES["night"]["tiny-imagenet"]
        scores: list[Run] = [Cavity(of=imp, per_class=size.cavity) for imp in rewind_nets(scale)]
        return scores + [Kurtosis(of=imp, per_class=size.per_class) for imp in rewind_nets(scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per rewind point, control, round n and group; and one per rewind point, method and round."""

        def measure(run: Kurtosis, result: Result) -> list[Row]:
            found = [make_row(run.of, record, "method", "round", kurtosis="within") for record in result.records]
            return [{**row, "density": (1 - run.of.fraction) ** row["round"]} for row in found]

        tables = []
        for point in (START, USUAL):
            part: dict[Run, Result] = {
                run: result
                for run, result in results.items()
                if isinstance(run, Cavity | Kurtosis) and (run.of.rewind == 0) == (point == START)
            }
            tables += [one.assign(point=point) for one in (read_groups(part), gather(part, measure, Kurtosis))]
        return pandas.concat(tables, ignore_index=True)

    def ideal(self) -> Frame:
        """Figs 4B and 5 at both points."""
        points = {"data": ("tiny-imagenet",), "seed": (0,), "point": (START, USUAL)}
        curves = fill_table(trace_curves, method=METHODS, round=range(ROUNDS + 1), **points)
        return pandas.concat([fill_scores(**points), curves.drop(columns="width")], ignore_index=True)

    @claim(
        "After r − 1 rounds the group of round r is positive and later ones are negative, rewinding to {point}",
        at="our question; Sec. 3.3, Fig. 5C",
        expect="more signs agree with the paper than with fates shuffled, from n = 1 on",
        null=shuffled,
        decided_at="night",
        each=POINTS,
    )
    def signs(table: Frame, point: str) -> Verdict:
        return compare_signs(rows(table, point=point), "shuffled")

    @claim(
        "The signs are as clear after rewinding to the start",
        at="our question",
        expect="the share of signs as in the paper exceeds that with fates shuffled, by at least as much as after "
        "rewinding to the usual step",
        null=replace_rows({"by": "fate", "point": START}, by={"by": "shuffled", "point": START}),
        decided_at="night",
    )
    def as_clear(table: Frame) -> Verdict:
        def measure(name: str) -> tuple[bool, str]:
            start, usual = (share_excess(rows(table, point=point), name) for point in (START, USUAL))
            return start > 0 and start >= usual, f"{start:+.2f} at the start, {usual:+.2f} at the usual step"

        return judge_readings(measure, 2 * len(pruned(table)))

    @claim(
        "IMP leads to greater kurtosis than one-shot pruning, rewinding to {point}",
        at="our question; Sec. 3.2, Fig. 4B",
        expect="above that of one-shot pruning and of random masks, from some round to the end",
        null=imp_as_random,
        decided_at="night",
        each=POINTS,
    )
    def kurtosis(table: Frame, point: str) -> Verdict:
        return judge_kurtosis_gap(rows(table, point=point, method=METHODS))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        lines = figure.subplots(2, 6)
        for (*scores, last), point in zip(lines, (START, USUAL), strict=True):
            part = rows(table, point=point)
            for axes in scores[1:]:
                axes.sharey(scores[0])
            draw_rounds(scores, part[part["by"].notna()].astype({"group": int}), f"rewound to {point}")
            for axes in scores:
                axes.axhline(0, color=GREY, linewidth=0.6)
            for method in METHODS:
                values = curve(part, method, "kurtosis")
                draw_mean(last, values.index.to_list(), values, COLOURS[method], LABELS[method], markersize=3)
            last.set(xlabel="after n rounds", ylabel="kurtosis")
            last.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, handlelength=1, columnspacing=1)
        figure.legend(*lines[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
