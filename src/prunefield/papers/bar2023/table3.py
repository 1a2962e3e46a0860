"""Table 3 of bar2023: SynFlow with sampled masks on Tiny-ImageNet."""

from typing import ClassVar

from prunefield.papers import Claim
from prunefield.papers.bar2023._tables import CHOICES, Comparison, Table


class Table3(Table):
    """SynFlow with and without a sampled mask in ResNet-18 and a wide ResNet-18 (bar2023, Table 3)."""

    title: ClassVar[str] = "Table 3: SynFlow with and without a sampled mask on Tiny-ImageNet"
    columns: ClassVar[tuple[str, ...]] = ("SynFlow", "SynFlow + rand")
    tiny: ClassVar[bool] = True
    open_choices: ClassVar[tuple[str, ...]] = (
        "Smoke and laptop scale use leaves and CIFAR-10 instead of Tiny-ImageNet; at laptop scale in ResNet-10 (four "
        "stages) of width 8 and 16. The paper mentions no separate recipe for Tiny-ImageNet, so paper scale uses "
        "that of CIFAR, for 160 epochs.",
        "The printed WideResNet is probably a plain ResNet-18: the code that the paper builds on ignores the width, "
        "and the two printed blocks differ by at most 0.95 points. At paper scale a network that is really twice as "
        "wide is trained (44,838,272 weights instead of 11,261,632).",
        *CHOICES[1:],
    )
    comparisons: ClassVar[tuple[Comparison, ...]] = (
        Comparison("SynFlow", "SynFlow + rand", "Randomising the mask gains around 1 %", "Table 3, Sec. 8"),
    )
    claims: ClassVar[tuple[Claim, ...]] = tuple(claim for pair in comparisons for claim in pair.claims())
