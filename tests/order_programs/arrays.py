"""What the programs have in common: their arrays, and the table in which they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import ishmem

N = 8
SECONDS = 20.0
"""Limit of a wait."""


class Arrays(NamedTuple):
    """Symmetric arrays, all zero when a program begins; ``data`` is symmetric, too."""

    box: Any
    other: Any
    data: Any
    flag: Any
    signal: Any
    me: int
    right: int

    @classmethod
    def make(cls) -> Arrays:
        """Allocate the arrays; collective."""
        me, n = ishmem.my_pe(), ishmem.n_pes()
        box, other, data, flag = (ishmem.zeros(size, dtype="i8") for size in (N, N, N, 4))
        return cls(box, other, data, flag, ishmem.zeros(4, dtype="u8"), me, (me + 1) % n)

    def clear(self) -> None:
        """Set all elements to 0; collective."""
        for array in self[:5]:
            array[...] = 0
        ishmem.barrier_all()

    def has(self, array: Any, value: int) -> bool:
        """Return whether this PE's array holds a value in all elements, as it is now."""
        seen = np.empty(array.size, array.dtype)
        ishmem.get(seen, array, self.me)
        return bool((seen == value).all())


Program = Callable[[Arrays, int, bool], bool]
"""A program: given arrays, a value and whether it is whole, it returns whether this PE has got what it should."""

programs: dict[str, Program] = {}


def program(run: Program) -> Program:
    """Put a program into the table."""
    programs[run.__name__] = run
    return run


def values(value: int) -> np.ndarray[Any, Any]:
    """Return an array of this value on the host."""
    return np.full(N, value, "i8")
