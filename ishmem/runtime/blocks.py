"""Plans of strided operations; views that are not contiguous are split into contiguous blocks at a regular stride."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ishmem.environment import arrays
from ishmem.runtime import check


@dataclass(frozen=True)
class Plan:
    """A strided operation whose arguments are checked, with sizes and strides in elements.

    Block ``i`` goes from element ``i * sst`` of ``source`` to element ``i * dst`` of ``dest``; ``remote`` is the
    address of the symmetric array on PE ``pe``.
    """

    dest: check.View
    source: check.View
    dst: int
    sst: int
    bsize: int
    nblocks: int
    pe: int
    is_put: bool
    remote: int

    @property
    def to(self) -> int:
        """Return the address of the first block of ``dest``."""
        return self.remote if self.is_put else self.dest.address

    @property
    def origin(self) -> int:
        """Return the address of the first block of ``source``."""
        return self.source.address if self.is_put else self.remote

    @property
    def nbytes(self) -> int:
        """Return the bytes of a block."""
        return self.bsize * self.dest.itemsize

    @property
    def to_step(self) -> int:
        """Return the bytes from a block of ``dest`` to the next."""
        return self.dst * self.dest.itemsize

    @property
    def from_step(self) -> int:
        """Return the bytes from a block of ``source`` to the next."""
        return self.sst * self.source.itemsize


def plan(
    to: check.View, origin: check.View, dst: int, sst: int, bsize: int, nblocks: int, pe: int, is_put: bool
) -> Plan:
    """Return the plan of a strided operation.

    Raises:
        SymmetryError: The array on PE ``pe`` is not symmetric.
    """
    return Plan(to, origin, dst, sst, bsize, nblocks, pe, is_put, check.remote(to if is_put else origin, pe))


def split(to: check.View, origin: check.View, nelems: Any, pe: int, is_put: bool) -> Iterator[Plan]:
    """Yield the plans of the strided operations that copy ``origin`` to ``to``.

    There are at most two, or one for each element if just one of the arrays has a negative stride.

    Raises:
        SymmetryError: The array on PE ``pe`` is not symmetric.
        TypeError: Not of one dtype.
        ValueError: Sizes that do not match, or views without a regular stride.
    """
    check.same_dtype(to, origin)
    check.writable(to)
    count = check.count(nelems, to, origin)
    if _is_reversed(to) or _is_reversed(origin):
        yield from _split_reversed(to, origin, count, pe, is_put)
        return
    put, take = _blocks(to), _blocks(origin)
    size = _common(put, take)
    put_step, take_step = put.step if put.size == size else size, take.step if take.size == size else size
    whole, rest = divmod(count, size)
    target, start = span(to), span(origin)
    if whole:
        yield plan(target, start, put_step, take_step, size, whole, pe, is_put)
    if rest:
        last, first = _from(target, whole * put_step), _from(start, whole * take_step)
        yield plan(last, first, rest, rest, rest, 1, pe, is_put)


def _is_reversed(array: check.View) -> bool:
    return len(array.shape) == 1 and array.count > 1 and array.strides[0] < 0


def _split_reversed(to: check.View, origin: check.View, count: int, pe: int, is_put: bool) -> Iterator[Plan]:
    if _is_reversed(to) and _is_reversed(origin):
        ends = [check.view(each.array[:count][::-1], each.name) for each in (to, origin)]
        yield from split(ends[0], ends[1], None, pe, is_put)
        return
    for index in range(count):
        yield plan(_element(to, index), _element(origin, index), 1, 1, 1, 1, pe, is_put)


def _element(array: check.View, index: int) -> check.View:
    """Return the view of an element, counted in C order."""
    place = [int(each) for each in np.unravel_index(index, array.shape)]
    address = array.address + sum(map(operator.mul, place, array.strides)) * array.itemsize
    one = array.array[tuple(slice(each, each + 1) for each in place)]
    return replace(array, array=one, address=address, count=1, order=3)


def span(array: check.View) -> check.View:
    """Return a contiguous 1-D view from the first to the last element of an array, gaps included."""
    count = _extent(array.shape, array.strides)
    if array.device:
        usm = arrays.usm_array(array.array)
        whole = arrays.tensor.usm_ndarray(
            (count,), dtype=usm.dtype, buffer=usm.usm_data, strides=(1,), offset=usm._element_offset
        )
    else:
        host = np.asarray(array.array)
        whole = np.lib.stride_tricks.as_strided(host, (count,), (host.itemsize,))
    return replace(array, array=whole, count=count, order=3)


def _from(array: check.View, index: int) -> check.View:
    """Return a contiguous 1-D view without the elements before ``index``."""
    address, count = array.address + index * array.itemsize, array.count - index
    return replace(array, array=array.array[index:], address=address, count=count)


def step(array: check.View) -> int:
    """Return the stride of a 1-D array in elements.

    Raises:
        ValueError: Not 1-D, or its stride is not positive.
    """
    shape, strides = array.shape, array.strides
    if len(shape) != 1:
        raise ValueError(f"{array.name} has {len(shape)} dimensions; pass a 1-D array or slice")
    if shape[0] > 1 and strides[0] < 1:
        raise ValueError(f"{array.name} has the stride {strides[0]}; pass a slice with a positive step")
    return max(strides[0], 1)


@dataclass(frozen=True)
class _Blocks:
    """Blocks of ``size`` elements whose first elements are ``step`` elements apart, in C order."""

    size: int
    step: int


def _extent(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides)) if all(shape) else 0


def _blocks(array: check.View) -> _Blocks:
    """Return the blocks of an array that, with axes merged, is contiguous, 1-D, or 2-D with contiguous rows."""
    if array.order & 1:
        return _Blocks(0, 0)
    axes = _merged(array.shape, array.strides)
    if len(axes) == 1 and axes[0][1] > 0:
        return _Blocks(1, axes[0][1])
    if len(axes) == 2 and axes[1][1] == 1 and axes[0][1] >= axes[1][0]:
        return _Blocks(axes[1][0], axes[0][1])
    raise ValueError(
        f"{array.name} is not contiguous, and neither 1-D with a regular stride nor 2-D with contiguous rows; "
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


def _common(put: _Blocks, take: _Blocks) -> int:
    """Return the block size that both sides allow; size 0 stands for a contiguous array, which allows any."""
    if put.size and take.size and put.size != take.size:
        raise ValueError(
            f"dest has contiguous blocks of {put.size} elements and source of {take.size}; "
            "copy one of them with dpnp.ascontiguousarray"
        )
    return put.size or take.size or 1
