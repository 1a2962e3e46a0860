"""Table 3 of bar2023: SynFlow with sampled masks on Tiny ImageNet."""

from prunefield.papers.bar2023._choices import CHOICES
from prunefield.papers.bar2023._comparisons import Comparison
from prunefield.papers.bar2023._night import TINY_DENSITIES
from prunefield.papers.bar2023._tables import Table


class Table3(Table):
    """SynFlow with and without a sampled mask in ResNet-18 and a wide ResNet-18 (bar2023, Table 3)."""

    title = "Table 3: SynFlow with and without a sampled mask on Tiny ImageNet"
    where = "Table 3, Sec. 8"
    columns = ("SynFlow", "SynFlow + rand")
    tiny = True
    families = ("ResNet-18", "WideResNet-18")
    measured = ("ResNet-20", "ResNet-18", "truly wide ResNet-18")
    open_choices = (
        "Smoke and laptop scale use leaves instead of Tiny ImageNet. Night scale has 100 of its 200 classes, "
        "averaged to 16 × 16 pixels, and 3,910 steps in the ResNet-20 of Tables 1, 2 and 4: a ResNet-18 takes 45 s per "
        "step on a core. It replaces a setting with 200 classes and 2,000 steps, whose dense networks had 10.6 and "
        "9.7% and missed the gate of 15%; no pruned network had been trained when it was declared. The paper "
        "mentions no separate recipe for Tiny ImageNet, so paper scale uses that of CIFAR, for 160 epochs.",
        "The printed WideResNet is probably a plain ResNet-18: the code that the paper builds on ignores the width, "
        "and the two printed blocks differ by at most 0.95 points. At paper scale a network that is really twice as "
        "wide is trained (44,838,272 weights instead of 11,261,632).",
        *CHOICES[1:],
    )
    comparisons = (
        Comparison(
            "SynFlow", "SynFlow + rand", "Randomising the mask gains around 1%", primary=True,
            densities=TINY_DENSITIES,
            unless="the gain would have to need images of 64 × 64 pixels and the 11 million weights of a ResNet-18",
        ),
    )  # fmt: skip
