"""Attention in a positive flow: shares of positive numbers instead of exponentials, and no flow is counted twice.

Queries, keys and values each carry all of the flow that leaves an attention layer, so it would triple on its way back
to earlier layers, and later layers would be emptied. Each therefore gets a third (`split_flow`).
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from prunefield.modules.secants import divide_flow, show_overflow


def take_shares(input: Tensor, dim: int | None = None, *_: Any, dtype: torch.dtype | None = None, **__: Any) -> Tensor:
    """s/Σs with a constant sum, instead of exp(s)/Σexp(s): both are positive shares that add up to one.

    The derivatives of a softmax, like those of every normalisation, have both signs, and they vanish for large
    numbers. Masked entries (−inf or the smallest number) have no share; if all entries are zero, shares are equal.

    >>> take_shares(torch.tensor([1.0, 3.0, -torch.inf]), 0)
    tensor([0.2500, 0.7500, 0.0000])
    >>> take_shares(torch.zeros(2), 0)
    tensor([0.5000, 0.5000])
    """
    axis = -1 if dim is None else dim
    scores = input if dtype is None else input.to(dtype)
    limits = torch.finfo(scores.dtype)
    open_ = scores.detach() > limits.min / 4
    positive = torch.where(open_, scores, 0).clamp(min=0)
    total = show_overflow(positive.detach().sum(axis, keepdim=True))
    equal = open_ / open_.sum(axis, keepdim=True).clamp(min=1)
    found = torch.where(total <= limits.tiny, equal.to(scores.dtype), positive / total.clamp(min=limits.tiny))
    found._is_share = True  # type: ignore[attr-defined]
    return found


def is_share(item: Any) -> bool:
    """Whether a tensor is a result of `take_shares`."""
    return isinstance(item, Tensor) and getattr(item, "_is_share", False)


def split_flow(product: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A matrix product that passes back a third of the flow if one of its factors is shares, as in attention."""

    def multiply(*args: Any, **kwargs: Any) -> Tensor:
        operands = [part for item in args for part in (item if isinstance(item, tuple | list) else [item])]
        if not any(map(is_share, operands)):
            return NotImplemented
        return divide_flow(product(*args, **kwargs), 3)

    return multiply


def drop_shares(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Dropout that keeps the mark of shares."""
    if not is_share(input):
        return NotImplemented
    found = functional.dropout(input, *args, **kwargs)
    found._is_share = True  # type: ignore[attr-defined]
    return found


def attend_values(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`scaled_dot_product_attention` with `take_shares` instead of the softmax, and without dropout."""
    if enable_gqa:
        key, value = (item.repeat_interleave(query.shape[-3] // item.shape[-3], -3) for item in (key, value))
    scores = query @ key.transpose(-2, -1) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        closed = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(closed, -torch.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    return split_flow(torch.matmul)(take_shares(scores, -1), value)


def attend_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    """`multi_head_attention_forward` with `attend_values`, on (length, examples, features) or (length, features)."""
    sides = [item.unsqueeze(1) if item.ndim == 2 else item for item in (query, key, value)]
    if in_proj_weight is not None:
        parts = list(in_proj_weight.chunk(3))
    else:
        assert q_proj_weight is not None
        assert k_proj_weight is not None
        assert v_proj_weight is not None
        parts = [q_proj_weight, k_proj_weight, v_proj_weight]
    biases = [None] * 3 if in_proj_bias is None else list(in_proj_bias.chunk(3))
    made = [functional.linear(*item) for item in zip(sides, parts, biases, strict=True)]
    for extra, place in ((bias_k, 1), (bias_v, 2)):
        if extra is not None:
            made[place] = torch.cat([made[place], extra.expand(1, made[place].shape[1], -1)])
        if add_zero_attn:
            made[place] = torch.cat([made[place], torch.zeros_like(made[place][:1])])
    heads = [item.unflatten(2, (num_heads, -1)).permute(1, 2, 0, 3) for item in made]  # example, head, place, feature
    closed = _join_masks(attn_mask, key_padding_mask, heads[0], heads[1])
    found = attend_values(*heads, attn_mask=closed).permute(2, 0, 1, 3).flatten(2)
    found = functional.linear(found, out_proj_weight, out_proj_bias)
    return (found.squeeze(1) if query.ndim == 2 else found), None


def _join_masks(attention: Tensor | None, padding: Tensor | None, query: Tensor, key: Tensor) -> Tensor | None:
    """True where a query may look; in the masks of `MultiheadAttention`, True is where it may not."""
    if attention is None and padding is None:
        return None
    n, heads, length, places = *query.shape[:3], key.shape[2]
    open_ = torch.ones(n, heads, length, places, dtype=torch.bool, device=query.device)
    for mask in (attention, None if padding is None else padding.view(n, 1, 1, -1)):
        if mask is not None:
            closed = mask if mask.dtype == torch.bool else mask < -1
            closed = closed.view(n, heads, *closed.shape[1:]) if closed.ndim == 3 else closed
            open_[..., : closed.shape[-1]] &= ~closed
    return open_
