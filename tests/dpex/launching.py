"""What the tests of the compiler share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Callable

import dpnp
import numpy as np
import pytest

from ishmem import dpex
from ishmem.dpex import spirv

own_compiler = pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex compiles kernels here")
"""For tests of what numba-dpex lacks."""


def quick_or_slow(pairs: Iterable[tuple[str, str]], quick: Sequence[tuple[str, str]]) -> list[Any]:
    """Return pairs of types as parameters of a test, slow but for some."""
    slow = pytest.mark.slow(f"the same test of {len(quick)} pairs")
    return [pytest.param(*each, marks=() if each in quick else slow) for each in pairs]


def run(kernel: Callable[..., Any], count: int, *arguments: Any, **options: Any) -> list[np.ndarray]:
    """Launch a function as a kernel of ``count`` work-items on copies of arrays; return what is in the arrays then."""
    given = [dpnp.asarray(each) if isinstance(each, np.ndarray) else each for each in arguments]
    dpex.call_kernel(dpex.kernel(**options)(kernel), dpex.Range(count), *given)
    return [dpnp.asnumpy(each) for each in given if isinstance(each, dpnp.ndarray)]


def apply(expressions: Sequence[str], names: dict[str, Any], result: Any, *arrays: np.ndarray) -> np.ndarray:
    """Return the values of expressions of ``a``, ``b``, ... for each element of the arrays, computed by one kernel."""
    parameters = "abcdef"[: len(arrays)]
    lines = [f"def kernel(item, out, {', '.join(f'all_{name}' for name in parameters)}):", "    i = item.get_id(0)"]
    lines += [f"    {name} = all_{name}[i]" for name in parameters]
    lines += [f"    out[{number}, i] = {expression}" for number, expression in enumerate(expressions)]
    scope = dict(names)
    exec("\n".join(lines), scope)
    out = np.zeros((len(expressions), len(arrays[0])), result)
    return run(scope["kernel"], len(arrays[0]), out, *arrays)[0]


def capabilities(code: bytes) -> list[int]:
    """Return the capabilities that a kernel needs, of its SPIR-V."""
    return [operands[0] for op, operands in spirv.instructions(code) if op == 17]
