"""Which network MODEL means, for the verbs."""

from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError
from prunefield.pruning.models import check_name, is_built_in, is_saved, load_model, name_networks, usual_shape

if TYPE_CHECKING:
    from torch import nn

__all__ = ["BUILT_IN", "check_name", "is_saved", "load"]


class Shapes(Mapping[str, tuple[int, ...]]):
    """The usual shape of one input of each network, found when it is asked for, as that imports torch."""

    def __getitem__(self, name: str) -> tuple[int, ...]:
        if name not in name_networks():
            raise KeyError(name)
        return usual_shape(name)

    def __iter__(self) -> Iterator[str]:
        return iter(name_networks())

    def __len__(self) -> int:
        return len(name_networks())


BUILT_IN = Shapes()


def load(args: Namespace, shape: tuple[int, ...], classes: int) -> "nn.Module":
    """The network that MODEL names, with the weights of --weights."""
    if args.classes is not None and not is_built_in(args.model):
        raise UsageError(
            f"--classes is for the networks {', '.join(name_networks())}; {args.model} has its own number of classes"
        )
    wanted = classes if args.classes is None else args.classes
    return load_model(args.model, shape, wanted, weights=args.weights, seed=args.seed)
