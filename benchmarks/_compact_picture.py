"""Draws the cost of one pruned layer against its density: `python -m benchmarks._compact_picture FILE.svg`.

The bound is 13 cycles for a kept weight (see `_compact`).
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import torch

from benchmarks import _compact as layer

DENSITIES = (0.7, 0.49, 0.343, 0.24, 0.168, 0.118, 0.082, 0.058, 0.04, 0.028, 0.01, 0.003, 0.001)
DENSE = "dense products"
CURVES = {
    DENSE: (layer.build_dense, DENSITIES),
    "prunefield, as in imp": (layer.build_kernels, DENSITIES),
    "prunefield, autograd": (layer.build_compact, DENSITIES),
    "SparseProp, autograd": (layer.build_sparseprop, DENSITIES),
    "torch.sparse CSR": (layer.build_torch_csr, DENSITIES[3:]),
    "scipy CSR (no gradient of weights)": (layer.build_scipy, DENSITIES[3:]),
}
REPEATS = 10


def main(path: Path) -> None:
    torch.set_num_threads(1)
    figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
    found: dict[str, dict[float, float]] = {name: {} for name in CURVES}
    for density in DENSITIES:
        updates = {name: build(density) for name, (build, densities) in CURVES.items() if density in densities}
        present = {name: update for name, update in updates.items() if update is not None}
        for _ in range(REPEATS):  # in turn, so that a busy machine is busy for all of them
            for name, update in present.items():
                seconds = 1e3 * layer.time_update(update, 2)
                found[name][density] = min(seconds, found[name].get(density, seconds))
        print(density, ", ".join(f"{name}: {found[name][density]:.3g} ms" for name in present), flush=True)
    for name, times in found.items():
        if times:
            style = "-" if name == DENSE else ".-"
            axes.plot(list(times), list(times.values()), style, color="black" if name == DENSE else None, label=name)
    bound = [1e3 * layer.bound_seconds(density) for density in DENSITIES]
    axes.plot(DENSITIES, bound, ":", color="grey", label="bound of the second cache")
    axes.set(xscale="log", yscale="log", xlabel="density", ylabel="forward and update, ms")
    axes.legend(fontsize=8)
    plt.rcParams["svg.hashsalt"] = "compact"
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
