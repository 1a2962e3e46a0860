"""Table 1 of bar2023: SynFlow and SNIP with other inputs and sampled masks."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._night import DENSITIES
from prunefield.papers.bar2023._tables import Table

WHICH = "SynFlow's choice of weights is better than a random choice of as many in each layer"
MODES = "Batch normalisation with running statistics is better than with batch statistics"


class Table1(Table):
    """SynFlow with chi inputs and sampled masks, SNIP with sparse data and sampled masks (bar2023, Table 1)."""

    title = "Table 1: SynFlow and SNIP with other inputs and sampled masks"
    where = "Table 1, Sec. 8"
    open_choices = CHOICES
    columns = (
        "SynFlow", "SynFlow + chi", "SynFlow + rand", "SynFlow + rand + chi",
        "SNIP + normal", "SNIP + normal + rand", "SNIP + sparse", "SNIP + sparse + rand",
    )  # fmt: skip
    controls = (
        "SynFlow, shuffled", "SynFlow + rand, shuffled", "SynFlow + rand (last)",
        "SNIP + normal (train mode)", "SNIP + sparse (train mode)",
    )  # fmt: skip
    comparisons = (
        Comparison("SynFlow", "SynFlow + rand", "A random mask improves SynFlow", primary=True, densities=DENSITIES),
        Comparison("SynFlow", "SynFlow + chi", "The chi input improves SynFlow in most cases"),
        Comparison("SynFlow", "SynFlow + rand + chi", "Both together improve SynFlow"),
        Comparison("SynFlow + rand", "SynFlow + rand + chi", "The chi input improves the random mask"),
        Comparison("SNIP + normal", "SNIP + normal + rand", "A random mask improves SNIP"),
        Comparison("SNIP + normal", "SNIP + sparse", "Sparse data improves SNIP in most cases"),
        Comparison("SNIP + sparse", "SNIP + sparse + rand", "A random mask improves SNIP on sparse data"),
        Comparison("SNIP + normal", "SNIP + sparse + rand", "Sparse data with a random mask is superior"),
        Comparison("SynFlow", "SynFlow + rand (last)", "A mask sampled in the last iteration is better", own=True),
        Comparison("SynFlow, shuffled", "SynFlow", WHICH, own=True),
        Comparison("SynFlow + rand, shuffled", "SynFlow + rand", WHICH, own=True),
        Comparison("SNIP + normal (train mode)", "SNIP + normal", MODES, own=True),
        Comparison("SNIP + sparse (train mode)", "SNIP + sparse", MODES, own=True),
    )
