"""Fig. S2 of redman2025: how similar the masks of iterative pruning are to independent components."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prunefield.core.figures import letter_panels
from prunefield.measures.pictures import show_fields
from prunefield.papers import Frame, Scale, Verdict, gather, judge, replace_rows, rows
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._curves import imp_as_random
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import (
    DATA,
    MOST_CONNECTED,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    data_of,
    nets,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected, scale_fields, split_panels
from prunefield.papers.redman2025.fig2 import components, read_filters
from prunefield.runs import Result, Run
from prunefield.runs.widths import Widths

SMALL, MOST = 0.5, 0.9  # "skewed to small values": this share of the similarities is below SMALL
METHODS = ("imp", "random", "ica")


def compare_filters(masks: Tensor, filters: Tensor) -> tuple[Tensor, Tensor]:
    """The largest |cos| of each mask (n, …) over the filters (k, …), and which filter it is.

    >>> filters = torch.tensor([[0.0, 0.0, 1.0], [-3.0, 0.0, 0.0]])
    >>> compare_filters(torch.tensor([[True, True, False]]), filters)[1].tolist()
    [1]
    """
    flat, others = masks.flatten(1).to(filters.dtype), filters.flatten(1)
    cosines = (flat @ others.T).abs() / flat.norm(dim=1, keepdim=True) / others.norm(dim=1)
    best = cosines.max(1)
    return best.values, best.indices


def cut(filters: Tensor, masks: Tensor) -> Tensor:
    """Masks that keep as many inputs as `masks` (n, …), where the filters (n, …) are largest."""
    ranks = filters.flatten(1).argsort(1, descending=True).argsort(1)
    return (ranks < torch.count_nonzero(masks.flatten(1), 1)[:, None]).view_as(masks)


class FigS2(NetItem):
    """|cos| of each mask with the most similar of the independent components (redman2025, Fig. S2, App. B)."""

    title = "Similarity of the masks of iterative pruning to independent components"
    size = (9, 3.4 * len(DATA))
    scales = SCALES
    open_choices = (
        *SHARED_CHOICES,
        f"Masks: the most connected units, {MOST_CONNECTED}, at the last round, as vectors of 0 and 1; components as "
        "in Fig. 2. Their signs are arbitrary, so the largest |cos| over all components is taken.",
        f"'Skewed to small values', defined before any result was seen: {100 * MOST:.0f}% below {SMALL} in every "
        "seed. Two references: random masks, since the largest of 64 is above 0 by chance; and the best "
        "possible masks, which keep as many inputs as IMP's, where the component is largest.",
        "Drawn, one for each seed: the mask whose similarity is nearest to the seed's mean, of those whose component "
        "is not drawn yet for an earlier seed, if there are any.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*components(scale), *widths(scale, nets(scale))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed, method and mask, the most connected first."""
        filters = read_filters(results)

        def rate(run: Widths, _: Result) -> Iterator[Row]:
            imp, data = run.of, data_of(run.of.task)
            ours, chance = (connected(imp, results[imp], method, run.top) for method in ("imp", "random"))
            found = {
                "imp": compare_filters(ours, filters[data, "ica"]),
                "random": compare_filters(chance, filters[data, "ica"]),
            }
            best = cut(filters[data, "ica"][found["imp"][1]], ours)
            for method, pair in (found | {"ica": compare_filters(best, filters[data, "ica"])}).items():
                for n, (cosine, index) in enumerate(zip(*(part.tolist() for part in pair), strict=True)):
                    place = {"data": data, "seed": imp.seed, "method": method}
                    yield {**place, "mask": n, "cosine": cosine, "component": index}

        return gather(results, rate, Widths)

    def ideal(self) -> Frame:
        """Similarities are skewed to small values, though above those of random masks (Fig. S2B)."""
        least = {"imp": 0.1, "random": 0.05, "ica": 0.6}
        axes = {"method": METHODS, "mask": range(120)}
        return fill_table(lambda case: {"cosine": least[case["method"]] + 0.3 * (case["mask"] / 120) ** 3}, **axes)

    @claim_on_nets(
        "The similarity of IMP's masks to independent components is skewed to small values",
        at="App. B, Fig. S2B",
        expect=f"{100 * MOST:.0f}% below {SMALL}, in every seed",
        null=replace_rows({"method": "imp"}, by={"method": "ica"}),
    )
    def small(table: Frame) -> Verdict:
        imp, best = (rows(table, method=method) for method in ("imp", "ica"))
        least = (imp["cosine"] < SMALL).groupby(imp["seed"]).mean().min()
        observed = f"at least {100 * least:.0f}% below {SMALL} in every seed; mean {imp['cosine'].mean():.3f}"
        note = f"masks cut from the components themselves have {best['cosine'].mean():.3f}"
        return judge(least >= MOST, observed, len(imp), note)

    @claim_on_nets(
        "IMP's masks are more similar to independent components than random masks",
        at="our control",
        expect="a larger median in every seed",
        null=imp_as_random,
    )
    def above_chance(table: Frame) -> Verdict:
        medians = table.groupby(["seed", "method"])["cosine"].median().unstack()
        observed = f"medians: IMP {medians['imp'].mean():.3f}, random masks {medians['random'].mean():.3f}"
        return judge((medians["imp"] > medians["random"]).all(), observed, len(table))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for data, part, (left, right) in split_panels(figure, table, 2, width_ratios=(1, 1.4)):
            draw_pairs(left, part, results, data)
            for method in METHODS:
                values = rows(part, method=method)["cosine"]
                right.hist(values, bins=40, range=(0, 1), color=COLOURS[method], alpha=0.6, label=LABELS[method])
            right.set(xlabel="|cos| with the most similar component", ylabel="masks, all seeds")
            right.set_title(data)
            right.legend()
        letter_panels(figure.axes)


def draw_pairs(axes: Axes, table: Frame, results: Mapping[Run, Result], data: str) -> None:
    """For each seed a mask whose similarity is nearest to the mean, above its component: another in each, if it can."""
    filters, masks, shown = read_filters(results)[data, "ica"], [], list[int]()
    for run in (run for run in results if isinstance(run, Widths) and data_of(run.of.task) == data):
        mine = rows(table, seed=run.of.seed, method="imp")
        chosen = choose_mask(mine, shown)
        masks.append(connected(run.of, results[run.of], "imp", run.top)[chosen].float())
        shown.append(int(mine["component"][chosen]))
    pictures = torch.cat([torch.stack(masks), scale_fields(filters[shown].float())])
    show_fields(axes, pictures, len(masks), f"{data}: masks,\nbelow: components")


def choose_mask(masks: Frame, shown: Sequence[int]) -> int:
    """The row of the mask whose similarity is nearest to the mean, of those with a component that is not shown yet.

    If there is none, of all masks.

    >>> from pandas import DataFrame
    >>> masks = DataFrame({"cosine": [0.1, 0.2, 0.4], "component": [5, 7, 7]})
    >>> [choose_mask(masks, shown) for shown in ([], [7], [5, 7])]
    [1, 0, 1]
    """
    gaps = (masks["cosine"] - masks["cosine"].mean()).abs()
    others = gaps[~masks["component"].isin(shown)]
    return int((gaps if others.empty else others).idxmin())
