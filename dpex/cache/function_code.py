"""The code of device functions in the cache: a text of LLVM for each function."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from ..compile.target import Library
from ..compile.types import DpnpNdArray, IndexSpaceType, LocalAccessorType, PrivateArrayType, USMNdArray
from . import keys
from .function_cache import FunctionCache
from .type_key import NUMBERS, described

_ARRAYS = (USMNdArray, DpnpNdArray, LocalAccessorType, PrivateArrayType)

Texts = list[tuple[str, str]]
"""Symbol and LLVM code of a function, then of each that it calls."""


class DeviceFunctions(FunctionCache):
    """The cache of device functions."""

    def described(self, kind: Any) -> tuple[Any, ...]:
        """Return the type of an argument as plain values."""
        return described(kind, _of_language)

    def key_parts(self) -> tuple[Any, ...]:
        """Return versions and settings that compiled code depends on."""
        return keys.key_parts()

    def code(self, result: Any, key: str) -> Texts:
        """Return the code of a function and of all that it calls."""
        library = result.library
        library.symbol = result.fndesc.mangled_name
        _absorb(library)
        return [(each.symbol, each.get_llvm_str()) for each in library.whole()]

    def library(self, target_context: Any, name: str, code: Texts) -> Library:
        """Return the library of code from the cache."""
        library, *callees = (Library.of_text(target_context.codegen(), *each) for each in code)
        library.callees = callees
        return library


def _of_language(kind: Any) -> tuple[Any, ...] | None:
    name = type(kind).__name__
    if type(kind) in _ARRAYS and isinstance(kind.dtype, NUMBERS):
        return name, str(kind.dtype), kind.ndim, kind.layout, kind.mutable, kind.addrspace, getattr(kind, "extents", ())
    return (name, kind.ndim) if isinstance(kind, IndexSpaceType) else None


def _absorb(library: Library) -> None:
    """Move functions without a symbol of their own, as numba adds them, into the code of the one that calls them."""
    nameless = [each for each in library.whole() if not each.symbol]
    if not nameless:
        return
    linked = llvm.parse_assembly(library.get_llvm_str())
    for each in nameless:
        linked.link_in(llvm.parse_assembly(each.get_llvm_str()))
    for function in linked.functions:
        if not function.is_declaration and function.name != library.symbol:
            function.linkage = "internal"
    library.absorb(str(linked))


functions = DeviceFunctions()
