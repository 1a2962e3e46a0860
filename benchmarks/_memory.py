"""The memory of scoring a network: the peak of its tensors, relative to 4 × parameters + activations."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks import Case
from benchmarks._nets import build_resnet20, build_vgg19, draw_images
from prunefield.scores import Score

NETS = {"ResNet-20": build_resnet20, "VGG-19": build_vgg19}
MEGABYTE = 2**20


def memory_cases(score: Score, images: int, how: str = "") -> Iterator[Case]:
    """One row for each network, in MB instead of seconds."""
    for name in NETS:
        yield Case(
            f"memory (MB, not s) of {name}, {images} image{'s' * (images > 1)}{how}",
            lambda name=name: measure_peak(score, name, images),
            limit=lambda name=name: compute_allowance(name, images),
            limit_name="4 × parameters + activations",
            rounds=1,
            target="at most 1 × limit",
        )


def measure_peak(score: Score, name: str, images: int) -> float:
    """The parameters plus the peak of the tensors created by scoring, in MB, without buffers of libraries."""
    net, generator = NETS[name](), torch.Generator().manual_seed(0)
    batch = draw_images(images, generator)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        score(net, [batch], generator=generator)
    profiler: Any = found.profiler  # its results are untyped
    events = [event for event in profiler.kineto_results.events() if event.name() == "[memory]"]
    held = most = sum(item.nbytes for item in net.parameters())
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most / MEGABYTE


def compute_allowance(name: str, images: int) -> float:
    """4 × parameters + the outputs of all layers, in MB."""
    net, sizes = NETS[name](), []
    leaves = [module for module in net.modules() if not list(module.children())]
    for module in leaves:
        module.register_forward_hook(lambda _, __, output: sizes.append(output.nbytes))
    with torch.no_grad():
        net.eval()(torch.zeros(1, 3, 32, 32))
    return (4 * sum(item.nbytes for item in net.parameters()) + images * sum(sizes)) / MEGABYTE
