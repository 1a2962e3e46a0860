"""Table 1 of bar2023: SynFlow and SNIP with other inputs and sampled masks."""

from typing import ClassVar

from prunefield.papers import Claim
from prunefield.papers.bar2023._tables import Comparison, Table

WHERE = "Table 1, Sec. 8"


class Table1(Table):
    """SynFlow with chi inputs and sampled masks, SNIP with sparse data and sampled masks (bar2023, Table 1)."""

    title: ClassVar[str] = "Table 1: SynFlow and SNIP with other inputs and sampled masks"
    columns: ClassVar[tuple[str, ...]] = (
        "SynFlow", "SynFlow + chi", "SynFlow + rand", "SynFlow + rand + chi",
        "SNIP + normal", "SNIP + normal + rand", "SNIP + sparse", "SNIP + sparse + rand",
    )  # fmt: skip
    comparisons: ClassVar[tuple[Comparison, ...]] = (
        Comparison("SynFlow", "SynFlow + rand", "A random mask improves SynFlow", WHERE),
        Comparison("SynFlow", "SynFlow + chi", "The chi input improves SynFlow in most cases", WHERE),
        Comparison("SynFlow", "SynFlow + rand + chi", "Together, both improve SynFlow", WHERE),
        Comparison("SynFlow + rand", "SynFlow + rand + chi", "The chi input improves the random mask", WHERE),
        Comparison("SNIP + normal", "SNIP + normal + rand", "A random mask improves SNIP", WHERE),
        Comparison("SNIP + normal", "SNIP + sparse", "Sparse data improves SNIP in most cases", WHERE),
        Comparison("SNIP + sparse", "SNIP + sparse + rand", "A random mask improves SNIP on sparse data", WHERE),
        Comparison("SNIP + normal", "SNIP + sparse + rand", "Sparse data with a random mask is superior", WHERE),
    )
    claims: ClassVar[tuple[Claim, ...]] = tuple(claim for pair in comparisons for claim in pair.claims())
