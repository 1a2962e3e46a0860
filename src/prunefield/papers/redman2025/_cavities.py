"""The cavity scores that Figs 5 and S4 and the hypothesis share."""

from collections.abc import Iterator, Mapping

from prunefield.papers import Frame, Scale, gather
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._nets import HELD_OUT, kurtoses, make_row
from prunefield.runs import Result, Run
from prunefield.runs.cavity import Cavity

CAVITY_CHOICE = (
    "Cavity scores: eq. 5 in each class, then the mean over classes, at θ(rewind)⊙m(n); weights without a score (the "
    f"last of a unit) are counted and left out; {HELD_OUT}."
)
SCORES = ("exact", "of_mean", "pooled", "first")


def cavities(scale: Scale) -> list[Run]:
    """The cavity scores of each net."""
    return [Cavity(of=one.of, per_class=one.per_class) for one in kurtoses(scale)]


def read_groups(results: Mapping[Run, Result]) -> Frame:
    """One row per data set, seed, control, round n and group; scores times N_W(n), which is `per_unit`."""

    def read(run: Cavity, result: Result) -> Iterator[Row]:
        keep = 1 - run.of.fraction
        for record in (record for record in result.records if record["by"] != "all"):
            row = make_row(run.of, record, "by", "round", "group", "count", "excluded", "per_unit")
            share = {"before": keep ** (row["group"] - 1), "after": keep ** row["group"]}
            scores = {name: record[name] and row["per_unit"] * record[name] for name in SCORES}
            yield {**row, "survives": row["group"] > run.of.rounds, **share, **scores}

    return gather(results, read, Cavity).astype(dict.fromkeys(SCORES, float))
