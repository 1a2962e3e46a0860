"""Table 3 of bar2023: SynFlow with sampled masks on Tiny-ImageNet."""

from typing import ClassVar

from prunefield.papers import Claim
from prunefield.papers.bar2023._tables import CHOICES, Comparison, Table


class Table3(Table):
    """SynFlow with and without a sampled mask in ResNet-18 and a wide one (bar2023, Table 3)."""

    title: ClassVar[str] = "Tiny-ImageNet: a sampled mask against SynFlow's own"
    columns: ClassVar[tuple[str, ...]] = ("SynFlow", "SynFlow + rand")
    tiny: ClassVar[bool] = True
    open_choices: ClassVar[tuple[str, ...]] = (
        "Smoke and laptop: not Tiny-ImageNet but leaves and CIFAR-10; at laptop scale in ResNet-10 (four stages) of "
        "width 8 and 16. The paper says nothing of another recipe for Tiny-ImageNet, so paper scale uses "
        "the one of CIFAR, in 160 epochs.",
        "The printed WideResNet is likely ResNet-18 once more: the code that the paper builds on ignores its width, "
        "and the two printed blocks differ by 0.95 points at most. At paper scale a network of truly twice the width "
        "is trained (44,838,272 weights instead of 11,261,632).",
        *CHOICES[1:],
    )
    comparisons: ClassVar[tuple[Comparison, ...]] = (
        Comparison("SynFlow", "SynFlow + rand", "The mask's randomisation gives around 1 %", "Table 3, Sec. 8"),
    )
    claims: ClassVar[tuple[Claim, ...]] = tuple(claim for pair in comparisons for claim in pair.claims())
