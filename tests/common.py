"""Shared by the tests of the operations: the SYCL stack, data patterns, comparisons.

Import dpnp, the compiler of kernels and their parts from here. This module imports ishmem first, as the stack
requires, and restores the environment, so that processes started by tests do not inherit variables that the stack has
set. Those of the simulator stay, which reads them when it compiles the first kernel.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import re
from collections.abc import Iterable
from typing import Any, Callable

import numpy as np
import pytest

import ishmem
from ishmem.common.constants import Cmp
from ishmem.common.type_tables import RMA_TYPES

_environment = dict(os.environ)

import dpctl  # noqa: E402, F401, RUF100
import dpnp  # noqa: E402, F401, RUF100

from ishmem import dpex  # noqa: E402, F401, RUF100
from ishmem.dpex import kernel_api as kapi  # noqa: E402, F401, RUF100
from ishmem.environment.arrays import tensor  # noqa: E402, F401, RUF100

_simulator = {name: value for name, value in os.environ.items() if name.startswith("ISHMEM_SIM_")}
os.environ.clear()
os.environ.update(_simulator | _environment)

CHECKING = pytest.mark.ishmem(2, env={"ISHMEM_CHECK": "1"}, exact=True)
"""The mark of tests on 2 PEs of one node that check kernels."""

KERNEL_TYPES = tuple(name for name in RMA_TYPES if name != "float16" or not dpex.HAS_NUMBA_DPEX)
"""Types of arrays in kernels: numba-dpex takes none of float16, whatever a kernel does with them."""

COMPARE = {
    Cmp.EQ: operator.eq, Cmp.NE: operator.ne, Cmp.GT: operator.gt,
    Cmp.GE: operator.ge, Cmp.LT: operator.lt, Cmp.LE: operator.le,
}  # fmt: skip

WIDTH = 64
"""Distance between the starts of two cases, in elements."""

# Size, source offset, destination offset: with equal and with different alignments modulo 16.
GRID = [
    (size, source, dest)
    for size in (0, 1, 3, 5, 7, 16, 33)
    for source, dest in [(k, k) for k in range(16)] + [(k, 5 * k % 16) for k in range(16)] + [(0, 15), (15, 0)]
]
SAMPLE = GRID[::7]


PERIOD = 65521
"""The number of elements after which `pattern` repeats itself: a prime, so that consecutive blocks differ."""


def ring() -> tuple[int, int, int, int]:
    """Return the number of this PE, how many there are, the next one and the one before."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    return me, n, (me + 1) % n, (me - 1) % n


def one_line(text: str, *names: str, called: str = "function") -> Callable[..., Any]:
    """Return a function, to run on the host or to make a kernel of, with an item and arguments of these names.

    Its statements are separated by semicolons: so calls can be made from a table of routines.
    """
    scope: dict[str, Any] = {"ishmem": ishmem, "kapi": kapi, "np": np}
    exec(f"def {called}(item, {', '.join(names)}):\n    {text}\n", scope)
    function: Callable[..., Any] = scope[called]
    return function


def one_of(calls: Iterable[str], *names: str, called: str = "function") -> Callable[..., Any]:
    """Return a function like that of `one_line` that makes the call whose number is its last argument, ``case``."""
    text = "\n    ".join(f"if case == {number}: {call}" for number, call in enumerate(calls))
    return one_line(text, *names, "case", called=called)


def alone(text: str) -> str:
    """Return calls of a work-group as those of one work-item; ``group`` stands after the PE or at the end."""
    return text.replace("_work_group(", "(").replace(", group", "").replace("(group)", "()")


def both_forms(by_group: Callable[..., None]) -> tuple[Any, Any]:
    """Return two kernels: one with the calls of a function, whose forms are those of a work-group, and one without.

    The second one runs with one work-item. The function sets ``group`` in a line of its own.
    """
    text = re.sub(r"^ +group = item.get_group\(\)\n", "", inspect.getsource(by_group), flags=re.MULTILINE)
    scope = dict(by_group.__globals__)
    exec(alone(text), scope)
    return dpex.kernel(by_group), dpex.kernel(scope[by_group.__name__])


def new_queue(like: Any, *properties: str) -> dpctl.SyclQueue:
    """Return another queue of the device and context of an array."""
    return dpctl.SyclQueue(like.sycl_context, like.sycl_device, property=properties)


def pattern(dtype: Any, count: int, *seed: int) -> np.ndarray:
    """Return values that differ from element to element and from seed to seed, the same on every PE.

    They repeat after `PERIOD` elements.
    """
    return np.resize(_drawn(np.dtype(dtype), min(count, PERIOD), seed), count)


@functools.lru_cache(64)
def _drawn(kind: np.dtype, count: int, seed: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(seed)
    if kind.kind in "iu":
        return random.integers(0, 256, count * kind.itemsize, dtype="u1").view(kind)
    if kind.kind == "b":
        return random.integers(0, 2, count).astype(bool)
    values = random.standard_normal(count)
    return (values + 1j * random.standard_normal(count) if kind.kind == "c" else values).astype(kind)


def same(seen: Any, wanted: np.ndarray, about: str = "") -> None:
    """Assert that type, shape and all elements are equal."""
    array = seen if isinstance(seen, np.ndarray) else seen.asnumpy()
    if array.dtype != wanted.dtype or not np.array_equal(array, wanted):  # ten times as fast as what words the error
        np.testing.assert_array_equal(array, wanted, about, strict=True)


def refused(error: Any, words: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> None:
    """Assert that a call raises an error in whose text a pattern is found."""
    with pytest.raises(error, match=words):
        function(*arguments, **named)


def symmetric(values: np.ndarray) -> Any:
    """Return a symmetric array of these values, set on every PE."""
    return ishmem.array(values)


def edges(dtype: Any) -> list[int]:
    """Return boundary values of an integer dtype, at which comparisons and sums may go wrong."""
    limits = np.iinfo(dtype)
    low, high = int(limits.min), int(limits.max)
    candidates = {low, low + 1, -1, 0, 1, high // 2, high // 2 + 1, high - 1, high}
    return sorted(value for value in candidates if low <= value <= high)
