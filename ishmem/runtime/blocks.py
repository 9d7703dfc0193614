"""Splits views that are not contiguous into contiguous blocks at a regular stride."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dpctl.tensor
import numpy as np

from ishmem.runtime import check


@dataclass(frozen=True)
class Blocks:
    """Blocks of ``size`` elements whose first elements are ``step`` elements apart, in C order."""

    size: int
    step: int


def split(dest: Any, source: Any, nelems: Any) -> Iterator[tuple[Any, Any, int, int, int, int]]:
    """Yield the arguments ``dest`` to ``nblocks`` of the ``ibput`` or ``ibget`` calls that copy ``source`` to ``dest``.

    Raises:
        TypeError: Not arrays, or not of one dtype.
        ValueError: Sizes that do not match, or views without a regular stride.
    """
    to, origin = check.view(dest, "dest"), check.view(source, "source")
    check.same_dtype(to, origin)
    check.writable(to)
    count = check.count(nelems, to, origin)
    put, take = _blocks(dest, to), _blocks(source, origin)
    size = _common(put, take)
    put_step, take_step = put.step if put.size == size else size, take.step if take.size == size else size
    whole, rest = divmod(count, size)
    target, start = span(dest), span(source)
    if whole:
        yield target, start, put_step, take_step, size, whole
    if rest:
        yield target[whole * put_step :], start[whole * take_step :], rest, rest, rest, 1


def span(array: Any) -> Any:
    """Return a contiguous 1-D array from the first to the last element of an array, gaps included."""
    if not hasattr(array, "__sycl_usm_array_interface__"):
        host = np.asarray(array)
        return np.lib.stride_tricks.as_strided(host, (_extent(host.shape, _strides(host)),), (host.itemsize,))
    usm = array.get_array() if hasattr(array, "get_array") else array
    shape, first = (_extent(usm.shape, usm.strides),), usm._element_offset
    return dpctl.tensor.usm_ndarray(shape, dtype=usm.dtype, buffer=usm.usm_data, strides=(1,), offset=first)


def step(array: Any, described: check.View) -> int:
    """Return the stride of a 1-D array in elements.

    Raises:
        ValueError: Not 1-D, or its stride is not positive.
    """
    shape, strides = np.shape(array), _strides(array)
    if len(shape) != 1:
        raise ValueError(f"{described.name} has {len(shape)} dimensions; pass a 1-D array or slice")
    if shape[0] > 1 and strides[0] < 1:
        raise ValueError(f"{described.name} has the stride {strides[0]}; pass a slice with a positive step")
    return max(strides[0], 1)


def _strides(array: Any) -> tuple[int, ...]:
    """Return strides in elements; 0 where a stride is not a multiple of the element size."""
    if hasattr(array, "__sycl_usm_array_interface__"):
        return tuple(array.strides)
    host = np.asarray(array)
    return tuple(0 if stride % host.itemsize else stride // host.itemsize for stride in host.strides)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides)) if all(shape) else 0


def _blocks(array: Any, described: check.View) -> Blocks:
    """Return the blocks of an array that, with axes merged, is contiguous, 1-D, or 2-D with contiguous rows."""
    if described.order & 1:
        return Blocks(0, 0)
    axes = _merged(array.shape, _strides(array))
    if len(axes) == 1 and axes[0][1] > 0:
        return Blocks(1, axes[0][1])
    if len(axes) == 2 and axes[1][1] == 1 and axes[0][1] >= axes[1][0]:
        return Blocks(axes[1][0], axes[0][1])
    raise ValueError(
        f"{described.name} is not contiguous, and neither 1-D with a positive stride nor 2-D with contiguous rows; "
        "copy it with dpnp.ascontiguousarray, or move a slice at a time"
    )


def _merged(shape: tuple[int, ...], strides: tuple[int, ...]) -> list[tuple[int, int]]:
    """Merge axes that one stride covers; return length and stride of each remaining axis."""
    axes: list[tuple[int, int]] = []
    for n, stride in zip(shape, strides):
        if n == 1:
            continue
        if axes and axes[-1][1] == n * stride:
            axes[-1] = (axes[-1][0] * n, stride)
        else:
            axes.append((n, stride))
    return axes


def _common(put: Blocks, take: Blocks) -> int:
    """Return the block size that suits both sides; size 0 stands for a contiguous array, which takes any."""
    if put.size and take.size and put.size != take.size:
        raise ValueError(
            f"dest has contiguous blocks of {put.size} elements and source of {take.size}; "
            "copy one of them with dpnp.ascontiguousarray"
        )
    return put.size or take.size or 1
