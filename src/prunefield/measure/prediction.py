"""From data alone: will a ReLU neuron that learns to tell two lengthscales apart localise, and where?"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from prunefield.errors import UsageError
from prunefield.measure.excess import Excess, estimate_excess
from prunefield.measure.localisation import locate, participate, separate
from prunefield.measure.stimulus import Answer, probe_dependence, probe_sign, probe_translation
from prunefield.nets.glorot import draw_glorot
from prunefield.theory.amplifier import stretch
from prunefield.theory.flow import integrate

LOCAL, SPREAD = 6.0, 3.0  # IPR × N: a flat field has 1, Gaussian noise 3; twice the noise's is called local
KNOTS, QUANTILES, PIXELS = 1025, 2001, 1_000_000
SCALE = 1e-3  # of the first weights' variance, as in Fig. 3


@dataclass(frozen=True)
class Prediction:
    """What the data say, and what the flow of Eq. 5 (lufkin2024) makes of it from some first weights.

    `answer` is yes, no or undecided; `fields` (inits, N) are the weights at the end, `concentration` (inits,) their
    IPR × N, `peaks` (inits,) the sites of their maxima. `agreement` is the share of the folds of the data, each with
    its own flow, that give the same answer; `steadiness` (inits,) the share of folds in which the peak is where it is
    for all data, give or take one site. `covariances` (2, N, N) are those of class 0 and class 1; `amplifier` (2, k)
    is φ on a grid.
    """

    properties: dict[str, Answer]
    excess: Excess
    answer: str
    fields: Tensor
    concentration: Tensor
    peaks: Tensor
    agreement: float
    steadiness: Tensor
    covariances: Tensor
    amplifier: Tensor


def predict(
    x: Tensor,
    y: Tensor | None,
    shape: Sequence[int],
    *,
    inits: int,
    folds: int,
    time: float,
    generator: torch.Generator,
) -> Prediction:
    """The prediction for examples (n, N) that fold into `shape`, with labels (n,) or None.

    Inputs are centred site by site and brought to unit variance over all sites. Where a ring is translation invariant
    (S2), covariances are averaged along it. t = `time` is steps × learning rate.
    """
    raw, x = x.to(torch.float64), _standardise(x)
    grey = raw.view(len(raw), *shape) if len(shape) < 3 else raw.view(len(raw), *shape).mean(1)
    properties = {
        "S1 weak dependence": probe_dependence(grey),
        "S2 translation invariance": (shift := probe_translation(grey)),
        "S3 sign symmetry": probe_sign(grey - grey.mean()),
    }
    ring = len(shape) == 1 and shift.met
    short, long = order_classes(x, y)
    start = draw_glorot(inits, x.shape[1], 1, scale=SCALE, generator=generator)
    covariances = torch.stack([_covary(part, ring) for part in (short, long)])
    phi = amplify(long)
    fields = integrate(start, [0.0, time], covariances[0], covariances[1], phi)[-1]
    parts = [
        integrate(start, [0.0, time], _covary(first, ring), _covary(second, ring), amplify(second))[-1]
        for first, second in zip(short.tensor_split(folds), long.tensor_split(folds), strict=True)
    ]
    answer, peaks = judge(fields), locate(fields)
    near = torch.stack([_apart(locate(part), peaks, shape) <= 1 for part in parts]).double().mean(0)
    agreement = sum(judge(part) == answer for part in parts) / folds
    grid = torch.linspace(-1, 1, 201, dtype=torch.float64)
    concentration = participate(fields) * x.shape[1]
    return Prediction(
        properties, estimate_excess(long), answer, fields, concentration, peaks, agreement, near, covariances,
        torch.stack([grid, phi(grid)]),
    )  # fmt: skip


def judge(fields: Tensor) -> str:
    """`yes` if the median field is local, `no` if it is spread out, `undecided` between."""
    median = float((participate(fields) * fields.shape[-1]).median())
    return "yes" if median >= LOCAL else "no" if median <= SPREAD else "undecided"


def order_classes(x: Tensor, y: Tensor | None) -> tuple[Tensor, Tensor]:
    """The examples of the class with the shortest and of that with the longest lengthscale, as (n, N) each.

    The lengthscale is judged by Σ_ij |corr(x_i, x_j)|. Without labels class 1 is the data, and class 0 the same
    sites, each shuffled over the examples, which has no correlations at all.
    """
    if y is None:
        stream = torch.Generator().manual_seed(0)
        return torch.stack([column[torch.randperm(len(x), generator=stream)] for column in x.T], 1), x
    classes = [x[y == label] for label in y.unique()]
    few = min(len(part) for part in classes)
    if len(classes) < 2 or few < 100:
        raise UsageError(f"two classes of at least 100 examples are needed, got {len(classes)}, the smallest of {few}")
    classes.sort(key=lambda part: float(torch.corrcoef(part.T).abs().sum()))
    return classes[0], classes[-1]


def amplify(values: Tensor) -> Callable[[Tensor], Tensor]:
    """The amplifier φ (Eq. 6) of a sample of inputs, from the quantiles of all sites, made odd (S3).

    It is tabulated over the angle arcsin a and interpolated, to about 1e-5.

    >>> normal = torch.special.ndtri((torch.arange(10_000, dtype=torch.float64) + 0.5) / 10_000)
    >>> round(amplify(normal)(torch.tensor([0.5], dtype=torch.float64)).item(), 3)  # √(2/π)·a
    0.399
    """
    flat = values.flatten()[:: max(1, values.numel() // PIXELS)]
    ordered, _ = torch.cat([flat, -flat]).sort()
    middle = (torch.arange(QUANTILES, dtype=torch.float64) + 0.5) / QUANTILES
    nodes = ordered[(middle * len(ordered)).long()]
    nodes = nodes * (ordered.square().mean() / nodes.square().mean()).sqrt()  # quantiles lose some of the tail
    slope = stretch(torch.linspace(0, math.pi / 2, KNOTS, dtype=torch.float64).sin()).clamp(max=1e12)
    table = (nodes * torch.erf(nodes * slope[:, None] / math.sqrt(2))).mean(-1)

    def phi(a: Tensor) -> Tensor:
        place = a.abs().clamp(max=1.0).asin() * ((KNOTS - 1) / (math.pi / 2))
        low = place.long().clamp(max=KNOTS - 2)
        return a.sign() * torch.lerp(table[low], table[low + 1], place - low)

    return phi


def _standardise(x: Tensor) -> Tensor:
    x = x.to(torch.float64)
    wrong = int((~x.isfinite()).sum())
    if wrong:
        raise UsageError(f"{wrong} of the inputs are not finite; leave those examples out or fill them in")
    constant = torch.nonzero(x.amax(0) == x.amin(0)).flatten().tolist()
    if constant:
        raise UsageError(
            f"{len(constant)} of {x.shape[1]} inputs are constant (the first is {constant[0]}); remove them"
        )
    if len(x) < 100 or x.shape[1] < 4:
        raise UsageError(f"at least 100 examples of at least 4 inputs are needed, got {tuple(x.shape)}")
    centred = x - x.mean(0)
    return centred / centred.square().mean().sqrt()


def _covary(x: Tensor, ring: bool) -> Tensor:
    covariance = x.T @ x / len(x)
    if not ring:
        return covariance
    site = torch.arange(x.shape[1])
    lag = (site[None, :] - site[:, None]) % x.shape[1]
    row = torch.zeros(x.shape[1], dtype=x.dtype).index_add_(0, lag.flatten(), covariance.flatten()) / x.shape[1]
    return row[lag]


def _apart(first: Tensor, second: Tensor, shape: Sequence[int]) -> Tensor:
    """The distance of sites: along the ring, or the larger of rows and columns in an image."""
    if len(shape) == 1:
        return separate(first, second, shape[0])
    pairs = zip(torch.unravel_index(first, shape)[-2:], torch.unravel_index(second, shape)[-2:], strict=True)
    return torch.stack([(one - other).abs() for one, other in pairs]).amax(0)
