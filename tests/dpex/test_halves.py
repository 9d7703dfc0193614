"""float16 and bfloat16 in kernels."""

from __future__ import annotations

import numpy as np
from launching import apply, own_compiler, run

from ishmem.dpex import kernel_api as kapi

pytestmark = own_compiler

EVERY = np.arange(2**16, dtype=np.uint16)
"""The bits of every number of 16 bits."""
RANDOM = np.random.default_rng(1)


def same(got: np.ndarray, wanted: np.ndarray) -> bool:
    return bool(((got == wanted) | (np.isnan(got) & np.isnan(wanted))).all())


def test_arithmetic_of_float16() -> None:
    x, y = EVERY.view(np.float16), RANDOM.permutation(EVERY).view(np.float16)
    for result, expressions in (
        (np.float16, ["a + b", "a - b", "a * b", "a / b", "a // b", "a % b", "-a", "abs(a)", "a"]),
        (np.bool_, ["a < b", "a <= b", "a > b", "a >= b", "a == b", "a != b"]),
    ):
        for expression, got in zip(expressions, apply(expressions, {}, result, x, y)):
            with np.errstate(all="ignore"):
                assert same(got, eval(expression, {"a": x, "b": y})), expression


def test_conversions_of_float16() -> None:
    def convert(item, single, half, integer, number):
        i = item.get_id(0)
        half[i] = single[i]
        single[i] = half[i] * number
        integer[i] = half[i]

    x = np.array([1.0, 2.5, 1000.25, -3.0], np.float32)
    single, half, integer = run(convert, 4, x, np.zeros(4, np.float16), np.zeros(4, np.int32), np.float16(0.5))
    assert (half == x.astype(np.float16)).all() and (single == half.astype(np.float32) / 2).all()
    assert (integer == half.astype(np.int32)).all()


def rounded(x: np.ndarray) -> np.ndarray:
    """Return the bits of the nearest bfloat16, ties to even."""
    bits = x.view(np.uint32).astype(np.uint64)
    nearest = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(x), (bits >> 16).astype(np.uint16) | 0x40, nearest)


def widened(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)


def square(item, given, out, plain):
    i = item.get_id(0)
    x, y = given.view(kapi.bfloat16), out.view(kapi.bfloat16)
    y[i] = x[i] * x[i] + 1
    plain[i] = kapi.bfloat16(plain[i])


def test_bfloat16() -> None:
    y = RANDOM.integers(0, 2**32, len(EVERY), np.uint32).view(np.float32)
    _, out, plain = run(square, len(EVERY), EVERY, np.zeros_like(EVERY), y)
    with np.errstate(all="ignore"):
        assert same(widened(out), widened(rounded(widened(EVERY) * widened(EVERY) + np.float32(1))))
    assert same(plain, widened(rounded(y)))
