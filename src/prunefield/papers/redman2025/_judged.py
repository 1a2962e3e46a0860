"""Claims of Figs 4, 5 and S3 and of hypothesis H*, as they are judged for other nets."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pandas

from prunefield.papers import Check, Claims, Frame, Null, rows
from prunefield.papers.redman2025._curves import imp_as_random
from prunefield.papers.redman2025._fates import READING, READINGS
from prunefield.papers.redman2025._hstar import PARTS, judge_together
from prunefield.papers.redman2025._nets import DATA
from prunefield.papers.redman2025.fig4 import Fig4
from prunefield.papers.redman2025.fig5 import Fig5
from prunefield.papers.redman2025.figS3 import FigS3

ENOUGH = 3  # seeds of a setting in which a claim must hold to be true in that setting
DATASET = "tiny-imagenet"  # as which the crops of two photographs at smoke scale are judged, too


class Judged(NamedTuple):
    """A claim of the paper, as it is judged for the nets of a table, all with the same settings."""

    text: str
    check: Check
    null: Null
    part: str = "curves"  # the rows of the table that it needs: `curves` or `scores`
    prepare: Callable[[Frame], Frame] = lambda table: rows(table, layer=1)

    def select(self, table: Frame) -> Frame:
        return self.prepare(rows(table, part=self.part).assign(data=DATASET))

    def holds(self, table: Frame) -> bool:
        return self.check(self.select(table)).status == "reproduced"

    def spoil(self, table: Frame) -> Frame:
        """The null: that of the claim in each net."""
        parts = [self.null(self.select(net)) for _, net in table.groupby(["axis", "value", "seed"], sort=False)]
        return pandas.concat(parts, ignore_index=True)


def take(claims: Claims, **where: Any) -> Judged:
    """A claim of another item, on these images."""
    one = claims[DATA.index(DATASET)]
    assert one.null
    return Judged(one.text.removesuffix(f" ({DATASET})"), one.check, one.null, **where)


def take_score(claims: Claims) -> Judged:
    return take(claims, part="scores", prepare=lambda table: table)


def take_layers(claims: Claims, moments: str) -> Judged:
    """A claim about both layers, batch norm in the second with the moments of the masked or of the dense net."""
    judged = take(claims, prepare=lambda table: rows(table, moments=("", moments)))
    return judged._replace(text=judged.text + ("" if moments == "masked" else ", with the dense net's moments"))


TOGETHER = Judged(
    PARTS[2].text, judge_together, imp_as_random, prepare=lambda t: rows(t, layer=1).assign(width=t["width_median"])
)
FAILING = {  # of what fails at the paper's own size and length on photographs, by its short name in the figure
    "4A: both local": take(Fig4.local),
    "5B: signs": take_score(Fig5.early_and_late),
    "5C: next group": take_score(Fig5.next_is_positive),
    "5C: all signs": take_score(Fig5.all_signs),
    "5C: group 8": take_score(Fig5.striking),
    "S3: falls at the end": take_layers(FigS3.falls_slightly, "masked"),
    "S3: falls, dense moments": take_layers(FigS3.falls_slightly, "dense"),
    "S3: earlier plateau": take_layers(FigS3.earlier_plateau, "masked"),
    "S3: plateau, dense moments": take_layers(FigS3.earlier_plateau, "dense"),
    "H* (b): together": TOGETHER,
}
HOLDING = {  # of what holds there
    "4A: IMP leads": take(Fig4.narrower_than_oneshot),
    "4B: rises": take(Fig4.kurtosis_grows),
    "4B: IMP leads": take(Fig4.kurtosis_above_oneshot),
    "4: kurtosis first": take(Fig4.kurtosis_comes_first),
    "5B: order": take_score(Fig5.in_order),
    "S3: rises": take_layers(FigS3.grows, "masked"),
}


def judge_settings(table: Frame, judged: Judged) -> dict[str, list[bool]]:
    """Whether a claim holds, for each setting and seed."""
    return {
        ": ".join(filter(None, map(str, place))): [judged.holds(net) for _, net in nets.groupby("seed")]
        for place, nets in table.groupby(["axis", "value"], sort=False)
    }


def tell_readings(table: Frame, judged: Judged) -> str:
    """In how many nets a claim about cavity scores holds in each other reading, and in which settings it is true."""
    told = []
    for reading, label in READINGS.items() if judged.part == "scores" else ():
        if reading != READING:
            found = judge_settings(table.assign(**{READING: table[reading]}), judged)
            true = [setting for setting, seeds in found.items() if len(seeds) >= ENOUGH and all(seeds)]
            told.append(f"{label}: {sum(map(sum, found.values()))}" + (f" (all of {', '.join(true)})" if true else ""))
    return f"number of nets in other readings: {'; '.join(told)}" if told else ""
