"""Itanium symbols of the SPIR-V and OpenCL functions that LLVM's SPIR-V back end turns into instructions."""

from __future__ import annotations

from typing import Any

from numba.core import types

_CODES = {
    types.boolean: "b", types.int8: "a", types.uint8: "h", types.int16: "s", types.uint16: "t", types.int32: "i",
    types.uint32: "j", types.int64: "l", types.uint64: "m", types.float16: "Dh", types.float32: "f",
    types.float64: "d", types.void: "v",
}  # fmt: skip


def mangle(name: str, kinds: Any) -> str:
    """Return the symbol of a function with parameters of these types.

    Args:
        name: Its name, such as ``__spirv_AtomicLoad``.
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
