"""Whether a mask belongs to a network: the same names, the same shapes."""

from collections.abc import Mapping

import torch
from torch import Tensor

from prunefield.core.errors import UsageError


def compare_shapes(mask: Mapping[str, Tensor], shapes: Mapping[str, torch.Size], what: str) -> None:
    """Refuses a mask whose names or shapes `shapes` does not have."""
    wrong = [name for name, kept in mask.items() if shapes.get(name) != kept.shape]
    if computed := [name for name in wrong if f"{name}_orig" in shapes]:
        raise UsageError(
            f"{computed[0]} is computed from {computed[0]}_orig in {what}: torch.nn.utils.prune holds its zeros; "
            "call its `remove` first"
        )
    if wrong:
        told = [
            f"{name} is {tuple(mask[name].shape)} in the mask, "
            f"{tuple(shapes[name]) if name in shapes else 'missing'} in {what}"
            for name in wrong[:3]
        ]
        more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
        raise UsageError(f"the mask is for another architecture: {'; '.join(told)}{more}")
