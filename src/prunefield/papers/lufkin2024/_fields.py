"""Fields on a ring of N sites, one for each initialisation or unit: criteria and rows.

IPR × N, the inverse participation ratio as a multiple of that of a flat field, is 1.5 for a sinusoid and about 3 for
noise. Criteria, set before anything was run: localised is at least 6, not localised at most 3.
"""

from collections.abc import Iterator
from typing import Any

from torch import Tensor

LOCAL, NOISE = 6.0, 3.0  # IPR × N


def list_fields(known: dict[str, Any], **columns: Tensor) -> Iterator[dict[str, Any]]:
    """One row for each field: what is known of all of them, and its place in each column."""
    for values in zip(*(column.tolist() for column in columns.values()), strict=True):
        yield known | dict(zip(columns, values, strict=True))
