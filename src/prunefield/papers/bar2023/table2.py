"""Table 2 of bar2023: GraSP and iterative pruning on random data, with sampled masks, and two baselines."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._night import LENET
from prunefield.papers.bar2023._tables import Table

COMPARABLE = "Random masks are comparable and usually better"


class Table2(Table):
    """GraSP and IMP with real and random data, ranked and sampled; Random and Magnitude (bar2023, Table 2)."""

    title = "Table 2: GraSP and IMP on real and random data, with ranked and sampled masks"
    where = "Table 2, Sec. 8"
    measured = (*Table.measured, LENET)
    open_choices = (
        *CHOICES,
        f"IMP was not run in a ResNet-20, which would take five core-hours. It was run in {LENET} on all of "
        "Fashion-MNIST, a network that is in no table: 18 levels that remove 20% each, 2,345 steps in a level, rewound "
        "to a tenth of them, eight seeds; declared on 20 November 2026, before any of its networks was pruned.",
    )
    columns = (
        "Random", "Magnitude", "GraSP (supervised)", "GraSP + normal", "GraSP + normal + rand",
        "IMP (supervised)", "IMP + random data", "IMP + random data + rand",
    )  # fmt: skip
    comparisons = (
        Comparison(
            "GraSP + normal", "GraSP + normal + rand", COMPARABLE, primary=True, comparable=True,
            unless="signed scores would have to become probabilities in another way than by their positive parts",
        ),
        Comparison(
            "IMP + random data", "IMP + random data + rand", COMPARABLE, comparable=True,
            unless="masks would have to be sampled in every level of IMP instead of the last",
        ),
        Comparison(
            "GraSP + normal", "GraSP (supervised)", "Random data costs some accuracy",
            unless="the loss would have to be one of CIFAR-10 alone: in ResNet-20 labels gain 0.56 points there, and "
            "lose as much on CIFAR-100",
        ),
        Comparison(
            "IMP + random data", "IMP (supervised)", "Random data costs some accuracy",
            unless="each level would have to be trained until labels, and not initial weights, decide the ranks",
        ),
        Comparison(
            "Random", "IMP + random data", "IMP on random data finds good masks",
            unless="learning the random labels would have to take so long that weights move away from their initial "
            "values",
        ),
        Comparison(
            "Random", "Magnitude", "Keeping large weights is better than keeping random ones",
            unless="the advantage would have to be that of layers that random masks empty, as in ResNet-20 at 2%",
        ),
    )  # fmt: skip
