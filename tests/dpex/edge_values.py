"""Numbers at which arithmetic goes wrong, and what Python gives for them in the types of kernels."""

from __future__ import annotations

import itertools
from typing import Any, Callable

import dpnp
import numpy as np

from ishmem import dpex

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool")
REALS = ("float32", "float64")
WORD = 1 << 64


def edges(dtype: str) -> np.ndarray:
    """Return 0, 1, -1, the ends of a type, and what is beside them; of reals also NaN, infinities and subnormals."""
    if dtype == "bool":
        return np.array([False, True])
    if dtype in REALS:
        info = np.finfo(dtype)
        special = [np.nan, np.inf, -np.inf, info.smallest_subnormal, info.max, -info.max]
        return np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 0.1, *special], dtype)
    info = np.iinfo(dtype)
    ends = {info.max, info.max - 1, info.max // 2, info.min, info.min + 1}
    return np.array(sorted(ends | {0, 1, 2, 3, 7, 64, 100} | ({-1, -2, -3, -7} if info.min else set())), dtype)


def pairs(left: str, right: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of edges of two types, as two arrays."""
    both = list(itertools.product(edges(left), edges(right)))
    return np.array([a for a, _ in both], left), np.array([b for _, b in both], right)


def kernel_of(expressions: list[str]) -> Callable[..., Any]:
    """Return a kernel that stores expressions of ``a`` and ``b`` as integers modulo 2**64 and as float64."""
    lines = ["def kernel(item, bits, real, all_a, all_b):", "    i = item.get_id(0)", "    a, b = all_a[i], all_b[i]"]
    for number, expression in enumerate(expressions):
        lines += [
            f"    v{number} = {expression}",
            f"    bits[{number}, i] = v{number}",
            f"    real[{number}, i] = v{number}",
        ]
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    return scope["kernel"]


def computed(expressions: list[str], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a kernel computes of arrays: integers modulo 2**64, and the same as float64."""
    shape = len(expressions), len(a)
    bits, real = dpnp.zeros(shape, dtype="u8"), dpnp.zeros(shape)
    kernel = dpex.kernel(kernel_of(expressions))
    dpex.call_kernel(kernel, dpex.Range(len(a)), bits, real, dpnp.asarray(a), dpnp.asarray(b))
    return dpnp.asnumpy(bits), dpnp.asnumpy(real)


def exact(expression: str, a: int, b: int) -> int:
    """Return Python's value; a division by zero gives 0, and a shift of all bits what an endless shift gives."""
    if ("//" in expression or "%" in expression or "divmod" in expression) and "b" in expression and b == 0:
        return 0
    if ("<<" in expression or ">>" in expression) and "b" in expression and not 0 <= b < 64:
        return -1 if ">>" in expression and a < 0 else 0
    if expression in ("a ** b", "pow(a, b)"):
        return pow(a, b, WORD) if abs(a) > 1 and b >= 64 else a**b
    return int(eval(expression, {"a": a, "b": b}))
