"""Draws pictures/cavity-bias.svg and prints the table of papers/redman2025-cavity.md: the bias of cavity scores.

Weights are made by hand, so nothing is trained. Laws with a known limit: Gaussian and elliptical inputs, for which
every score is 0, and Gaussian inputs with a non-Gaussian feature, whose kurtosis has a closed form; then dead leaves,
whose limit is that of very many images.
"""

import math
from pathlib import Path

import pandas
import torch
from matplotlib.figure import Figure
from torch import Tensor

from prunefield.core.figures import encode_figure
from prunefield.core.seeds import generator
from prunefield.measures.cavity import score_weights
from prunefield.tasks import draw_balanced
from prunefield.tasks.leaves import Leaves

PICTURE = Path(__file__).parent / "pictures" / "cavity-bias.svg"
COLUMNS = ("exact", "corrected")
LABELS = {"exact": "as printed", "corrected": "corrected", "limit": "limit"}
SIZES, DRAWS = (20, 50, 200, 1_000), 120_000  # images per class, and in all
MANY = 5_000  # leaves per class
UNITS, INPUTS, AMOUNT = 16, 48, 0.55
PLACES = torch.arange(INPUTS)
SMOOTH = torch.linalg.cholesky(torch.exp(-(PLACES[:, None] - PLACES).abs() / 4.0)).double()
FEATURE = ((PLACES >= 16) & (PLACES < 28)).double()
WEIGHT = torch.randn(UNITS, INPUTS, generator=generator(0, "weight"), dtype=torch.float64)
FOURTH = {"a sparse feature": 3.0, "a binary feature": -2.0}  # cumulants of the feature, which has variance 1
LAWS = ("Gaussian", "elliptical", *FOURTH)


def main() -> None:
    table = pandas.concat([*(measure_law(law) for law in LAWS), measure_leaves()])
    shown = table[table["n"].isin((50, 200, 1_000, MANY, 0))]
    print(shown.pivot(index=["law", "part"], columns=["column", "n"], values="score").round(3).to_string())
    figure = Figure(figsize=(11, 3.4), layout="constrained")
    laws = ("Gaussian", "a sparse feature", "leaves")
    for axes, law in zip(figure.subplots(1, len(laws)), laws, strict=True):
        for part, mark in (("smallest third", "s"), ("largest third", "o")):
            rows = table[(table["law"] == law) & (table["part"] == part)]
            for column, colour in (("exact", "#d55e00"), ("corrected", "#0072b2")):
                line = rows[rows["column"] == column]
                label = f"{LABELS[column]}, {part} of |w|"
                axes.plot(line["n"], line["score"], marker=mark, color=colour, markersize=4, linewidth=1, label=label)
            (limit,) = rows[rows["column"] == "limit"]["score"]
            axes.axhline(limit, color="#777777", linestyle="-" if mark == "o" else ":", linewidth=0.8)
        axes.set_title(law, loc="left", fontweight="bold")
        axes.set(xscale="log", xlabel="images per class", ylabel="number of weights · mean score")
    figure.axes[0].legend(fontsize=7)
    PICTURE.write_bytes(encode_figure(figure, "svg"))


def draw_inputs(law: str, count: int) -> Tensor:
    stream = generator(count, law)
    x = torch.randn(count, INPUTS, generator=stream, dtype=torch.float64) @ SMOOTH.T
    chance = torch.rand(count, 1, generator=stream, dtype=torch.float64)
    if law == "elliptical":
        return x * torch.where(chance < 0.5, 0.6, 1.28)
    if law == "a sparse feature":  # Laplace
        return x - AMOUNT * FEATURE * (chance - 0.5).sign() * torch.log1p(-(2 * chance - 1).abs()) / math.sqrt(2)
    return x + AMOUNT * FEATURE * torch.where(chance < 0.5, -1, 1) if law in FOURTH else x


def find_limit(law: str, weight: Tensor) -> Tensor:
    """Eq. 5 for infinitely many images."""
    if law not in FOURTH:
        return torch.zeros_like(weight)

    def find_kurtosis(w: Tensor) -> Tensor:
        signal = (AMOUNT * w @ FEATURE).square()  # w is (units, inputs), or (units, removed input, inputs)
        return 3 + FOURTH[law] * (signal / ((w @ SMOOTH).square().sum(-1) + signal)).square()

    whole, without = find_kurtosis(weight)[:, None], find_kurtosis(weight[:, None] * (1 - torch.eye(INPUTS)).double())
    return (whole - 3).sign() * (without - whole) / whole


def measure_law(law: str) -> pandas.DataFrame:
    weight = WEIGHT + 1.2 * FEATURE * (law in FOURTH)
    found = average_thirds({"limit": find_limit(law, weight)}, weight, law, 0)
    for n in SIZES:
        classes = torch.arange(DRAWS // n).repeat_interleave(n)
        scores = score_weights(weight, draw_inputs(law, len(classes)), classes, columns=COLUMNS)
        found += average_thirds(scores, weight, law, n)
    return pandas.DataFrame(found)


def measure_leaves() -> pandas.DataFrame:
    """Units with a centre, a surround and noise on leaves of 16 × 16 pixels; the limit is that of all images."""
    task, stream, found = Leaves(side=16, count=25, margin=4, largest=6), generator(0, "fields"), []
    rows, columns = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    centre = 16 * torch.rand(32, 2, 1, 1, generator=stream)
    square = (rows - centre[:, 0]) ** 2 + (columns - centre[:, 1]) ** 2
    field = torch.exp(-square / 8) - 0.3 * torch.exp(-square / 32)
    weight = (field[:, None].expand(-1, 3, -1, -1) + 0.15 * torch.randn(32, 3, 16, 16, generator=stream)).flatten(1)
    many = draw_balanced(task, MANY, generator=stream)
    for n in (50, 200, 1_000, MANY):
        part = torch.arange(MANY).repeat(task.classes) // n + MANY * many.y  # classes divided into groups of n
        scores = score_weights(weight, many.x, part, columns=COLUMNS)
        found += average_thirds(scores, weight, "leaves", n)
    limit = {"limit": score_weights(weight, many.x, many.y, columns=("corrected",))["corrected"]}
    return pandas.DataFrame(found + average_thirds(limit, weight, "leaves", 0))


def average_thirds(scores: dict[str, Tensor], weight: Tensor, law: str, n: int) -> list[dict]:
    """The number of weights times the mean score of all, and of the thirds with the smallest and largest |w|."""
    order, third = weight.abs().argsort(1), weight.shape[1] // 3
    parts = {"all": order, "smallest third": order[:, :third], "largest third": order[:, -third:]}
    return [
        {
            "law": law,
            "n": n,
            "column": column,
            "part": part,
            "score": values.gather(1, chosen).mean().item() * values.shape[1],
        }
        for column, values in scores.items()
        if column in LABELS
        for part, chosen in parts.items()
    ]


if __name__ == "__main__":
    main()
