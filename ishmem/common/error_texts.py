"""Texts of the errors that the host and kernels raise for the same rule."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from ishmem.common.constants import PREFIXES

if TYPE_CHECKING:
    from ishmem.common.indices import Index

TILES_WITH_NELEMS = "nelems is for contiguous arrays; pass smaller tiles"
"""The error text for a call of tiles with ``nelems``."""


def no_member(name: str, constants: type[IntEnum], value: object) -> str:
    """Return the error text for an argument that is none of its constants."""
    names = ", ".join(f"{PREFIXES[constants]}_{member.name}" for member in constants)
    return f"{name} is {value!r}; allowed are {names}"


def no_integer(name: str, kind: object) -> str:
    """Return the error text for an argument that is not an integer."""
    return f"{name} is an integer, got {kind}"


def no_pe(name: str, number: int, n_pes: int, of_whom: str = "") -> str:
    """Return the error text for a PE number that does not exist, in the job or among PEs ``of_whom``."""
    return f"{name} is {number}; PEs {of_whom and f'of {of_whom} '}are numbered 0 to {n_pes - 1}"


def misfit(name: str, value: object, dtype: object) -> str:
    """Return the error text for a number that the dtype cannot hold."""
    return f"{name} is {value!r}, which does not fit dtype {dtype}"


def other_kind(name: str, value: object, dtype: object) -> str:
    """Return the error text for a value of another kind than the dtype, such as a float for a dtype of integers."""
    return f"{name} is {value}, which is not of the kind of dtype {dtype}"


def refusal(routine: str, argument: str, dtype: object, allowed: tuple[str, ...]) -> str:
    """Return the error text for a dtype that the routine does not support."""
    return f"{routine}: {argument} has dtype {dtype}; allowed are {', '.join(allowed)}"


def unlike_dtypes(first: str, dtype: object, second: str, other: object) -> str:
    """Return the error text for two arrays of different dtypes."""
    return f"{first} has dtype {dtype} and {second} has dtype {other}; they must be equal"


def unlike_orders(orders: dict[str, bool]) -> str:
    """Return the error text for arrays of different memory orders; ``orders`` is true for each in C order."""
    each = (f"{name} in {'C' if is_c else 'Fortran'} order" for name, is_c in orders.items())
    return f"the memory orders differ, {' and '.join(each)}"


def unequal(dest: int, source: int) -> str:
    """Return the error text for arrays of different sizes without ``nelems``."""
    return f"dest has {dest} elements and source has {source}; pass equal slices, or nelems="


def too_many(nelems: int, dest: int, source: int) -> str:
    """Return the error text for ``nelems`` above the size of an array."""
    return f"nelems is {nelems}; dest has {dest} elements and source has {source}"


def set_size(name: str, given: int, size: int) -> str:
    """Return the error text for an array ``name`` that does not fit a set of ``size`` variables."""
    rule = "it needs at least as many" if name == "indices" else "the counts must be equal"
    return f"ivars has {size} elements and {name} has {given}; {rule}"


def tile_rows(blocks: int) -> str:
    """Return the error text for a ``dest`` that does not have ``blocks`` times the rows of ``source``."""
    return f"dest has {blocks} times the rows of source, and its columns"


def wrong_length(name: str, length: int, n_pes: int) -> str:
    """Return the error text for a list that does not have one number for each PE of the team."""
    return f"{name} has {length} numbers; the team has {n_pes} PEs"


def negative(name: str, value: int | Sequence[int]) -> str:
    """Return the error text for a negative count or displacement."""
    return f"{name} is {value}; the numbers are at least 0"


def unlike_counts(sender: int, sent: int, receiver: int, expected: int) -> str:
    """Return the error text for a sender's count that differs from the receiver's."""
    return f"PE {sender} sends {sent} elements to PE {receiver}, which expects {expected}"


def no_lock(index: Index, word: int, n_pes: int) -> str:
    """Return the error text for an element that is not a lock."""
    return (
        f"element {index} is {word}, which is no lock of {n_pes} PEs: its holder is no PE, or has not asked for it; "
        "a lock starts as 0, and only set_lock, test_lock and clear_lock change it"
    )
