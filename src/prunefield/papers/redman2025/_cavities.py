"""The cavity scores that Figs 5 and S4 and the hypothesis share."""

from prunefield.papers import Scale
from prunefield.papers.redman2025._nets import DATA, PER_CLASS, nets
from prunefield.runs.cavity import Cavity

CAVITY_CHOICE = (
    "Cavity scores: eq. 5 in each class, then the mean over classes, with 100 (smoke), 500 (laptop) or 50 (paper) "
    "held-out images per class, at θ(rewind)⊙m(n); weights without a score (the last of a unit) are counted and left "
    "out."
)


def cavities(scale: Scale) -> list[Cavity]:
    """One run for each net, on both data sets."""
    return [Cavity(of=imp, per_class=PER_CLASS[scale]) for data in DATA for imp in nets(scale, data)]
