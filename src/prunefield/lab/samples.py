"""Samples of a unit cube for sweeps: the same numbers on every machine."""

from collections.abc import Sequence
from random import Random

from prunefield.core.seeds import derive_seed

BITS = 30  # of a Sobol point


def draw_random(count: int, seed: int, keys: Sequence[str]) -> list[list[float]]:
    """Uniform numbers, with a stream of its own for each setting, so that a new setting does not change the others."""
    streams = [Random(derive_seed(seed, "sweep", key)) for key in keys]
    return [[stream.random() for _ in range(count)] for stream in streams]


def draw_sobol(count: int, seed: int, keys: Sequence[str]) -> list[list[float]]:
    """Sobol points with a digital shift: of 2^m points, each interval of length 2^-m has one in every setting."""
    from scipy.stats.qmc import Sobol

    units = Sobol(len(keys), scramble=False, bits=BITS).random_base2((count - 1).bit_length())[:count]
    shifts = [Random(derive_seed(seed, "sobol", place)).getrandbits(BITS) for place in range(len(keys))]
    return [
        [((int(unit * 2**BITS) ^ shift) + 0.5) / 2**BITS for unit in units[:, place]]
        for place, shift in enumerate(shifts)
    ]
