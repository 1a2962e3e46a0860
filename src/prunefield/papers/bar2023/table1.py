"""Table 1 of bar2023: SynFlow and SNIP with other inputs and sampled masks."""

from prunefield.papers.bar2023._tables import Comparison, Table


class Table1(Table):
    """SynFlow with chi inputs and sampled masks, SNIP with sparse data and sampled masks (bar2023, Table 1)."""

    title = "Table 1: SynFlow and SNIP with other inputs and sampled masks"
    where = "Table 1, Sec. 8"
    columns = (
        "SynFlow", "SynFlow + chi", "SynFlow + rand", "SynFlow + rand + chi",
        "SNIP + normal", "SNIP + normal + rand", "SNIP + sparse", "SNIP + sparse + rand",
    )  # fmt: skip
    comparisons = (
        Comparison("SynFlow", "SynFlow + rand", "A random mask improves SynFlow"),
        Comparison("SynFlow", "SynFlow + chi", "The chi input improves SynFlow in most cases"),
        Comparison("SynFlow", "SynFlow + rand + chi", "Together, both improve SynFlow"),
        Comparison("SynFlow + rand", "SynFlow + rand + chi", "The chi input improves the random mask"),
        Comparison("SNIP + normal", "SNIP + normal + rand", "A random mask improves SNIP"),
        Comparison("SNIP + normal", "SNIP + sparse", "Sparse data improves SNIP in most cases"),
        Comparison("SNIP + sparse", "SNIP + sparse + rand", "A random mask improves SNIP on sparse data"),
        Comparison("SNIP + normal", "SNIP + sparse + rand", "Sparse data with a random mask is superior"),
    )
