"""How masks, data sets and pruning methods look in the figures of redman2025."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from prunefield.core.figures import fill_with_legend
from prunefield.measures.pictures import show_fields
from prunefield.papers import Frame, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, GREY, PALETTE, PURPLE, VERMILION, explain_no_tensors, has_tensors
from prunefield.papers.redman2025._cavities import name_next
from prunefield.papers.redman2025._curves import METHOD_NAMES, curve
from prunefield.papers.redman2025._fates import READINGS
from prunefield.papers.redman2025._intervals import draw_mean, explain_band
from prunefield.papers.redman2025._nets import DATA, data_of, inputs_of, source_of
from prunefield.runs import Result, Run
from prunefield.runs.greedy import Greedy, read_fields
from prunefield.runs.imp import METHODS, Imp, Method, read_masks

COLOURS = {"imp": BLACK, "oneshot": BLUE, "random": VERMILION, "greedy": GREEN, "cavity": PURPLE, "ica": GREEN}
GOALS = {"kurtosis": "greedy", "corrected": "cavity"}  # the two methods of greedy pruning
LABELS = {
    **METHOD_NAMES,
    "greedy": "greedy: kurtosis",
    "cavity": "greedy: eq. 5",
    "ica": "cut from the components",
}


def data_in(table: Frame) -> list[str]:
    """The data sets of a table, in the order of the figures."""
    return [data for data in DATA if data in set(table["data"])]


def fit_height(figure: Figure, table: Frame) -> list[str]:
    """The data sets of a table, after the figure, which has room for all, is made as high as these need."""
    names = data_in(table)
    figure.set_figheight(figure.get_figheight() * len(names) / len(DATA))
    return names


def split_panels(figure: Figure, table: Frame, columns: int, **options: Any) -> Iterator[tuple[str, Frame, Any]]:
    """A line of panels for each data set of the table, with its rows."""
    names = fit_height(figure, table)
    for panels, data in zip(figure.subplots(len(names), columns, squeeze=False, **options), names, strict=True):
        yield data, rows(table, data=data), panels


def find_net(results: Mapping[Run, Result], data: str, inputs: str = "data") -> Imp:
    """The first seed's pruning run on a data set, or on its clone."""
    imps = [run for run in results if isinstance(run, Imp) and run.seed == 0 and data_of(run.task) == data]
    source = next(imp.task for imp in imps if inputs_of(imp.task) == "data")
    return next(imp for imp in imps if inputs_of(imp.task) == inputs and source_of(imp.task) == source)


def connected(imp: Imp, result: Result, method: Method, count: int) -> Tensor:
    """The last masks of the units with the most kept inputs, in descending order: (count, channels, height, width)."""
    fields = read_masks(imp, result.records, method)[-1]["layers.0.weight"].view(-1, *imp.task.shape)
    ranked = fields.flatten(1).sum(1).argsort(descending=True, stable=True)
    return fields[ranked[:count]]


def scale_fields(fields: Tensor) -> Tensor:
    """Each field between 0 and 1."""
    least, most = (getattr(fields, name)((1, 2, 3), keepdim=True) for name in ("amin", "amax"))
    return (fields - least) / (most - least)


