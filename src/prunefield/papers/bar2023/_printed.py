"""The accuracies that bar2023 prints in Tables 1 to 4, in per cent, with their deviations over three seeds."""

from math import nan
from typing import NamedTuple

DENSITIES, SEEDS = (0.1, 0.05, 0.02), 3
CHANCE = {"CIFAR-10": 10.0, "CIFAR-100": 1.0}
STEPS = 160 * 391  # epochs of 50,000 images in batches of 128
GRID = [(data, net) for data in ("CIFAR-10", "CIFAR-100") for net in ("VGG-19", "ResNet-20")]

# In the order of GRID, three densities each.
ACCURACIES: dict[str, tuple[float, ...]] = {
    "SynFlow": (93.01, 92.68, 91.68, 86.55, 83.19, 77.06, 69.90, 68.25, 65.98, 50.66, 41.12, 23.39),
    "SynFlow + chi": (93.12, 92.52, 91.32, 86.70, 83.28, 77.10, 69.84, 68.39, 65.68, 50.97, 40.87, 23.52),
    "SynFlow + rand": (93.06, 92.44, 91.63, 86.74, 83.55, 77.74, 69.97, 68.65, 65.87, 52.29, 42.92, 24.89),
    "SynFlow + rand + chi": (93.12, 92.63, 91.71, 86.59, 83.45, 77.74, 70.24, 68.32, 66.00, 51.80, 42.44, 24.35),
    "SNIP + normal": (92.15, 91.53, 90.35, 85.69, 82.37, 77.20, 72.75, 71.48, 1.00, 66.90, 60.97, 47.61),
    "SNIP + normal + rand": (92.55, 92.18, 91.04, 86.77, 83.59, 78.99, 72.67, 71.34, 1.00, 67.11, 61.03, 48.86),
    "SNIP + sparse": (92.85, 92.02, 90.97, 85.85, 82.29, 76.98, 72.13, 71.05, 48.48, 67.32, 61.94, 50.30),
    "SNIP + sparse + rand": (93.16, 92.79, 92.03, 87.02, 83.72, 79.39, 72.49, 71.51, 53.05, 67.52, 62.68, 51.76),
    "SNIP (supervised)": (92.62, 91.66, 90.92, 86.29, 82.55, 78.16, 71.80, 71.07, 56.05, 67.03, 61.80, 49.42),
    "Random": (91.14, 89.24, 86.28, 85.04, 72.08, 10.00, 66.02, 62.70, 58.28, 51.09, 26.61, 1.00),
    "Magnitude": (93.05, 92.23, 91.28, 84.88, 81.97, 75.15, 69.43, 68.09, 65.18, 52.03, 45.64, 32.90),
    "GraSP (supervised)": (92.21, 91.68, 90.92, 87.28, 84.37, 79.53, 70.64, 70.03, 67.78, 67.24, 63.08, 53.18),
    "GraSP + normal": (92.23, 91.23, 90.90, 86.30, 83.61, 79.59, 70.52, 70.06, 68.07, 67.37, 63.66, 54.15),
    "GraSP + normal + rand": (92.12, 91.57, 91.22, 86.59, 84.35, 78.36, 71.15, 70.08, 68.53, 67.39, 64.34, 53.79),
    "IMP (supervised)": (93.56, 92.64, 89.63, 89.63, 85.99, 82.46, 70.88, 69.87, 67.90, 58.38, 50.39, 40.88),
    "IMP + random data": (91.53, 91.42, 90.58, 85.46, 83.07, 77.97, 66.84, 66.23, 54.81, 51.66, 43.84, 32.92),
    "IMP + random data + rand": (91.57, 91.45, 90.55, 85.50, 82.77, 77.54, 67.10, 65.30, 59.05, 52.05, 44.68, 33.37),
}
# Their standard deviations; 0 where a cell is at chance and none is printed. Table 3 has none at all.
DEVIATIONS: dict[str, tuple[float, ...]] = {
    "SynFlow": (0.19, 0.11, 0.28, 0.18, 0.36, 0.35, 0.26, 0.66, 0.38, 0.78, 0.92, 1.04),
    "SynFlow + chi": (0.12, 0.20, 0.11, 0.32, 0.31, 0.12, 0.15, 0.31, 0.23, 0.51, 0.76, 0.27),
    "SynFlow + rand": (0.12, 0.11, 0.16, 0.22, 0.38, 0.51, 0.43, 0.33, 0.50, 0.64, 0.53, 0.75),
    "SynFlow + rand + chi": (0.18, 0.20, 0.28, 0.29, 0.42, 0.43, 0.29, 0.08, 0.22, 0.60, 0.48, 0.72),
    "SNIP + normal": (0.07, 0.04, 0.31, 0.37, 0.69, 0.56, 0.22, 0.72, 0.00, 0.33, 0.45, 4.15),
    "SNIP + normal + rand": (0.57, 0.78, 0.14, 0.41, 0.40, 0.73, 0.01, 0.03, 0.00, 0.62, 0.03, 0.07),
    "SNIP + sparse": (0.06, 0.18, 0.11, 0.07, 0.01, 0.66, 0.08, 0.11, 13.88, 0.13, 0.60, 0.04),
    "SNIP + sparse + rand": (0.36, 0.78, 0.91, 0.65, 0.73, 0.49, 0.33, 0.45, 15.38, 0.10, 0.32, 0.36),
    "SNIP (supervised)": (0.09, 0.25, 0.16, 0.92, 1.02, 0.80, 0.66, 0.23, 13.97, 0.04, 0.38, 0.65),
    "Random": (0.08, 0.22, 0.04, 0.12, 1.38, 0.00, 0.13, 0.57, 0.25, 0.43, 3.51, 0.00),
    "Magnitude": (0.22, 0.90, 0.43, 0.70, 0.52, 0.86, 0.49, 0.21, 0.47, 0.24, 0.40, 0.65),
    "GraSP (supervised)": (0.69, 1.21, 1.28, 0.04, 0.21, 0.06, 0.43, 0.55, 0.42, 0.23, 0.33, 0.94),
    "GraSP + normal": (0.95, 0.91, 1.63, 0.46, 0.13, 0.10, 0.18, 0.29, 0.16, 0.02, 0.06, 0.63),
    "GraSP + normal + rand": (0.88, 1.10, 1.08, 0.29, 1.34, 0.16, 0.32, 0.01, 0.18, 0.46, 0.15, 0.16),
    "IMP (supervised)": (0.19, 0.19, 1.57, 0.24, 1.30, 0.73, 0.96, 1.28, 1.36, 2.97, 0.16, 0.22),
    "IMP + random data": (0.32, 0.19, 0.69, 0.11, 0.11, 0.04, 0.16, 0.17, 6.87, 0.68, 0.17, 0.65),
    "IMP + random data + rand": (0.03, 0.12, 0.70, 0.15, 0.13, 0.49, 0.21, 0.23, 0.14, 0.60, 0.38, 0.74),
}
TINY: dict[str, tuple[float, ...]] = {  # ResNet-18, then WideResNet-18
    "SynFlow": (58.30, 57.63, 54.62, 59.25, 57.49, 54.80),
    "SynFlow + rand": (60.64, 58.57, 55.56, 60.22, 58.84, 55.54),
}


class Printed(NamedTuple):
    """One cell of a table."""

    data: str
    net: str
    density: float
    column: str
    accuracy: float
    deviation: float  # over three seeds; NaN where none is printed
    steps: float  # of training; NaN where they are not printed


def cells(columns: tuple[str, ...], *, tiny: bool = False) -> list[Printed]:
    """The printed cells of those columns that are printed.

    >>> cells(("SynFlow", "Dense"))[3][1:]
    ('ResNet-20', 0.1, 'SynFlow', 86.55, 0.18, 62560)
    """
    grid = [("Tiny ImageNet", "ResNet-18"), ("Tiny ImageNet", "WideResNet-18")] if tiny else GRID
    places = [(data, net, density) for data, net in grid for density in DENSITIES]
    table = TINY if tiny else ACCURACIES
    return [
        Printed(*place, column, value, deviation, nan if tiny else STEPS)
        for column in columns
        if column in table
        for place, value, deviation in zip(places, table[column], _read_deviations(column, tiny), strict=True)
    ]


def _read_deviations(column: str, tiny: bool) -> tuple[float, ...]:
    return (nan,) * len(TINY[column]) if tiny else DEVIATIONS[column]
