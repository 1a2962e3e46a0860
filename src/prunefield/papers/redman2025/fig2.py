"""Fig. 2 of redman2025: independent and principal components of images."""

from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, ClassVar

from prunefield.measures.pictures import show
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, TASKS
from prunefield.runs import Result, Run
from prunefield.runs.components import Components
from prunefield.tasks.leaves import Leaves

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

COUNT = {"smoke": 16, "laptop": 64, "paper": 64}
SAMPLES = {"smoke": 2_000, "laptop": 10_000, "paper": 50_000}
BEYOND, LARGELY = 0.95, 0.5  # beyond this quantile of the null lie more than this share of the components
PARTS = {"ica": "ICA", "pca": "PCA", "mixed": "mixed at random"}


def components(scale: Scale) -> dict[str, Components]:
    """The run of each data set."""
    size = {"components": COUNT[scale], "samples": SAMPLES[scale]}
    return {data: Components(task=TASKS[scale, data], **size) for data in DATA}


def check_local(table: "DataFrame") -> Verdict:
    return _beyond(table, "ica", "local")


def check_periodic(table: "DataFrame") -> Verdict:
    return _beyond(table, "pca", "periodic")


def _beyond(table: "DataFrame", part: str, name: str) -> Verdict:
    import numpy as np

    found = {kind: column(rows(table, part=kind), name) for kind in PARTS}
    line = float(np.quantile(found["mixed"], BEYOND))
    share = sum(value > line for value in found[part]) / len(found[part])
    medians = ", ".join(f"{PARTS[kind]} {median(values):.2f}" for kind, values in found.items())
    return judge(
        share > LARGELY, f"{100 * share:.0f} % beyond the {line:.2f} of the null; medians: {medians}", len(table)
    )


def check_less_local(table: "DataFrame") -> Verdict:
    ours, theirs = (median(column(rows(table, part=part), "local")) for part in ("pca", "ica"))
    return judge(ours < theirs, f"median locality PCA {ours:.2f}, ICA {theirs:.2f}", 2 * len(table) // 3)


def as_mixed(table: "DataFrame") -> "DataFrame":
    """The table with random directions in the same space, as ICA finds in Gaussian data."""
    import pandas

    mixed = rows(table, part="mixed")
    return pandas.concat([mixed.assign(part=part) for part in PARTS], ignore_index=True)


class Fig2(Item):
    """Filters of FastICA and PCA on held-out images, how local and how periodic (redman2025, Fig. 2, Sec. 3.1)."""

    title: ClassVar[str] = "Locality and periodicity of independent and principal components of images"
    open_choices: ClassVar[tuple[str, ...]] = (
        SHARED_CHOICES[0],
        "64 components of 50,000 images (smoke: 16 of 2,000; laptop: 64 of 10,000), scaled as for training; FastICA "
        "with scikit-learn's defaults (parallel, log cosh, unit variance, 200 iterations, tolerance 1e-4).",
        "Locality, defined before any result was seen: pixels × Σe²/(Σe)² of the pixel energies, 1 for a flat field, "
        "2.25 for a product of two sinusoids. Periodicity: the same for the energies of the cosine transform.",
        "Null: the same whitened space, randomly rotated, which is all that ICA can do with Gaussian data. "
        f"'Largely' means: more than half of the components beyond its {100 * BEYOND:.0f} % quantile.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "Independent components are largely localised",
            "Sec. 3.1, Fig. 2A",
            f"more than half are more local than {100 * BEYOND:.0f} % of the mixed ones",
            check_local,
            as_mixed,
            decided_at="laptop",
        ),
        Claim(
            "Principal components are periodic",
            "Sec. 3.1, Fig. 2B",
            f"more than half are more periodic than {100 * BEYOND:.0f} % of the mixed ones",
            check_periodic,
            as_mixed,
        ),
        Claim(
            "Principal components are less local than independent components",
            "Sec. 3.1, Fig. 2",
            "a smaller median locality",
            check_less_local,
            as_mixed,
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*components(scale).values()]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, part and component."""
        import pandas

        found = []
        for data in DATA:
            run = find_run(results, data)
            for record in results[run].records:
                pairs = zip(record.tensors["local"].tolist(), record.tensors["periodic"].tolist(), strict=True)
                place = {"data": data, "part": record["part"], "explained": record["explained"]}
                found += [
                    place | {"component": index, "local": local, "periodic": periodic}
                    for index, (local, periodic) in enumerate(pairs)
                ]
        return pandas.DataFrame(found)

    def ideal(self) -> "DataFrame":
        """Three of four components of ICA are local, the others as if mixed; those of PCA are waves (Fig. 2)."""
        values = {
            "ica": [{"local": 20.0, "periodic": 30.0}] * 3 + [{"local": 3.0, "periodic": 30.0}],
            "pca": [{"local": 2.25, "periodic": 300.0}] * 4,
            "mixed": [{"local": 3.0 + k, "periodic": 30.0 + k} for k in range(4)],
        }
        axes = {"part": PARTS, "component": range(64)}
        table = fill_table(lambda case: values[case["part"]][case["component"] % 4], seed=[0], **axes)
        return table.drop(columns="seed")

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(12, 3.2 * len(DATA)), layout="constrained")
        grid = figure.subplots(len(DATA), 4, squeeze=False)
        for panels, data in zip(grid, DATA, strict=True):
            run = find_run(results, data)
            filters = {record["part"]: record.tensors["components"] for record in results[run].records}
            for axes, (part, label) in zip(panels, PARTS.items(), strict=False):
                fields = scale_fields(filters[part].view(-1, *run.task.shape))
                show(axes, fields, round(len(fields) ** 0.5), f"{label}, {data}")
                chosen = rows(table, data=data, part=part)
                panels[3].plot(chosen["local"], chosen["periodic"], "o", markersize=3, label=label)
            panels[3].set_xlabel("local")
            panels[3].set_ylabel("periodic")
            panels[3].set_xscale("log")
            panels[3].set_yscale("log")
            panels[3].tick_params(which="minor", labelbottom=False, labelleft=False)
            panels[3].legend()
        return figure


def scale_fields(fields: "Tensor") -> "Tensor":
    """Each field between 0 and 1."""
    least, most = (getattr(fields, name)((1, 2, 3), keepdim=True) for name in ("amin", "amax"))
    return (fields - least) / (most - least)


def find_run(results: Mapping[Run, Result], data: str) -> Components:
    """The components of a data set."""
    runs = [run for run in results if isinstance(run, Components)]
    return next(run for run in runs if isinstance(run.task, Leaves) == (data == "leaves"))
