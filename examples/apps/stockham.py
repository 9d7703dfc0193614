"""Fast Fourier transforms in kernels: Stockham's algorithm, for sizes whose prime factors are small.

An array is seen as (outer, n, inner), and transformed along its middle axis. A stage of radix R does, for each outer
and inner element, n / R transforms of R elements that are n / R apart, and leaves their results where the following
stage needs them; there is no bit reversal.
"""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np

from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

LARGEST = 7


@dpex.device_func
def bin_of(x, roots, outer, i, k, radix, done, s):
    """Return output ``s`` of transform ``i`` of a stage of ``radix``; ``done`` is the product of the radices before."""
    n, apart = roots.size, roots.size // radix
    total = x[outer, i, k]
    for r in range(1, radix):
        total += x[outer, i + r * apart, k] * roots[r * s % radix * apart]
    return total * roots[(i - i % done) * s % n]


@dpex.device_func
def place_of(i, radix, done, s):
    """Return the index along the axis of output ``s`` of transform ``i`` of a stage; see `bin_of`."""
    return (i - i % done) * radix + i % done + done * s


@dpex.kernel
def stage(item: kapi.Item, x, y, roots, radix, done):
    """Do one stage from ``x`` to ``y``: a work-item does one transform; see `bin_of`."""
    outer, i, k = item.get_id(0), item.get_id(1), item.get_id(2)
    for s in range(radix):
        y[outer, place_of(i, radix, done, s), k] = bin_of(x, roots, outer, i, k, radix, done, s)


def radices(n: int) -> list[int]:
    """Return the prime factors of a size.

    Raises:
        ValueError: One is too large.
    """
    found: list[int] = []
    rest = n
    for prime in (5, 3, 2, LARGEST):
        while rest % prime == 0:
            found.append(prime)
            rest //= prime
    if rest != 1:
        raise ValueError(f"a size is {n}; allowed are products of 2, 3, 5 and {LARGEST}")
    return found


def roots_of(n: int, dtype: Any, inverse: bool = False) -> Any:
    """Return the ``n`` roots of unity of a transform, or of the inverse one, as a ``dpnp`` array."""
    turns = np.arange(n) / n * (2j if inverse else -2j)
    return dpnp.asarray(np.exp(np.pi * turns).astype(dtype))


def transform(x: Any, other: Any, roots: Any, last: Any = None) -> Any:
    """Transform the first ``roots.size`` elements of the middle axis of ``x`` (outer, n, inner).

    ``other`` has the same shape. Returns the array that has the result, and the other one. With ``last``, the last
    stage is left to this function: it is called with the array, its radix and ``done``.
    """
    done, stages = 1, radices(roots.size)
    for number, radix in enumerate(stages, 1):
        if last and number == len(stages):
            last(x, radix, done)
        else:
            items = kapi.Range(x.shape[0], roots.size // radix, x.shape[2])
            if x.size:
                dpex.call_kernel(stage, items, x, other, roots, radix, done)
            x, other = other, x
        done *= radix
    return x, other
