"""Emits calls of functions that the SPIR-V back end translates to instructions.

Orders of atomics and fences are arguments of such calls. LLVM's own ``atomicrmw`` and ``fence`` are not used: the back
end drops their storage class, and translates ``load atomic`` to a plain load.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

SPIR_FUNC, SPIR_KERNEL = "spir_func", "spir_kernel"
I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
VOID = ir.VoidType()

CROSS_DEVICE, DEVICE, WORK_GROUP, SUB_GROUP, INVOCATION = range(5)
"""Scopes of SPIR-V."""

SUBGROUP_MEMORY, WORKGROUP_MEMORY, CROSS_WORKGROUP_MEMORY = 0x80, 0x100, 0x200
"""Storage classes in the memory semantics of SPIR-V."""


_CODES = {
    types.boolean: "b", types.int8: "a", types.uint8: "h", types.int16: "s", types.uint16: "t", types.int32: "i",
    types.uint32: "j", types.int64: "l", types.uint64: "m", types.float16: "Dh", types.float32: "f",
    types.float64: "d", types.void: "v",
}  # fmt: skip


def mangle(name: str, kinds: Any) -> str:
    """Return the mangled symbol (Itanium C++ ABI) of a function with parameters of these types.

    Args:
        name: The function's name, such as ``__spirv_AtomicLoad``.
        kinds: Types of numba: numbers, booleans, and pointers to them (``CPointer`` with an address space).
    """
    known: list[str] = []
    return f"_Z{len(name)}{name}" + ("".join(_code(kind, known) for kind in kinds) or "v")


def _code(kind: Any, known: list[str]) -> str:
    if not isinstance(kind, types.CPointer):
        return _CODES[kind]
    element = _CODES[kind.dtype]
    qualified = f"U3AS{kind.addrspace}{element}" if kind.addrspace else element
    code = f"P{qualified}"
    if code in known:
        return _substitution(known.index(code))
    known += [code] if qualified == element else [qualified, code]
    return code


def _substitution(number: int) -> str:
    return "S_" if number == 0 else f"S{'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ'[number - 1]}_"


def call(
    builder: Any, name: str, result: Any, kinds: Sequence[Any], arguments: Sequence[Any], *, convergent: bool = False,
    pure: bool = False,
) -> Any:  # fmt: skip
    """Emit a call and return its result.

    Args:
        builder: The builder.
        name: The function's name, such as ``__spirv_AtomicLoad``.
        result: The LLVM type of the result.
        kinds: The numba types of the parameters, for the symbol.
        arguments: The LLVM values.
        convergent: Whether all work-items must reach the call together, so that LLVM must not move it.
        pure: Whether the result depends on the arguments only.
    """
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, signature, mangle(name, kinds))
    function.calling_convention = SPIR_FUNC
    function.attributes.add("nounwind")
    if convergent:
        function.attributes.add("convergent")
    if pure:
        function.attributes.add("readnone")
    return builder.call(function, arguments, cconv=SPIR_FUNC)


def control_barrier(builder: Any, execution: int, memory: int, semantics: int) -> None:
    """Emit a barrier of scope ``execution``, with a fence of scope ``memory`` and SPIR-V memory ``semantics``."""
    words = [I32(execution), I32(memory), I32(semantics)]
    call(builder, "__spirv_ControlBarrier", VOID, [types.int32] * 3, words, convergent=True)


def memory_barrier(builder: Any, scope: int, semantics: int) -> None:
    """Emit a memory fence of a scope, with SPIR-V memory semantics."""
    call(builder, "__spirv_MemoryBarrier", VOID, [types.int32] * 2, [I32(scope), I32(semantics)], convergent=True)


def built_in(builder: Any, name: str, dimension: Any) -> Any:
    """Emit and return the int64 of OpenCL's function ``name``, such as ``get_global_id``, for a dimension, an i32."""
    return call(builder, name, I64, [types.uint32], [dimension], pure=True)
