"""Table 4 of bar2023: SNIP with labelled data against SNIP with sparse random data and a sampled mask."""

from typing import ClassVar

from prunefield.papers import Claim
from prunefield.papers.bar2023._tables import Comparison, Table

WHERE = "Table 4, App. A"


class Table4(Table):
    """Supervised SNIP against SNIP on sparse random data with a sampled mask (bar2023, Table 4)."""

    title: ClassVar[str] = "Table 4: SNIP with labelled data, and on sparse random data with a sampled mask"
    columns: ClassVar[tuple[str, ...]] = ("SNIP (supervised)", "SNIP + sparse + rand", "SNIP + normal")
    comparisons: ClassVar[tuple[Comparison, ...]] = (
        Comparison("SNIP (supervised)", "SNIP + sparse + rand", "Most results are better than with labels", WHERE),
        Comparison("SNIP + normal", "SNIP (supervised)", "Labels are better than naive random data", WHERE),
    )
    claims: ClassVar[tuple[Claim, ...]] = tuple(claim for pair in comparisons for claim in pair.claims())
