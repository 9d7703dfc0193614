"""Integers are compared by value, whatever their types, and without float64."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from launching import apply, capabilities, own_compiler

pytestmark = own_compiler

PAIRS = [
    ("int8", "uint64"), ("int32", "uint64"), ("int64", "uint64"), ("int64", "uint32"), ("uint64", "int64"),
    ("uint64", "int16"),
]  # fmt: skip
COMPARISONS = {
    "a < b": operator.lt, "a <= b": operator.le, "a > b": operator.gt, "a >= b": operator.ge, "a == b": operator.eq,
    "a != b": operator.ne,
}  # fmt: skip
FLOAT64 = 10  # a capability of SPIR-V


def ends(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    return [int(info.min), int(info.min) + 1, 0, 1, 7, int(info.max) - 1, int(info.max)]


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_signed_with_unsigned(left: str, right: str, valid_spirv: Any) -> None:
    """Also at the ends, where float64 is not exact."""
    pairs = [(a, b) for a in ends(left) for b in ends(right)]
    pairs += [(a, a) for a in ends(left) if 0 <= a <= np.iinfo(right).max]
    given = [np.array([pair[k] for pair in pairs], dtype) for k, dtype in enumerate((left, right))]
    got = apply(list(COMPARISONS), {}, bool, *given)
    wanted = [[compare(a, b) for a, b in pairs] for compare in COMPARISONS.values()]
    assert got.tolist() == wanted
    assert FLOAT64 not in capabilities(valid_spirv[-1].spirv)


def test_with_constants() -> None:
    values = np.array([0, 5, 2**63, 2**64 - 1], np.uint64)
    got = apply(["a > -1", "a == 5", "-1 < a", "a != 0"], {}, bool, values)
    assert got.tolist() == [[True] * 4, [False, True, False, False], [True] * 4, [False, True, True, True]]
