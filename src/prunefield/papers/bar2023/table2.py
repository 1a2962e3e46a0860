"""Table 2 of bar2023: GraSP and iterative pruning on random data, with sampled masks, and two baselines."""

from typing import ClassVar

from prunefield.papers import Claim
from prunefield.papers.bar2023._tables import Comparison, Table

WHERE = "Table 2, Sec. 8"


class Table2(Table):
    """GraSP and IMP with real and random data, ranked and sampled; Random and Magnitude (bar2023, Table 2)."""

    title: ClassVar[str] = "Table 2: GraSP and IMP on real and random data, with ranked and sampled masks"
    columns: ClassVar[tuple[str, ...]] = (
        "Random", "Magnitude", "GraSP (supervised)", "GraSP + normal", "GraSP + normal + rand",
        "IMP (supervised)", "IMP + random data", "IMP + random data + rand",
    )  # fmt: skip
    comparisons: ClassVar[tuple[Comparison, ...]] = (
        Comparison("GraSP + normal", "GraSP + normal + rand", "Random masks are usually better", WHERE),
        Comparison("IMP + random data", "IMP + random data + rand", "Random masks are usually better", WHERE),
        Comparison("GraSP + normal", "GraSP (supervised)", "Random data costs some accuracy", WHERE),
        Comparison("IMP + random data", "IMP (supervised)", "Random data costs some accuracy", WHERE),
        Comparison("Random", "IMP + random data", "IMP on random data finds good masks", WHERE),
        Comparison("Random", "Magnitude", "Keeping large weights is better than keeping random ones", WHERE),
    )
    claims: ClassVar[tuple[Claim, ...]] = tuple(claim for pair in comparisons for claim in pair.claims())
