"""Fig. 5 of redman2025: cavity scores of weights by the round in which they are pruned, with four controls."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from prunefield.papers import Claim, Item, Scale
from prunefield.papers._rows import rows
from prunefield.papers.redman2025 import _fig5_checks as checks
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities
from prunefield.papers.redman2025._claims import on_each
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_mean
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, data_of
from prunefield.runs import Result, Run
from prunefield.runs.cavity import Cavity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

COLUMNS = ("exact", "of_mean", "pooled", "first")
CONTROLS = {"fate": "IMP's fates", "shuffled": "fates shuffled", "magnitude": "by |θ(rewind)|", "oneshot": "one-shot"}
COLOURS = {"fate": "#000000", "shuffled": "#d55e00", "magnitude": "#009e73", "oneshot": "#0072b2"}


class Fig5(Item):
    """Mean cavity score by round of removal, at round 0 (B) and at every round (C) (redman2025, Fig. 5, Sec. 3.3)."""

    title: ClassVar[str] = "Cavity scores by the round in which weights are pruned"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        "N_W(n) is taken as the number of kept inputs of a unit, not of all parameters: only then does −0.1 have the "
        "right order of magnitude.",
        "Groups at smoke scale (5 rounds of 45 %) are judged at the densities of the paper's groups: early if pruned "
        "at a density above 0.48, late if still kept at 0.35; here these are group 1, and groups from 3 on; groups 2 "
        "and 5 correspond to the paper's 3 and 8. Survivors are drawn but left out of the claims.",
        "Our own controls: fates shuffled among the weights of a unit; groups of the same sizes by |θ(rewind)|, the "
        "smallest first; masks and fates of one-shot pruning; the first order in the weight; two other averages.",
        "To first order the scores of a unit sum to zero in each class, so if later groups are negative, the next "
        "one must be positive: the two halves of the pattern are not independent.",
        INTERVAL_CHOICE,
        "All criteria but one were written before any score of these nets had been seen: at n = 0 the text has two "
        "positive groups (Fig. 5B) and then says that all but the next are negative (Fig. 5C), so Fig. 5C is judged "
        "from n = 1 on.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "Before any pruning, weights that are pruned early have positive cavity scores and those pruned late "
            "have negative ones",
            "Sec. 3.3, Fig. 5B",
            "groups 1 and 2 positive, groups from 4 on negative, in every seed",
            checks.check_first_round,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "Weights that are pruned in round 3 have a score of approximately zero before any pruning",
            "Sec. 3.3, Fig. 5B",
            f"at most {checks.ZERO} of the largest |score| of a group, in every seed",
            checks.check_third,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "Weights that are removed in round r have a positive mean score after r − 1 rounds",
            "Sec. 3.3, Fig. 5C",
            "in every round and seed",
            checks.check_next,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "After r − 1 rounds the group of round r is positive and all later ones are negative",
            "Sec. 3.3, Fig. 5C",
            "every sign in every seed, from n = 1 on",
            checks.check_pattern,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "The scores of weights that are pruned in round 8 are well below zero until round 7, then positive",
            "Sec. 3.3, Fig. 5C",
            f"below {checks.DEEP} (times N_W) for n = 0 to 6 and above 0 for n = 7, in every seed",
            checks.check_striking,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "Before any pruning, the order of the scores is the order of removal",
            "Sec. 4 (future directions)",
            f"rank correlation of score and round at most {checks.FALLING} in every seed",
            checks.check_fall,
            checks.shuffled_fates,
            decided_at="laptop",
        ),
        Claim(
            "The pattern reflects IMP's fates and not the magnitudes at the rewind point",
            "our control (Sec. 3.3: magnitude is not strongly connected to the score)",
            "in every seed more signs agree with the paper than for groups by |θ(rewind)|",
            checks.check_against_magnitude,
            partial(checks.fate_as, "magnitude"),
            decided_at="laptop",
        ),
        Claim(
            "The pattern is specific to iterative pruning and absent from one-shot pruning",
            "our control (Sec. 3.3: order, in addition to identity)",
            "in every seed more signs agree with the paper than with the masks and fates of one-shot pruning",
            checks.check_against_oneshot,
            partial(checks.fate_as, "oneshot"),
            decided_at="laptop",
        ),
        Claim(
            "The first order in the weight explains the signs",
            "our control",
            f"the same sign in {100 * checks.AGREEING:.0f} % of the groups",
            checks.check_first_order,
            checks.opposite_signs,
            decided_at="laptop",
        ),
        Claim(
            "The signs do not depend on how classes are averaged, which the paper does not specify",
            "our control (Sec. 3.3)",
            f"the same sign in {100 * checks.AGREEING:.0f} % of the groups",
            checks.check_averaging,
            checks.opposite_signs,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*cavities(scale)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, seed, control, round n and group; scores times N_W(n), which is `per_unit`."""
        import pandas

        found = []
        for run in (run for run in results if isinstance(run, Cavity)):
            imp = run.of
            for record in (record for record in results[run].records if record["by"] != "all"):
                group, per_unit = record["group"], record["per_unit"]
                place = {"data": data_of(imp), "seed": imp.seed, "by": record["by"], "round": record["round"]}
                share = {"before": (1 - imp.fraction) ** (group - 1), "after": (1 - imp.fraction) ** group}
                what = {"group": group, "survives": group > imp.rounds, **share}
                counts = {name: record[name] for name in ("count", "excluded", "per_unit")}
                scores = {name: None if record[name] is None else per_unit * record[name] for name in COLUMNS}
                found.append(place | what | counts | scores)
        table = pandas.DataFrame(found).astype(dict.fromkeys(COLUMNS, float))
        return add_intervals(table, ("exact",), ("data", "by", "round", "group"))

    def ideal(self) -> "DataFrame":
        """The next group is positive and later ones are negative; at n = 0 groups 1 and 2 are positive, 3 is near zero.

        In the controls every group has the same score, slightly below zero.
        """

        def fill(case: Case) -> Case:
            n, group = case["round"], case["group"]
            later = group - n - 1
            score = 0.3 - 0.14 * later if n == 0 or later == 0 else -0.14 * later
            share = {"survives": group > ROUNDS, "before": 0.7 ** (group - 1), "after": 0.7**group}
            return share | dict.fromkeys(COLUMNS, score if case["by"] == "fate" else -0.02)

        table = fill_table(fill, by=CONTROLS, round=range(ROUNDS), group=range(1, ROUNDS + 2))
        return table.query("group > round")

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(13, 3.4 * len(DATA)), layout="constrained")
        grid = figure.subplots(len(DATA), 5, squeeze=False, sharey="row")
        groups = sorted(table["group"].unique().tolist())
        for panels, data in zip(grid, DATA, strict=True):
            part = rows(table, data=data)
            first = rows(part, round=0)
            for by, label in CONTROLS.items():
                _draw_line(panels[0], rows(first, by=by), COLOURS[by], label)
            panels[0].set_title(f"B  {data}, n = 0", loc="left", fontweight="bold")
            panels[0].set_ylabel("N_W · mean cavity score")
            panels[0].legend(fontsize=6)
            for axes, by in zip(panels[1:], CONTROLS, strict=True):
                _draw_rounds(axes, rows(part, by=by))
                axes.set_title(f"C  {CONTROLS[by]}", loc="left", fontweight="bold", color=COLOURS[by])
            panels[-1].legend(fontsize=6, title="after n rounds", ncols=2)
        for axes in grid.flatten():
            axes.axhline(0, color="grey", linewidth=0.6)
            axes.set_xticks(groups)
            axes.set_xlabel("removed in round (last: never)")
        return figure


def _draw_rounds(axes: "Axes", table: "DataFrame") -> None:
    import matplotlib

    rounds = sorted(table["round"].unique().tolist())
    colours = matplotlib.colormaps["rainbow_r"]
    for n in rounds:
        _draw_line(axes, rows(table, round=n), colours(n / max(1, len(rounds) - 1)), f"{n}")


def _draw_line(axes: "Axes", table: "DataFrame", colour: object, label: str) -> None:
    values = table.pivot(index="group", columns="seed", values="exact").sort_index()
    draw_mean(axes, values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
