"""The cavity scores that Figs 5 and S4 and the hypothesis share."""

from collections.abc import Iterator, Mapping

from prunefield.papers import Frame, Scale, gather, rows
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._fates import READING, READINGS
from prunefield.papers.redman2025._nets import SIZES, data_of, list_sizes, make_row, nets
from prunefield.runs import Result, Run
from prunefield.runs.cavity import SCORES, Cavity

CAVITY_CHOICE = (
    "Cavity scores: eq. 5 in each class, then the mean over classes, at θ(rewind)⊙m(n); weights without a score (the "
    "last of a unit) are counted and left out; held-out images per class, or all if a finite set has fewer: "
    f"{list_sizes(lambda setting: setting.cavity)}."
)


def cavities(scale: Scale) -> list[Run]:
    """The cavity scores of each net."""
    return [Cavity(of=imp, per_class=SIZES[scale][data_of(imp.task)].cavity) for imp in nets(scale)]


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


def read_next(results: Mapping[Run, Result]) -> Frame:
    """The scores of the group that is pruned next, by data set, seed and round: `next` for the reading of the claims
    and `next_<name>` for each other one, and with fates shuffled.
    """
    groups = read_groups(results)
    after = rows(groups[groups["group"] == groups["round"] + 1], by=("fate", "shuffled"))
    table = after.pivot(index=["data", "seed", "round"], columns="by", values=list(READINGS))
    return table.set_axis([name_next(*names) for names in table.columns], axis=1).reset_index()


def name_next(name: str, by: str = "fate") -> str:
    """The column of `read_next` that holds a reading."""
    return "next" + (f"_{name}" if name != READING else "") + ("" if by == "fate" else f"_{by}")
