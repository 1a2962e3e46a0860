"""A user's arrays as examples for a prediction: which sites and classes are used, and what is left out."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.data.arrays import read_arrays
from prunefield.measures.covariances import measure_lengthscale

FEWEST = 100  # examples of a class
SMALLEST = 4  # sites
COLOURS = (1, 3, 4)  # lengths of a last axis that are taken as channels


@dataclass(frozen=True)
class PreparedExamples:
    """Inputs on a grid of one or two axes, with mean 0 and variance 1 over all sites and examples.

    `short` and `long` (n, *grid) are the examples of the two classes, the latter with the longer lengthscale; without
    labels `short` is None. `sites` (*grid) is the position of each site in the user's flattened input, `varies` (*grid)
    which sites are not constant. `notes` are sentences about what was done, `labels` the two labels.
    """

    short: Tensor | None
    long: Tensor
    sites: Tensor
    varies: Tensor
    shape: tuple[int, ...]
    labels: tuple[Any, Any] | None
    notes: tuple[str, ...]

    @property
    def grid(self) -> tuple[int, ...]:
        return tuple(self.sites.shape)


def prepare_examples(x: Any, y: Any = None, shape: Sequence[int] | None = None) -> PreparedExamples:
    """Examples from an array (n, …) of any number type, labels (n,) of any kind or None, and the shape of one input.

    The shape is (N,), (height, width), (channels, height, width) or (height, width, channels) [default: that of x].
    Only the channel that varies most is used; a border of constant inputs is cut off.

    >>> found = prepare_examples(np.random.default_rng(0).normal(size=(200, 8, 8, 3)))
    >>> found.grid, found.notes
    ((8, 8), ('channels are the last axis; of 3 channels only channel 2, which varies most, is used',))
    """
    values = _read_numbers(x)
    if shape is not None and not (isinstance(shape, Sequence) and all(isinstance(side, Integral) for side in shape)):
        raise UsageError(f"shape must be whole numbers, as in (3, 32, 32), not {shape!r:.100}")
    shape = tuple(shape) if shape is not None else tuple(values.shape[1:])
    if math.prod(shape) * len(values) != values.numel() or not 1 <= len(shape) <= 3:
        raise UsageError(
            f"inputs must be (N,), (height, width) or (channels, height, width), not {shape} for x of "
            f"{tuple(values.shape)}"
        )
    if len(values) < FEWEST or math.prod(shape) < SMALLEST:
        raise UsageError(
            f"at least {FEWEST} examples of at least {SMALLEST} inputs are needed (the shape is {tuple(values.shape)})"
        )
    notes: list[str] = []
    flat = values.reshape(len(values), -1)
    if wrong := int((~flat.isfinite()).sum()):
        raise UsageError(f"{wrong} of the inputs are not finite; leave those examples out or fill them in")
    sites = _choose_channel(flat, shape, notes)
    low, high = flat[:, sites.flatten()].amin(0), flat[:, sites.flatten()].amax(0)
    sites, varies = _crop_sites(sites, (low != high).view(sites.shape), notes)
    chosen = flat[:, sites.flatten()].to(torch.float64).view(-1, *sites.shape)
    chosen = chosen / chosen.abs().max()  # squares of very large or small numbers overflow or underflow
    chosen = torch.where(varies, chosen - chosen[:, varies].mean(), 0.0)
    chosen = chosen / chosen[:, varies].var(0).mean().sqrt()
    _count_copies(flat, notes)
    if y is None:
        return PreparedExamples(None, chosen, sites, varies, shape, None, tuple(notes))
    short, long, labels = _order_classes(chosen, y, notes)
    return PreparedExamples(short, long, sites, varies, shape, labels, tuple(notes))


def read_examples(path: Path) -> tuple[Tensor, Tensor | None, tuple[int, ...]]:
    """Inputs (n, N), labels (n,) or None, and the shape of one input, from .npy (x) or .npz (x and y)."""
    arrays = read_arrays(path, ("x",), ("y",), width=8)
    x, y = arrays["x"], arrays.get("y")
    if x.ndim < 2 or x.dtype.kind not in "iuf" or not x.size:
        raise UsageError(f"{path}: x must be real numbers of shape (n, …), not {x.dtype} of shape {x.shape}")
    if y is not None and (y.shape != (len(x),) or y.dtype.kind not in "buifUS"):
        raise UsageError(f"{path}: y must have one label per example, shape ({len(x)},), not {y.dtype} of {y.shape}")
    labels = None if y is None else torch.from_numpy(np.unique(y, return_inverse=True)[1])
    return torch.from_numpy(x.reshape(len(x), -1).astype(np.float64)), labels, x.shape[1:]


def has_channels_last(shape: Sequence[int]) -> bool:
    """Whether an input of three axes has its channels last: the last axis has length 1, 3 or 4 and is shorter than the
    first.

    >>> has_channels_last((32, 32, 3)), has_channels_last((3, 32, 32)), has_channels_last((3, 4, 4))
    (True, False, False)
    """
    return len(shape) == 3 and shape[-1] in COLOURS and shape[0] > shape[-1]


def _read_numbers(x: Any) -> Tensor:
    """x as float32 if that is exact, else as float64."""
    if np.ma.is_masked(x):
        raise UsageError(f"{np.ma.count_masked(x)} of the inputs are masked; leave those examples out or fill them in")
    values = x.detach().cpu() if isinstance(x, Tensor) else np.asarray(x)
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "UO" and not values.ndim:
            given = repr(x) if isinstance(x, str) else type(x).__name__
            raise UsageError(
                f"x must be an array, not {given}; read a file or sample a task first: np.load, Task.sample"
            )
        if values.dtype.kind not in "biuf":
            raise UsageError(f"x must be real numbers of shape (n, …), not {values.dtype} of shape {values.shape}")
        exact = values.astype(np.float32 if values.itemsize <= 2 else np.float64, copy=False)
        values = torch.from_numpy(exact if exact.flags.writeable else exact.copy())  # torch warns about others
    if values.is_complex() or values.ndim < 2:
        raise UsageError(f"x must be real numbers of shape (n, …), not {values.dtype} of shape {tuple(values.shape)}")
    return values.to(torch.float32 if values.element_size() <= 2 else torch.float64)


def _choose_channel(flat: Tensor, shape: tuple[int, ...], notes: list[str]) -> Tensor:
    """The positions of one channel in a flattened input, as a grid of one or two axes."""
    sites = torch.arange(math.prod(shape)).view(shape)
    if len(shape) == 3:
        last = has_channels_last(shape)
        sites = sites.movedim(-1, 0) if last else sites
        if len(sites) > 1:
            spread = torch.stack([flat[:, channel.flatten()].to(torch.float64).var(0).sum() for channel in sites])
            best = int(spread.argmax())
            notes.append(
                f"{'channels are the last axis; ' if last else ''}of {len(sites)} channels only channel {best}, "
                "which varies most, is used"
            )
            sites = sites[best]
        else:
            sites = sites[0]
    return sites if min(sites.shape) >= SMALLEST else sites.flatten()


def _crop_sites(sites: Tensor, varies: Tensor, notes: list[str]) -> tuple[Tensor, Tensor]:
    """The smallest box that contains all sites that vary."""
    constant, total = int((~varies).sum()), varies.numel()
    if total - constant < SMALLEST:
        raise UsageError(
            f"{constant} of {total} inputs are constant; at least {SMALLEST} must vary (is x an array of examples?)"
        )
    if not constant:
        return sites, varies
    notes.append(f"{constant} of {total} inputs are constant and are left out")
    if varies.ndim == 1:
        return sites[varies], varies[varies]
    for axis in (0, 1):
        used = torch.nonzero(varies.any(1 - axis)).flatten()
        first, length = int(used[0]), max(SMALLEST, int(used[-1] - used[0]) + 1)
        first = min(first, varies.shape[axis] - length)
        sites, varies = sites.narrow(axis, first, length), varies.narrow(axis, first, length)
    return sites, varies


def _count_copies(flat: Tensor, notes: list[str]) -> None:
    """Adds a note if rows occur more than once, because the certainty assumes independent rows."""
    keys = flat[:, :: max(1, flat.shape[1] // 64)].to(torch.float64)
    weights = torch.rand(keys.shape[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    copies = len(flat) - len((keys @ weights).unique())
    if copies > 0.01 * len(flat):
        notes.append(
            f"{copies} of {len(flat)} examples are copies of others; if they are not independent draws, the "
            "certainty is overestimated"
        )


def _order_classes(x: Tensor, y: Any, notes: list[str]) -> tuple[Tensor, Tensor, tuple[Any, Any]]:
    """The examples of the classes with the shortest and the longest lengthscale, and their labels."""
    given = y.detach().cpu().numpy() if isinstance(y, Tensor) else np.asarray(y)
    if given.shape != (len(x),):
        raise UsageError(f"y must have one label per example, shape ({len(x)},), not {given.shape}")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise UsageError(f"{int((~np.isfinite(given)).sum())} of the labels are not finite; leave those examples out")
    if np.ma.is_masked(y):
        raise UsageError(f"{np.ma.count_masked(y)} of the labels are masked; leave those examples out")
    try:
        names, inverse, counts = np.unique(given, return_inverse=True, return_counts=True)
    except TypeError as error:  # objects, as pandas has them: None among texts, say
        raise UsageError(f"the labels cannot be sorted ({error}); give numbers or texts") from None
    large = [index for index, count in enumerate(counts) if count >= FEWEST]
    if len(large) < 2:
        raise UsageError(
            f"two classes of at least {FEWEST} examples are needed; there are {len(names)}, the two largest with "
            f"{', '.join(str(count) for count in sorted(counts)[:-3:-1])}"
        )
    if len(large) < len(names):
        notes.append(f"{len(names) - len(large)} of the classes have fewer than {FEWEST} examples and are left out")
    parts = {index: x[torch.from_numpy(inverse == index)] for index in large}
    for index, part in parts.items():
        if bool((part == part[0]).all()):
            raise UsageError(
                f"all {len(part)} examples of the class {names[[index]].tolist()[0]!r} are equal; leave it out"
            )
    ranked = sorted(large, key=lambda index: measure_lengthscale(parts[index]))
    first, last = ranked[0], ranked[-1]
    low, high = names[[first, last]].tolist()
    labels = (low, high)
    if len(large) > 2:
        notes.append(
            f"of {len(large)} classes, {labels[0]!r} has the shortest and {labels[1]!r} the longest lengthscale; "
            "the others are not used"
        )
    if max(counts[[first, last]]) > 1.5 * min(counts[[first, last]]):
        notes.append(
            f"class sizes differ ({counts[first]} and {counts[last]}); the flow assumes equally likely classes"
        )
    return parts[first], parts[last], labels
