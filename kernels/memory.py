"""Memory in kernels: the device forms of the routines of ``ishmem.memory`` that take existing arrays."""

from __future__ import annotations

import operator
from types import ModuleType
from typing import Any

from numba.core import ir, types
from numba.core.rewrites import register_rewrite
from numba.core.typing.npydecl import parse_dtype
from numba.extending import overload

from ishmem import memory
from ishmem.common.violations import ALIGN, routine_number
from ishmem.dpex.front_end import COMPILER

from . import type_checks
from .forms import array_and_integers, form
from .front_end import TARGET
from .intrinsics import (
    IntrinsicCode,
    address_of,
    at_address,
    compiled,
    device,
    device_intrinsic,
    require,
    without_elements,
)
from .options import CHECK
from .peers import on_peer
from .proxy import is_mapped, itemsize
from .rewrites import AssignmentRewrite, constant_of
from .runtime_checks import allowed, report

PTR, VIEW = routine_number("ptr"), routine_number("view")


@compiled
def is_aligned(a, size):
    """Return whether an array's address is a multiple of ``size`` bytes, True if not checked; report it if not."""
    if not CHECK or address_of(a) % size == 0:
        return True
    report(VIEW, ALIGN, -1, address_of(a), 0, 0, size)
    return False


# A kernel has no type for an array or None: an array without elements and memory stands for None (`_is_nothing`).
def _ptr(a, pe):
    if allowed(PTR, a, pe, 0, 0) and is_mapped(pe):
        return at_address(a, on_peer(address_of(a), pe))
    return without_elements(a)


form(memory.ptr, array_and_integers, _ptr)


@device_intrinsic
def _is_nothing(value):
    """Return whether an optional array is None, or an array without memory, which `ptr` returns in place of None."""

    def emit(code: IntrinsicCode, array):
        if not isinstance(value, types.Optional):
            return _has_no_memory(code, code.array(value, array))
        optional = code.context.make_helper(code.builder, value, array)
        absent = code.builder.not_(optional.valid)
        return code.builder.or_(absent, _has_no_memory(code, code.array(value.type, optional.data)))

    return types.boolean(value), emit


def _has_no_memory(code: IntrinsicCode, array: Any) -> Any:
    return code.builder.icmp_unsigned("==", array.data, array.data.type(None))


def _is_array(kind: Any) -> bool:
    return isinstance(kind.type if isinstance(kind, types.Optional) else kind, types.Array)


def _compared_with_none(a: Any, b: Any, if_none: bool) -> Any:
    """Return the implementation of ``is`` or ``is not`` for an array and None, in any order; None for other types."""
    if _is_array(a) and isinstance(b, types.NoneType):
        return lambda a, b: _is_nothing(a) == if_none
    if isinstance(a, types.NoneType) and _is_array(b):
        return lambda a, b: _is_nothing(b) == if_none
    return None


@overload(operator.is_, target=TARGET)
def _is(a, b):
    return _compared_with_none(a, b, True)


@overload(operator.is_not, target=TARGET)
def _is_not(a, b):
    return _compared_with_none(a, b, False)


@device(memory.view)
def _view(a, dtype):
    words = "has no views of an array as another dtype; make the view on the host and pass it to the kernel"
    require(COMPILER.has_views, f"view: {COMPILER.name} {words}")
    type_checks.contiguous("view", a=a)
    require(a.layout == "C" and a.ndim > 0, f"view: a is an array in C order, got {a}")
    element = parse_dtype(dtype)
    require(element is not None, f"view: dtype is a type of elements, such as numpy.int32, or its name, got {dtype}")
    size = itemsize(element)
    return lambda a, dtype: (a if is_aligned(a, size) else a[:0]).view(element)


@register_rewrite("before-inference")
class ViewOfModule(AssignmentRewrite):
    """Replaces ``ishmem.view`` by the function: numba allows an attribute of that name for arrays and numbers only."""

    def replacement(self, statement: Any) -> list[Any] | None:
        """Return the assignment of ``ishmem.view``, if ``statement`` reads it from a module; else None."""
        if not _is_view(self.func_ir, statement.value):
            return None
        return [ir.Assign(ir.Global("view", memory.view, statement.loc), statement.target, statement.loc)]


def _is_view(func_ir: Any, value: Any) -> bool:
    """Return whether an expression reads ``ishmem.view`` as an attribute of a module."""
    if not isinstance(value, ir.Expr) or value.op != "getattr" or value.attr != "view":
        return False
    owner = constant_of(func_ir, value.value)
    return isinstance(owner, ModuleType) and getattr(owner, "view", None) is memory.view
