"""Table 1 of bar2023: SynFlow and SNIP with other inputs and sampled masks."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._night import DENSITIES
from prunefield.papers.bar2023._tables import Table

WHICH = "SynFlow's choice of weights is better than a random choice of as many in each layer"
LATER = "the choice would have to pay off later: fully trained, SynFlow is printed with 77% at 2%, not 44%"
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
        Comparison(
            "SynFlow", "SynFlow + rand", "A random mask improves SynFlow", primary=True, densities=DENSITIES,
            unless="sampling would have to help only where few weights are left: VGG-19 keeps 400,480 at 2%, ResNet-20 "
            "27,090 at 10%",
        ),
        Comparison(
            "SynFlow", "SynFlow + chi", "The chi input improves SynFlow in most cases",
            unless="cases would have to be counted by their signs and over both networks together (7 of 12 are "
            "positive, by up to 0.31 points; 2 of 6 in VGG-19 and 5 of 6 in ResNet-20): with n = 128 the entries of a "
            "chi input differ by 6% only",
        ),
        Comparison(
            "SynFlow", "SynFlow + rand + chi", "Both together improve SynFlow in most cases",
            unless="cases would have to be counted by their signs (11 of 12 are positive): in VGG-19 the largest gain "
            "is 0.34 points",
        ),
        Comparison("SynFlow + rand", "SynFlow + rand + chi", "The chi input added to the random mask", own=True),
        Comparison(
            "SNIP + normal", "SNIP + normal + rand", "A random mask improves SNIP",
            unless="the gain would have to be one of few classes: printed on CIFAR-10, it is positive in all six cells",
        ),
        Comparison(
            "SNIP + normal", "SNIP + sparse", "Sparse data improves SNIP in most cases",
            unless="sparse data would have to replace masks that fail rather than improve good ones, as it does in "
            "VGG-19 on CIFAR-100 at 2%",
        ),
        Comparison(
            "SNIP + sparse", "SNIP + sparse + rand", "A random mask improves SNIP on sparse data",
            unless="the printed gains, one in each of the twelve cells, would have to come with the length of training",
        ),
        Comparison(
            "SNIP + normal", "SNIP + sparse + rand", "Sparse data with a random mask is superior",
            unless="what SNIP loses on dense random data would have to show in long training only",
        ),
        Comparison("SynFlow", "SynFlow + rand (last)", "A mask sampled in the last iteration is better", own=True),
        Comparison("SynFlow, shuffled", "SynFlow", WHICH, unless=LATER, own=True),
        Comparison("SynFlow + rand, shuffled", "SynFlow + rand", WHICH, unless=LATER, own=True),
        Comparison("SNIP + normal (train mode)", "SNIP + normal", MODES, own=True),
        Comparison("SNIP + sparse (train mode)", "SNIP + sparse", MODES, own=True),
    )  # fmt: skip
