"""Faults: which layer is to blame when another one has no scores."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.modules.borrowing import lend_copies
from prunefield.modules.naming import name_parameters, walk_modules

Rate = Callable[[], Mapping[str, Tensor]]


def explain_zeros(net: nn.Module, scores: Mapping[str, Tensor], rate: Rate) -> None:
    """Refuses a network with a layer whose scores are all zero, and names the layer that causes it.

    That is the layer itself if its weights are zero; otherwise the first all-zero parameter (a head, the last norm of
    a block, a layer scale) for which `rate` gives scores once it is filled with ones.
    """
    name = next((name for name, score in scores.items() if score.numel() and not score.count_nonzero()), None)
    if name is None:
        return
    parameters = name_parameters(net)
    if name in parameters and not parameters[name].count_nonzero():
        advice = f"initialise it, or set skip={name!r}"
        raise UsageError(f"all scores of {name!r} are zero because its weights are zero: {advice}")
    for other, parameter in sorted(parameters.items(), key=lambda item: item[0].endswith("bias")):  # seldom at fault
        if parameter.numel() and parameter.is_floating_point() and not parameter.count_nonzero():
            with lend_copies(net, [other]):
                with torch.no_grad():
                    name_parameters(net)[other].fill_(1)
                if rate()[name].count_nonzero():
                    advice = "initialise it, or score after some steps of training"
                    if isinstance(dict(walk_modules(net))[other.rpartition(".")[0]], nn.modules.batchnorm._BatchNorm):
                        advice += ", or use synflow with mode='train', where batch norms are the identity"
                    blame = f"because {other!r}, through which it acts, is all zeros"
                    raise UsageError(f"all scores of {name!r} are zero {blame}: {advice}")
    called: list[nn.Module] = []
    layer = dict(walk_modules(net)).get(name.rpartition(".")[0], net)
    hook = layer.register_forward_hook(lambda module, *_: called.append(module))
    try:
        rate()
    finally:
        hook.remove()
    if not called:
        raise UsageError(f"all scores of {name!r} are zero because the network does not call it: set skip={name!r}")
