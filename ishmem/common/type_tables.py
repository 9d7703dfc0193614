"""Type tables: the one place that lists the atomics and the dtypes that each routine takes.

The host functions of ``ishmem.amo``, the device functions of ``ishmem.kernels.amo``, the messages, the
documentation and the tests all read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

RMA_TYPES = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128",
)  # fmt: skip
OPAQUE = {
    "bfloat16": "int16", "float8_e4m3fn": "uint8", "float8_e4m3fnuz": "uint8", "float8_e5m2": "uint8",
    "float8_e5m2fnuz": "uint8", "float8_e8m0fnu": "uint8",
}  # fmt: skip
"""The dtypes of torch that dpnp lacks, and the integers that hold their bits."""
HALVES = ("float16", "bfloat16")
"""Floats of 16 bits: reductions and scans compute in float32 and round once."""
STANDARD = ("int32", "int64", "uint32", "uint64")
EXTENDED = (*STANDARD, "float32", "float64")
BITWISE = STANDARD
WAIT_TYPES = STANDARD
SIGNAL_TYPES = STANDARD  # of OpenSHMEM: uint64
BIT_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ARITHMETIC_TYPES = (*BIT_TYPES, *HALVES, "float32", "float64")
NUMBER_TYPES = (*ARITHMETIC_TYPES, "complex64", "complex128")
STATUS_TYPES = tuple(name for name in RMA_TYPES if name == "bool" or "int" in name)


class Rmw(IntEnum):
    """The read-modify-write operation of the hardware; several routines may share one."""

    FETCH = 0
    SWAP = 1
    COMPARE_SWAP = 2
    ADD = 3
    AND = 4
    OR = 5
    XOR = 6
    ADD_FLOAT = 7
    MIN = 8
    MIN_UNSIGNED = 9
    MIN_FLOAT = 10
    MAX = 11
    MAX_UNSIGNED = 12
    MAX_FLOAT = 13

    def of(self, dtype: object) -> Rmw:
        """Return the operation for elements of a dtype: some differ between signed and unsigned integers and floats."""
        return _OF_KIND.get((self, str(dtype).rstrip("0123456789")), self)


_OF_KIND = {
    (Rmw.ADD, "float"): Rmw.ADD_FLOAT,
    (Rmw.MIN, "uint"): Rmw.MIN_UNSIGNED,
    (Rmw.MIN, "float"): Rmw.MIN_FLOAT,
    (Rmw.MAX, "uint"): Rmw.MAX_UNSIGNED,
    (Rmw.MAX, "float"): Rmw.MAX_FLOAT,
}


@dataclass(frozen=True)
class Atomic:
    """An atomic routine.

    Attributes:
        name: Python name, without the suffix ``_nbi``.
        rmw: The operation on memory.
        types: Names of the supported dtypes.
        operands: Names of its value arguments, in order.
        fetches: Whether it returns the old value; those that do have an ``_nbi`` form.
        standard: Whether OpenSHMEM has it.
    """

    name: str
    rmw: Rmw
    types: tuple[str, ...]
    operands: tuple[str, ...] = ("value",)
    fetches: bool = False
    standard: bool = True

    @property
    def fetching(self) -> str:
        """Name of the routine that does the same and returns the old value."""
        if self.fetches:
            return self.name
        return "atomic_swap" if self.rmw is Rmw.SWAP else self.name.replace("atomic_", "atomic_fetch_")


ATOMICS = {
    atomic.name: atomic
    for atomic in (
        Atomic("atomic_fetch", Rmw.FETCH, EXTENDED, (), fetches=True),
        Atomic("atomic_set", Rmw.SWAP, EXTENDED),
        Atomic("atomic_swap", Rmw.SWAP, EXTENDED, fetches=True),
        Atomic("atomic_compare_swap", Rmw.COMPARE_SWAP, STANDARD, ("cond", "value"), fetches=True),
        Atomic("atomic_inc", Rmw.ADD, STANDARD, ()),
        Atomic("atomic_fetch_inc", Rmw.ADD, STANDARD, (), fetches=True),
        Atomic("atomic_add", Rmw.ADD, EXTENDED),
        Atomic("atomic_fetch_add", Rmw.ADD, EXTENDED, fetches=True),
        Atomic("atomic_and", Rmw.AND, BITWISE),
        Atomic("atomic_fetch_and", Rmw.AND, BITWISE, fetches=True),
        Atomic("atomic_or", Rmw.OR, BITWISE),
        Atomic("atomic_fetch_or", Rmw.OR, BITWISE, fetches=True),
        Atomic("atomic_xor", Rmw.XOR, BITWISE),
        Atomic("atomic_fetch_xor", Rmw.XOR, BITWISE, fetches=True),
        Atomic("atomic_min", Rmw.MIN, EXTENDED, standard=False),
        Atomic("atomic_fetch_min", Rmw.MIN, EXTENDED, fetches=True, standard=False),
        Atomic("atomic_max", Rmw.MAX, EXTENDED, standard=False),
        Atomic("atomic_fetch_max", Rmw.MAX, EXTENDED, fetches=True, standard=False),
    )
}


REDUCTIONS = {
    "and_reduce": BIT_TYPES,
    "or_reduce": BIT_TYPES,
    "xor_reduce": BIT_TYPES,
    "max_reduce": ARITHMETIC_TYPES,
    "min_reduce": ARITHMETIC_TYPES,
    "sum_reduce": NUMBER_TYPES,
    "prod_reduce": NUMBER_TYPES,
    "sum_inscan": ARITHMETIC_TYPES,
    "sum_exscan": ARITHMETIC_TYPES,
}
"""Reductions and scans, and the dtypes that each takes, on the host and in kernels."""


def movable(types: tuple[str, ...]) -> tuple[str, ...]:
    """Return the dtypes that a routine supports: ``types``, with those of `OPAQUE` if it only moves elements."""
    return (*types, *OPAQUE) if types is RMA_TYPES else types
