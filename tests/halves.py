"""Floats of 16 bits as numpy has them: a bfloat16 is an int16 with its bits."""

from __future__ import annotations

from typing import Any

import collective_model as model
import numpy as np

from ishmem.common.type_tables import HALVES, REDUCTIONS

ROUTINES = tuple(routine for routine, types in REDUCTIONS.items() if set(HALVES) <= set(types))


def as_bits(numbers: Any, dtype: str) -> np.ndarray:
    """Return float32 numbers rounded to a dtype, as numpy array; a bfloat16 as int16."""
    numbers = np.asarray(numbers, np.float32)
    if dtype != "bfloat16":
        with np.errstate(over="ignore"):
            return numbers.astype(dtype)
    bits = numbers.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(numbers), (bits >> 16) | 0x40, rounded).astype(np.uint16).view(np.int16)


def as_numbers(bits: np.ndarray, dtype: str) -> np.ndarray:
    """Return the elements of an array as float32."""
    if dtype != "bfloat16":
        return bits.astype(np.float32)
    return (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def named(dtype: str) -> dict[str, str]:
    """Return the argument of calls that say what 16-bit integers are."""
    return {"dtype": dtype} if dtype == "bfloat16" else {}


def storage(dtype: str) -> str:
    """Return the dtype of numpy that holds the elements."""
    return "int16" if dtype == "bfloat16" else dtype


def values(dtype: str, count: int, *seed: int) -> np.ndarray:
    """Return numbers of several magnitudes, so that sums are rounded, with NaN, infinities and the smallest ones."""
    random = np.random.default_rng(seed)
    numbers = random.standard_normal(count) * 10.0 ** random.integers(-3, 4, count)
    bits = as_bits(numbers, dtype)
    bits.view(np.uint16)[seed[-1] + 3 :: 41] = random.integers(0, 1 << 16, bits[seed[-1] + 3 :: 41].size)
    return bits


def combined(routine: str, sources: list[np.ndarray], me: int, dtype: str) -> np.ndarray:
    """Return the elements combined in float32 in the order of the PEs, and rounded once."""
    return as_bits(model.combined(routine, [as_numbers(source, dtype) for source in sources], me), dtype)


def same(seen: Any, wanted: np.ndarray, dtype: str, about: str = "") -> None:
    """Assert that all numbers are equal."""
    array = seen if isinstance(seen, np.ndarray) else seen.asnumpy()
    np.testing.assert_array_equal(as_numbers(array, dtype), as_numbers(wanted, dtype), about)
