"""Fig. 2 of redman2025: independent and principal components of images."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas
from matplotlib.figure import Figure
from torch import Tensor

from prunefield.core.figures import add_legend
from prunefield.measures.pictures import show_fields
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import PALETTE, Row
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import DATA, PER_DATA, SCALES, SHARED_CHOICES, SIZES, data_of, list_sizes
from prunefield.papers.redman2025._pictures import scale_fields, split_panels
from prunefield.runs import Result, Run
from prunefield.runs.components import Components

BEYOND, LARGELY = 0.95, 0.5  # beyond this quantile of the null lie more than this share of the components
PARTS = {"ica": "ICA", "pca": "PCA", "mixed": "mixed at random"}


def components(scale: Scale) -> list[Components]:
    """The run of each data set."""
    found = SIZES[scale].values()
    return [Components(task=one.task, components=one.components, samples=one.samples) for one in found]


def read_filters(results: Mapping[Run, Result]) -> dict[tuple[str, str], Tensor]:
    """The components of each data set and part: (components, channels, height, width)."""
    return {
        (data_of(run.task), record["part"]): record.tensors["components"].view(-1, *run.task.shape)
        for run, result in results.items()
        if isinstance(run, Components)
        for record in result.records
    }


def as_mixed(table: Frame) -> Frame:
    """The null: random directions in the same space, as ICA finds in Gaussian data."""
    mixed = rows(table, part="mixed")
    return pandas.concat([mixed.assign(part=part) for part in PARTS], ignore_index=True)


class Fig2(Item):
    """Filters of FastICA and PCA on held-out images, how local and how periodic (redman2025, Fig. 2, Sec. 3.1)."""

    title = "Locality and periodicity of independent and principal components of images"
    size = (11, 0.8 + 3.2 * len(DATA))
    scales = tuple(scale for scale in SCALES if scale != "night")  # which has the data of laptop scale
    open_choices = (
        SHARED_CHOICES[0],
        f"Components and images: {list_sizes(lambda one: f'{one.components} of {one.samples:,}')}; scaled as for "
        "training; FastICA with scikit-learn's defaults (parallel, log cosh, unit variance, 200 iterations, tolerance "
        "1e-4).",
        "Locality, defined before any result was seen: pixels × Σe²/(Σe)² of the pixel energies, 1 for a flat field, "
        "2.25 for a product of two sinusoids. Periodicity: the same for the energies of the cosine transform.",
        "Null: the same whitened space, randomly rotated, which is all that ICA can do with Gaussian data. "
        f"'Largely' means: more than half of the components beyond its {100 * BEYOND:.0f}% quantile.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*components(scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, part and component."""

        def rate(run: Components, result: Result) -> Iterator[Row]:
            for record in result.records:
                place = {"data": data_of(run.task), "part": record["part"], "explained": record["explained"]}
                pairs = zip(record.tensors["local"].tolist(), record.tensors["periodic"].tolist(), strict=True)
                for index, (local, periodic) in enumerate(pairs):
                    yield {**place, "component": index, "local": local, "periodic": periodic}

        return gather(results, rate, Components)

    def ideal(self) -> Frame:
        """Three of four components of ICA are local, the others as if mixed; those of PCA are waves (Fig. 2)."""
        values = {
            "ica": [{"local": 20.0, "periodic": 30.0}] * 3 + [{"local": 3.0, "periodic": 30.0}],
            "pca": [{"local": 2.25, "periodic": 300.0}] * 4,
            "mixed": [{"local": 3.0 + k, "periodic": 30.0 + k} for k in range(4)],
        }
        axes = {"part": PARTS, "component": range(64)}
        table = fill_table(lambda case: values[case["part"]][case["component"] % 4], seed=[0], **axes)
        return table.drop(columns="seed")

    @claim(
        "{text}",
        at="Sec. 3.1, {figure}",
        expect=f"more than half are more {{column}} than {100 * BEYOND:.0f}% of the mixed ones",
        null=as_mixed,
        each=[
            {
                "text": "Independent components are largely localised",
                "figure": "Fig. 2A",
                "part": "ica",
                "column": "local",
                "decided_at": "laptop",
            },
            {
                "text": "Principal components are periodic",
                "figure": "Fig. 2B",
                "part": "pca",
                "column": "periodic",
            },
        ],
        per=PER_DATA,
    )
    def beyond_the_null(table: Frame, part: str, column: str, **_: str) -> Verdict:
        found = {kind: numbers(rows(table, part=kind), column) for kind in PARTS}
        line = np.quantile(found["mixed"], BEYOND)
        share = (found[part] > line).mean()
        medians = ", ".join(f"{PARTS[kind]} {np.median(values):.2f}" for kind, values in found.items())
        observed = f"{100 * share:.0f}% beyond the {line:.2f} of the null; medians: {medians}"
        return judge(share > LARGELY, observed, len(table))

    @claim(
        "Principal components are less local than independent components",
        at="Sec. 3.1, Fig. 2",
        expect="a smaller median locality",
        null=as_mixed,
        per=PER_DATA,
        highlight=True,
    )
    def less_local(table: Frame) -> Verdict:
        pca, ica = (rows(table, part=part)["local"].median() for part in ("pca", "ica"))
        return judge(pca < ica, f"median locality PCA {pca:.2f}, ICA {ica:.2f}", 2 * len(table) // 3)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        filters = read_filters(results)
        for data, found, panels in split_panels(figure, table, 4):
            for axes, (part, label), colour in zip(panels, PARTS.items(), PALETTE, strict=False):
                fields = scale_fields(filters[data, part])
                show_fields(axes, fields, round(len(fields) ** 0.5), f"{label}, {data}")
                mine = rows(found, part=part)
                panels[3].plot(mine["local"], mine["periodic"], "o", markersize=3, color=colour, label=label)
            panels[3].set(xscale="log", yscale="log", xlabel="locality", ylabel="periodicity")
        title = (
            "locality: pixels × Σe²/(Σe)² of the energies of pixels (1: flat);\n"
            "periodicity: the same of the energies of waves (number of pixels: one wave)"
        )
        add_legend(figure, figure.axes[3:4], ncols=3, title=title)
