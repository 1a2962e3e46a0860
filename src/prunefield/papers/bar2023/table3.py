"""Table 3 of bar2023: SynFlow with sampled masks on Tiny-ImageNet."""

from prunefield.papers.bar2023._tables import CHOICES, Comparison, Table


class Table3(Table):
    """SynFlow with and without a sampled mask in ResNet-18 and a wide ResNet-18 (bar2023, Table 3)."""

    title = "Table 3: SynFlow with and without a sampled mask on Tiny-ImageNet"
    where = "Table 3, Sec. 8"
    columns = ("SynFlow", "SynFlow + rand")
    tiny = True
    open_choices = (
        "Smoke and laptop scale use leaves and CIFAR-10 instead of Tiny-ImageNet; at laptop scale in ResNet-10 (four "
        "stages) of width 8 and 16. The paper mentions no separate recipe for Tiny-ImageNet, so paper scale uses "
        "that of CIFAR, for 160 epochs.",
        "The printed WideResNet is probably a plain ResNet-18: the code that the paper builds on ignores the width, "
        "and the two printed blocks differ by at most 0.95 points. At paper scale a network that is really twice as "
        "wide is trained (44,838,272 weights instead of 11,261,632).",
        *CHOICES[1:],
    )
    comparisons = (Comparison("SynFlow", "SynFlow + rand", "Randomising the mask gains around 1 %"),)
