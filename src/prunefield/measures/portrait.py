"""A portrait of a first layer: every measure of this package, unit by unit."""

from collections.abc import Sequence

import torch
from torch import Tensor

from prunefield.measures.cavity import score_weights
from prunefield.measures.gabor import find_preference, flatten_fields
from prunefield.measures.kurtosis import kurtosis, kurtosis_per_class
from prunefield.measures.localisation import compute_ipr
from prunefield.measures.patches import find_lonely_share
from prunefield.measures.widths import bound_widths, correlate_sizes, fit_gaussians, measure_widths


def measure_fields(weight: Tensor, mask: Tensor, shape: Sequence[int]) -> dict[str, Tensor]:
    """Measures (units,) that need no data, of weights and masks (units, inputs); NaN where a unit has none.

    `kept` inputs; `width_x` and `width_y` of the mask (redman2025, eq. 1), NaN where the fit diverged, or, if nothing
    is masked, `weight_width_x` and `weight_width_y`, the same for |w|, as all full masks have the same width; `ipr` of
    the weights (lufkin2024), N times which is 1 for a flat field; `lonely`, the share of kept inputs without a kept
    neighbour; `selectivity` of the weights for an orientation. The shape is (N,), (height, width) or (channels, height,
    width); one-dimensional fields have neither `width_y` nor `selectivity`, and no width along a side of one pixel.

    >>> found = measure_fields(torch.eye(4), torch.ones(4, 4, dtype=torch.bool), (2, 2))
    >>> found["ipr"].tolist(), found["lonely"].tolist()
    ([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0])
    """
    whole = (*(1,) * (3 - len(shape)), *shape)
    fields, masks = (weight * mask).view(-1, *whole), mask.view(-1, *whole)
    dense = bool(mask.all())
    fit, prefix = (fit_gaussians(correlate_sizes(fields)), "weight_") if dense else (measure_widths(masks), "")
    narrow, wide = bound_widths(whole[1:])
    found = {"kept": mask.sum(1).double()}
    for name, width, side in ((f"{prefix}width_x", fit.width_x, whole[2]), (f"{prefix}width_y", fit.width_y, whole[1])):
        fits = (width > 1.001 * narrow) & (width < 0.999 * wide) & (side > 1)
        found[name] = torch.where(fits, width, torch.nan)
    found["ipr"] = compute_ipr((weight * mask).double())
    found["lonely"] = find_lonely_share(masks)
    found["selectivity"] = find_preference(flatten_fields(fields)).selectivity
    for name in (f"{prefix}width_y", "selectivity") if len(shape) == 1 else ():
        del found[name]
    return found


def describe_responses(weight: Tensor, mask: Tensor, x: Tensor, y: Tensor) -> tuple[dict[str, Tensor], Tensor]:
    """Measures (units,) on images (n, inputs) with classes (n,), and the cavity score of every weight (redman2025).

    `kurtosis_within` a class, averaged over classes, and `kurtosis_pooled` (eqs 3 and 4); `cavity`, the mean score of
    the kept weights (eq. 5).
    """
    values = x @ (weight * mask).T
    scores = score_weights(weight, x, y, mask=mask)["exact"]
    within = kurtosis_per_class(values, y.unique(return_inverse=True)[1], len(y.unique())).nanmean(0)
    found = {"kurtosis_within": within, "kurtosis_pooled": kurtosis(values), "cavity": scores.nanmean(1)}
    return found, scores
