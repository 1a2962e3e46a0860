"""Table 2 of bar2023: GraSP and iterative pruning on random data, with sampled masks, and two baselines."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._tables import Table


class Table2(Table):
    """GraSP and IMP with real and random data, ranked and sampled; Random and Magnitude (bar2023, Table 2)."""

    title = "Table 2: GraSP and IMP on real and random data, with ranked and sampled masks"
    where = "Table 2, Sec. 8"
    open_choices = CHOICES
    columns = (
        "Random", "Magnitude", "GraSP (supervised)", "GraSP + normal", "GraSP + normal + rand",
        "IMP (supervised)", "IMP + random data", "IMP + random data + rand",
    )  # fmt: skip
    comparisons = (
        Comparison("GraSP + normal", "GraSP + normal + rand", "Random masks are usually better", primary=True),
        Comparison("IMP + random data", "IMP + random data + rand", "Random masks are usually better"),
        Comparison("GraSP + normal", "GraSP (supervised)", "Random data costs some accuracy"),
        Comparison("IMP + random data", "IMP (supervised)", "Random data costs some accuracy"),
        Comparison("Random", "IMP + random data", "IMP on random data finds good masks"),
        Comparison("Random", "Magnitude", "Keeping large weights is better than keeping random ones"),
    )
