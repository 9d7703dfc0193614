"""Work-items of a group call an operation of the group in one place, also where CPython copies the call."""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import Any

import dpnp
import numpy as np
import pytest
from launching import own_compiler

from ishmem import dpex
from ishmem.dpex.compile.duplicate_returns import with_shared_ends


def call(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
    return args, kwargs


def three_values(c, d):
    return call(1 if c else 2 if d else 3)


def keyword(c, d):
    return call(1 if c else 2, last=3 if c and d else 4)


def no_result(c, d):
    c.append(1 if d else 2)


def within(c, d):
    def inner(value):
        return call(value, 1 if c else 2)

    return inner(d)


def own_calls(c, d):
    if c:
        return call(1)
    if d:
        return call(1)
    return call(2)


def far() -> Any:
    """Return a function whose end is 300 instructions behind the copy."""
    scope: dict[str, Any] = {"call": call}
    constants = "\n".join(f"    x += {value}" for value in range(1000, 1400))
    products = " + ".join(f"{value} * x" for value in range(3000, 3200))
    exec(f"def far(c, d):\n    x = 0\n{constants}\n    return call(1 if c else ({products}) if d else 3)", scope)
    return scope["far"]


def calls(code: CodeType) -> int:
    inner = sum(calls(each) for each in code.co_consts if isinstance(each, CodeType))
    return inner + sum(each.opname.startswith("CALL") for each in dis.get_instructions(code))


@pytest.mark.parametrize(("function", "count"), [
    (three_values, 1), (keyword, 1), (no_result, 1), (within, 2), (own_calls, 3), (far(), 1),
], ids=lambda value: getattr(value, "__name__", ""))  # fmt: skip
def test_code(function: Any, count: int) -> None:
    code = with_shared_ends(function.__code__)
    assert calls(code) == count
    assert with_shared_ends(code) is code
    joined = FunctionType(code, function.__globals__)
    for c in (False, True):
        for d in (False, True):
            if function is no_result:
                one, other = [], []
                assert function(one, d) is joined(other, d) is None and one == other
            else:
                assert function(c, d) == joined(c, d)


@dpex.device_func
def sum_of_some(group, value, limit):
    return group.reduce_add(value if group.get_local_id() < limit else 0)


@own_compiler
def test_group_operation() -> None:
    @dpex.kernel
    def sums(item, out):
        group = item.get_sub_group()
        out[0, item.get_global_id(0)] = group.get_local_id()
        out[1, item.get_global_id(0)] = sum_of_some(group, 7, 3)

    out = dpnp.zeros((2, 64), dtype=np.int64)
    dpex.call_kernel(sums, dpex.NdRange((64,), (32,)), out)
    assert dpnp.asnumpy(out)[0].max() >= 3
    assert set(dpnp.asnumpy(out)[1]) == {21}
