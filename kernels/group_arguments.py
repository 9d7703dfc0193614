"""Checks, with ``ISHMEM_CHECK``, that the work-items of a group call a routine with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from llvmlite import ir
from numba.core import types

from ishmem.common.violations import DIFFERENT, argument_number

from .forms import written
from .front_end import ArrayType, device_func
from .intrinsics import (
    GLOBAL,
    I64,
    address_of,
    compiled,
    device_function,
    device_intrinsic,
    group_checks,
    group_sum,
    rank_in,
    size_of,
)
from .options import CHECK
from .runtime_checks import report


@compiled
def _address(value):
    return address_of(value)


@compiled
def _integer(value):
    return types.int64(value)


@device_intrinsic
def _bits(_context, value):
    """Return the bits of a float as an int64."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        width = {ir.HalfType(): 16, ir.FloatType(): 32}.get(arguments[0].type, 64)
        return builder.zext(builder.bitcast(arguments[0], ir.IntType(width)), I64)

    return types.int64(value), code


def _word_of(kind: Any) -> Any:
    """Return the function that converts an argument to an int64 for comparison, or ``None`` if it is not compared."""
    if isinstance(kind, ArrayType) and kind.addrspace == GLOBAL:
        return _address
    if isinstance(kind, types.Float):
        return _bits
    return _integer if isinstance(kind, (types.Integer, types.Boolean)) else None


@device_function
def compare(routine, argument, value, group):
    """Report a violation if a work-item passes another value than the first one of its group."""
    if isinstance(value, types.BaseTuple):
        return _each(value)
    word = _word_of(value)
    if word is None:
        return lambda routine, argument, value, group: None

    def impl(routine, argument, value, group):
        mine, rank = word(value), rank_in(group)
        first = group_sum(group, mine if rank == 0 else 0)
        others = group_sum(group, 1 if mine != first else 0)
        if others > 0 and rank == 0:
            report(routine, DIFFERENT, argument, 0, others, 0, size_of(group))

    return impl


def _each(kind: Any) -> Any:
    """Return the implementation that compares the elements of a tuple; no loop, since they may be of several types."""
    if not kind.count:
        return lambda routine, argument, value, group: None

    def impl(routine, argument, value, group):
        compare(routine, argument, value[0], group)
        compare(routine, argument, value[1:], group)

    return impl


def _comparing(routine: int, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return the implementation of a routine with a comparison of its arguments before it."""
    if not CHECK:
        return implementation
    parameters = inspect.signature(implementation).parameters
    lines = [f"compare({routine}, {argument_number(each)}, {each}, group)" for each in parameters if each != "group"]
    scope = {"compare": compare, "run": device_func(implementation)}
    return written(implementation, [*parameters.values()], [*lines, f"return run({', '.join(parameters)})"], scope)


group_checks.append(_comparing)
