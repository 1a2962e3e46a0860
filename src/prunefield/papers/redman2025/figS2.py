"""Fig. S2 of redman2025: how similar the masks of iterative pruning are to independent components."""

from collections.abc import Mapping
from statistics import mean, median
from typing import TYPE_CHECKING, ClassVar

from prunefield.measures.pictures import show
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._fig4_checks import imp_as_random, replace
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, TOP, data_of, nets
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected
from prunefield.papers.redman2025.fig2 import components, find_run, scale_fields
from prunefield.runs import Result, Run
from prunefield.runs.widths import Widths

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

SMALL, MOST = 0.5, 0.9  # "skewed to small values": this share of the similarities is below SMALL
SHADES = {**COLOURS, "ica": "#009e73"}
METHODS = {"imp": LABELS["imp"], "random": LABELS["random"], "ica": "cut from the components"}


def check_small(table: "DataFrame") -> Verdict:
    imp, best = (column(rows(table, method=method), "cosine") for method in ("imp", "ica"))
    seeds = [column(rows(table, method="imp", seed=seed), "cosine") for seed in table["seed"].unique()]
    least = min(sum(cosine < SMALL for cosine in cosines) / len(cosines) for cosines in seeds)
    observed = f"at least {100 * least:.0f} % below {SMALL} in every seed; mean {mean(imp):.3f}"
    note = f"masks cut from the components themselves have {mean(best):.3f}"
    return judge(least >= MOST, observed, len(imp), note)


def check_chance(table: "DataFrame") -> Verdict:
    pairs = [
        [median(column(rows(table, method=method, seed=seed), "cosine")) for method in ("imp", "random")]
        for seed in table["seed"].unique()
    ]
    ours, theirs = (mean(pair[which] for pair in pairs) for which in (0, 1))
    good = all(imp > chance for imp, chance in pairs)
    return judge(good, f"medians: IMP {ours:.3f}, random masks {theirs:.3f}", len(table))


def imp_as_components(table: "DataFrame") -> "DataFrame":
    """The table with masks cut from the independent components instead of IMP's."""
    return replace(table, "imp", by="ica")


class FigS2(Item):
    """|cos| of each mask with the most similar of the independent components (redman2025, Fig. S2, App. B)."""

    title: ClassVar[str] = "Similarity of the masks of iterative pruning to independent components"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        "Masks: the most connected units (120 of 1024; 40 of 256, 20 of 64) at the last round, as vectors of 0 and 1; "
        "components as in Fig. 2. Their signs are arbitrary, so the largest |cos| over all components is taken.",
        f"'Skewed to small values', defined before any result was seen: {100 * MOST:.0f} % below {SMALL} in every "
        "seed. Two references: random masks, since the largest of 64 is above 0 by chance; and the best that a mask "
        "can do, which keeps as many inputs as IMP's mask where its component is largest.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "The similarity of IMP's masks to independent components is skewed to small values",
            "App. B, Fig. S2B",
            f"{100 * MOST:.0f} % below {SMALL}, in every seed",
            check_small,
            imp_as_components,
            decided_at="laptop",
        ),
        Claim(
            "IMP's masks are more similar to independent components than random masks",
            "our control",
            "a larger median in every seed",
            check_chance,
            imp_as_random,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        widths = (Widths(of=imp, top=TOP[scale]) for data in DATA for imp in nets(scale, data))
        return [*components(scale).values(), *widths]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, seed, method and mask, the most connected first."""
        import pandas

        found = []
        for run in (run for run in results if isinstance(run, Widths)):
            imp, filters = run.of, _filters(results, data_of(run.of))
            ours, chance = (connected(imp, results[imp], method, run.top) for method in ("imp", "random"))
            _, nearest = compare(ours, filters)
            for method, masks in {"imp": ours, "random": chance, "ica": cut(filters[nearest], ours)}.items():
                cosines, best = compare(masks, filters)
                place = {"data": data_of(imp), "seed": imp.seed, "method": method}
                pairs = enumerate(zip(cosines.tolist(), best.tolist(), strict=True))
                found += [place | {"mask": n, "cosine": cosine, "component": index} for n, (cosine, index) in pairs]
        return pandas.DataFrame(found)

    def ideal(self) -> "DataFrame":
        """Similarities are skewed to small values, though above those of random masks (Fig. S2B)."""
        least = {"imp": 0.1, "random": 0.05, "ica": 0.6}
        axes = {"method": METHODS, "mask": range(120)}
        return fill_table(lambda case: {"cosine": least[case["method"]] + 0.3 * (case["mask"] / 120) ** 3}, **axes)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3 * len(DATA)), layout="constrained")
        grid = figure.add_gridspec(len(DATA), 2, width_ratios=(1, 1.4))
        for place, data in enumerate(DATA):
            part = rows(table, data=data)
            _draw_pairs(figure.add_subplot(grid[place, 0]), part, results, data)
            axes = figure.add_subplot(grid[place, 1])
            for method, label in METHODS.items():
                values = rows(part, method=method)["cosine"]
                axes.hist(values, bins=40, range=(0, 1), color=SHADES[method], alpha=0.6, label=label)
            axes.set_xlabel("|cos| with the most similar component")
            axes.set_ylabel("masks, all seeds")
            axes.set_title(f"B  {data}", loc="left", fontweight="bold")
            axes.legend()
        return figure


def compare(masks: "Tensor", filters: "Tensor") -> "tuple[Tensor, Tensor]":
    """The largest |cos| of each mask (n, …) over the filters (k, N), and which filter it is.

    >>> import torch
    >>> compare(torch.tensor([[True, True, False]]), torch.tensor([[0.0, 0.0, 1.0], [-3.0, 0.0, 0.0]]))[1].tolist()
    [1]
    """
    flat = masks.flatten(1).to(filters.dtype)
    cosines = (flat @ filters.T).abs() / flat.norm(dim=1, keepdim=True) / filters.norm(dim=1)
    best = cosines.max(1)
    return best.values, best.indices


def cut(filters: "Tensor", masks: "Tensor") -> "Tensor":
    """Masks that keep as many inputs as `masks` (n, …), where the filters (n, N) are largest."""
    import torch

    ranks = filters.argsort(1, descending=True).argsort(1)
    return (ranks < torch.count_nonzero(masks.flatten(1), 1)[:, None]).view_as(masks)


def _filters(results: Mapping[Run, Result], data: str) -> "Tensor":
    records = results[find_run(results, data)].records
    return next(record.tensors["components"] for record in records if record["part"] == "ica")


def _draw_pairs(axes: "Axes", table: "DataFrame", results: Mapping[Run, Result], data: str) -> None:
    """For each seed the mask whose similarity is nearest to the mean, above its component."""
    import torch

    masks, fields = [], []
    for run in (run for run in results if isinstance(run, Widths) and data_of(run.of) == data):
        imp = run.of
        mine = rows(table, seed=imp.seed, method="imp")
        cosines = column(mine, "cosine")
        far = [abs(cosine - sum(cosines) / len(cosines)) for cosine in cosines]
        chosen = far.index(min(far))
        masks.append(connected(imp, results[imp], "imp", run.top)[chosen].float())
        fields.append(_filters(results, data)[int(column(mine, "component")[chosen])].view_as(masks[-1]).float())
    show(axes, torch.cat([torch.stack(masks), scale_fields(torch.stack(fields))]), len(masks), f"A  {data}")
