"""The memory of scoring a network, in a process of its own, against 4 × its parameters and its activations."""

import subprocess
import sys
from collections.abc import Iterator

import torch

from benchmarks import Case, peak_mb
from benchmarks._nets import resnet20, vgg19
from prunefield.inputs import draw_batch
from prunefield.scores import Score

NETS = {"ResNet-20": resnet20, "VGG-19": vgg19}
MEGABYTE = 2**20


def memory_cases(kind: str, images: int, parts: int = 1) -> Iterator[Case]:
    """One row for each network, in MB instead of seconds; the images are given in so many batches."""
    for name in NETS:
        batches = f" in {parts} batches" * (parts > 1)
        yield Case(
            f"memory (MB, not s) of {name}, {images} image{'s' * (images > 1)}{batches}",
            lambda name=name: measure_alone(kind, name, images, parts),
            limit=lambda name=name: allow(name, images),
            limit_name="4 × parameters + activations",
            rounds=1,
            target="at most 1 × limit",
        )


def measure_alone(kind: str, name: str, images: int, parts: int) -> float:
    """What a new process says."""
    text = f"from benchmarks._memory import grow; print(grow({kind!r}, {name!r}, {images}, {parts}))"
    return float(subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout)


def grow(kind: str, name: str, images: int, parts: int) -> float:
    """The parameters and by how much the greatest memory of this process grows when the network is scored."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    score, net = Score.parse(kind), NETS[name]()
    score(
        resnet20(2), [draw_batch("normal", 2, (3, 32, 32), 10, generator=generator)], generator=generator
    )  # libraries
    batches = [draw_batch("normal", images // parts, (3, 32, 32), 10, generator=generator) for _ in range(parts)]
    before = peak_mb()
    score(net, batches, generator=generator)
    return peak_mb() - before + sum(item.nbytes for item in net.parameters()) / MEGABYTE


def allow(name: str, images: int) -> float:
    """4 × parameters + the outputs of all layers, in MB."""
    net, sizes = NETS[name](), []
    leaves = [module for module in net.modules() if not list(module.children())]
    for module in leaves:
        module.register_forward_hook(lambda _, __, output: sizes.append(output.nbytes))
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, 32, 32))
    return (4 * sum(item.nbytes for item in net.parameters()) + images * sum(sizes)) / MEGABYTE