def draw_methods(
    axes: Axes, table: Frame, name: str, methods: Iterable[str] = METHODS, most: int = 6, **line: Any
) -> None:
    """A column against density, one line for each method; at most `most` densities are labelled."""
    for method in methods:
        density = curve(table, method, "density").mean(axis=1).to_list()
        draw_mean(axes, density, curve(table, method, name), COLOURS[method], LABELS[method], **line)
    axes.set(xscale="log", xlabel="density")
    axes.invert_xaxis()
    kept = list(curve(table, "imp", "density").mean(axis=1))
    shown = kept[:: -(-len(kept) // most)]  # labels of more would overlap
    axes.set_xticks(shown, [f"{density:.2g}" for density in shown])
    axes.set_xticks(kept, [], minor=True)


def draw_gaussian_kurtosis(axes: Axes, kurtosis: float) -> None:
    """The kurtosis of as many Gaussian values as there are images of a class: below 3, since the mean is estimated."""
    count = round((3 + kurtosis) / (3 - kurtosis))  # 3(n − 1)/(n + 1), solved for n
    axes.axhline(kurtosis, color=GREY, linestyle=":", label="n Gaussian values: 3(n − 1)/(n + 1)")
    words = f"n = {count:,}:\n{kurtosis:.4g}"  # beside the axes, where no curve crosses it
    axes.text(1.01, kurtosis, words, color=GREY, size="small", va="center", transform=axes.get_yaxis_transform())


def find_greedy(results: Mapping[Run, Result], data: str) -> dict[Greedy, Result]:
    """Greedy pruning on a data set, of the first seed that has it."""
    found = [run for run in results if isinstance(run, Greedy) and data_of(run.of.task) == data]
    return {run: results[run] for run in found if run.of.seed == min(one.of.seed for one in found)}


def draw_greedy_row(part: Any, places: Sequence[Any], found: Mapping[Greedy, Result]) -> list[Axes]:
    """The last masks of each run in its place, or, if there are none at all, one line of words in the last place."""
    if found and not any(map(has_tensors, found.values())):
        explain_no_tensors(part.add_subplot(places[-1]), "last masks of greedy pruning", in_one_line=True)
        return []
    panels = [part.add_subplot(place) for place, _ in zip(places, found, strict=False)]
    for axes, (run, result) in zip(panels, found.items(), strict=False):
        draw_greedy_masks(axes, run, result)
    return panels


def draw_greedy_masks(axes: Axes, run: Greedy, result: Result) -> None:
    """The last masks of greedy pruning."""
    goal = GOALS[run.goal]
    title = f"last masks, {LABELS[goal]}"
    if has_tensors(result):
        show_fields(axes, read_fields(run, result)[:45], 15, title, COLOURS[goal])
    else:
        explain_no_tensors(axes, title)


def draw_evidence(panels: Sequence[Axes], table: Frame) -> None:
    """Width, kurtosis, one against the other, the scores of the next group in all readings; then two legends."""
    part, methods = rows(table, inputs="data"), (*METHODS, "greedy", "cavity")
    width, kurtosis, both, after, *legends = panels
    draw_methods(width, part, "width", methods, most=4, markersize=3)
    draw_methods(kurtosis, part, "kurtosis", methods, most=4, markersize=3)
    for method in methods:
        means = [curve(part, method, name).mean(axis=1) for name in ("kurtosis", "width")]
        both.plot(*means, "o-", color=COLOURS[method], markersize=3)
    if not (clone := rows(table, inputs="clone")).empty:
        means = [curve(clone, "imp", name).mean(axis=1) for name in ("density", "width")]
        width.plot(*means, "--", color=BLACK, label="IMP on the clone")
    imp = rows(part, method="imp")
    for (name, label), colour in zip(READINGS.items(), PALETTE, strict=False):
        for by, mark in (("fate", "o-"), ("shuffled", "x:")):
            values = imp.pivot(index="round", columns="seed", values=name_next(name, by)).mean(axis=1)
            name_once = label if by == "fate" else None
            after.plot(values.index, values, mark, color=colour, label=name_once, markersize=3, linewidth=0.8)
    after.plot([], [], "x:", color=GREY, label="with fates shuffled", markersize=3)
    after.axhline(0, color=GREY, linewidth=0.6)
    width.set_ylim(bottom=0)
    both.set_xlabel("kurtosis")
    after.set(xlabel="after n rounds", xticks=sorted(set(imp.dropna(subset=["next"])["round"])))
    titles = ("width", "kurtosis", "width against kurtosis", "scores of the next group")
    for axes, words in zip(panels, titles, strict=False):
        axes.set_title(words)
    for axes in (width, both):
        axes.set_ylabel("width σx (pixels)")
    after.set_ylabel("N_W · mean score")
    if part["seed"].nunique() > 1:
        explain_band(width)
    fill_with_legend(legends[0], [width], "width and kurtosis")
    fill_with_legend(legends[1], [after], "scores of the next group")
