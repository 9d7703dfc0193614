"""Checks, with ``ISHMEM_CHECK``, that the work-items of a group call a routine with the same arguments."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from llvmlite import ir
from numba.core import types

from ishmem.common.violations import DIFFERENT, argument_number

from .front_end import ArrayType, device_func
from .intrinsics import (
    GLOBAL,
    I64,
    IntrinsicCode,
    address_of,
    compiled,
    device_function,
    device_intrinsic,
    group_checks,
    group_sum,
    rank_in,
    size_of,
    written,
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
def _bits(value):
    """Return the bits of a float, zero-extended to an int64."""

    def emit(code: IntrinsicCode, number):
        width = {ir.HalfType(): 16, ir.FloatType(): 32}.get(number.type, 64)
        return code.builder.zext(code.builder.bitcast(number, ir.IntType(width)), I64)

    return types.int64(value), emit


def _word_of(kind: Any) -> Any:
    """Return the function that converts an argument of type ``kind`` to an int64 to compare; None: not compared."""
    if isinstance(kind, ArrayType) and kind.addrspace == GLOBAL:
        return _address
    if isinstance(kind, types.Float):
        return _bits
    return _integer if isinstance(kind, (types.Integer, types.Boolean)) else None


@device_function
def compare(routine, argument, value, group):
    """Report a violation if a work-item passes another ``value`` than work-item 0 of its group.

    ``routine`` and ``argument`` are their numbers in the report. Only arrays in device memory, integers, floats,
    booleans and tuples of them are compared.
    """
    if isinstance(value, types.BaseTuple) and value.count:
        return _compare_elements
    word = _word_of(value)
    if word is None:
        return lambda: None

    def compare_words(routine, argument, value, group):
        mine, rank = word(value), rank_in(group)
        first = group_sum(group, mine if rank == 0 else 0)
        others = group_sum(group, 1 if mine != first else 0)
        if others > 0 and rank == 0:
            report(routine, DIFFERENT, argument, 0, others, 0, size_of(group))

    return compare_words


def _compare_elements(routine, argument, value, group):
    """Compare the elements of a tuple; not in a loop, since they may be of several types."""
    compare(routine, argument, value[0], group)
    compare(routine, argument, value[1:], group)


def _comparing(routine: int, implementation: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``implementation`` after comparisons of its arguments; unchanged without ``ISHMEM_CHECK``."""
    if not CHECK:
        return implementation
    parameters = inspect.signature(implementation).parameters
    lines = [f"compare({routine}, {argument_number(each)}, {each}, group)" for each in parameters if each != "group"]
    scope = {"compare": compare, "run": device_func(implementation)}
    return written(implementation, [*parameters.values()], [*lines, f"return run({', '.join(parameters)})"], scope)


group_checks.append(_comparing)
