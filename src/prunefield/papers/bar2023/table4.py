"""Table 4 of bar2023: SNIP with labelled data against SNIP with sparse random data and a sampled mask."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._tables import Table


class Table4(Table):
    """Supervised SNIP against SNIP on sparse random data with a sampled mask (bar2023, Table 4)."""

    title = "Table 4: SNIP with labelled data, and on sparse random data with a sampled mask"
    where = "Table 4, App. A"
    open_choices = CHOICES
    columns = ("SNIP (supervised)", "SNIP + sparse + rand", "SNIP + normal")
    controls = ("SNIP (supervised, train mode)",)
    comparisons = (
        Comparison(
            "SNIP (supervised)", "SNIP + sparse + rand", "Most results are better than with labels", primary=True,
            unless="SNIP with labels would have to be scored with the statistics of the batch, which is left open",
        ),
        Comparison(
            "SNIP + normal", "SNIP (supervised)", "Labels are better than naive random data",
            unless="“even with labeled input” would have to be about masks that fail without labels, as in VGG-19 on "
            "CIFAR-100 at 2%",
        ),
        Comparison(
            "SNIP (supervised, train mode)", "SNIP (supervised)",
            "Batch normalisation with running statistics is better than with batch statistics", own=True,
        ),
    )  # fmt: skip
