"""Conversion of tokens to float8 with a scale for each 128 elements, by operations of torch."""

from __future__ import annotations

from typing import Any

LARGEST, GROUP = 448.0, 128  # the largest number of float8_e4m3fn, and the number of elements of a scale


def to_float8(x: Any, rounded: bool, as_exponents: bool) -> tuple[Any, Any]:
    """Return bfloat16 tensor ``x`` as float8_e4m3fn, and its scales, one for each 128 elements of a row.

    Scales are powers of 2 if ``rounded``; if ``as_exponents``, their exponents, 4 in an int32. ``ValueError`` for other
    dtypes, or rows of no multiple of 128 elements, 512 with ``as_exponents``.
    """
    import torch

    multiple = 4 * GROUP if as_exponents else GROUP
    if not isinstance(x, torch.Tensor) or x.dtype != torch.bfloat16 or x.shape[-1] % multiple:
        found = type(x).__name__ + (f" of dtype {x.dtype}, shape {tuple(x.shape)}" if hasattr(x, "dtype") else "")
        raise ValueError(f"x is {found}; allowed with use_fp8 are tensors [tokens, {multiple} n] of torch.bfloat16")
    groups = x.float().unflatten(-1, (-1, GROUP))
    scales = groups.abs().amax(dim=-1).clamp(1e-4) / LARGEST
    if rounded:
        scales = torch.exp2(torch.ceil(torch.log2(scales)))
    tokens = (groups / scales.unsqueeze(-1)).to(torch.float8_e4m3fn).flatten(-2)
    if as_exponents:
        scales = (scales.view(torch.int32) >> 23).to(torch.uint8).view(torch.int32)
    return tokens, scales
