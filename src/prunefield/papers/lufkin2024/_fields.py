"""Fields on a ring of N sites, one for each initialisation or unit: criteria, rows and pictures.

IPR × N, the inverse participation ratio as a multiple of that of a flat field, is 1.5 for a sinusoid and about 3 for
noise. Criteria, set before anything was run: localised is at least 6, not localised at most 3.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from torch import Tensor

from prunefield.papers._kit import GREY, SEQUENCE
from prunefield.runs import Record

LOCAL, NOISE = 6.0, 3.0  # IPR × N


def list_fields(known: dict[str, Any], **columns: Tensor) -> Iterator[dict[str, Any]]:
    """One row for each field: what is known of all of them, and its place in each column."""
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield known | dict(zip(columns, values, strict=True))


def draw_path(axes: Axes, records: Sequence[Record]) -> None:
    """The first field over time, from dark to light."""
    last = records[-1]["time"]
    # No more than 40 lines: more cannot be told apart and make the file large.
    for record in records[::-1][:: max(1, len(records) // 40)][::-1]:
        axes.plot(record.tensors["weights"][0], color=colormaps[SEQUENCE](record["time"] / last), linewidth=1)
    axes.axhline(0, color=GREY, linewidth=0.5)
