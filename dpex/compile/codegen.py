"""LLVM code of compiled functions: what numba asks of a target's code generator, and what the cache keeps."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core.codegen import Codegen, CodeLibrary
from numba.core.errors import NumbaTypeError

from ..cache.function_cache import FunctionCache

TRIPLE = "spirv64-unknown-unknown"

llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()


def new_machine() -> Any:
    """Return a target machine for one module.

    LLVM's SPIR-V back end keeps types of the last module of a machine, and crashes on a second module.
    """
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=2)


_LAYOUT = str(new_machine().target_data)


class DeviceLibrary(CodeLibrary):  # type: ignore[misc]
    """The LLVM module of a compiled function, and the libraries of the functions that it calls.

    Attributes:
        symbol: The name of the function, if no other function in any process has it; else empty.
        modules: The modules of llvmlite's builder.
        callees: The libraries of the functions that this one calls.
    """

    def __init__(self, codegen: Any, name: str):
        super().__init__(codegen, name)
        self.symbol = ""
        self.modules: list[Any] = []
        self.callees: list[DeviceLibrary] = []
        self._text: str | None = None

    @classmethod
    def of_text(cls, codegen: Any, symbol: str, text: str) -> DeviceLibrary:
        """Return the library of a function whose LLVM code is known."""
        library = cls(codegen, symbol)
        library.symbol, library._text = symbol, text
        return library

    def absorb(self, text: str) -> None:
        """Replace the code by code that has the callees without a symbol in it."""
        self._text, self.callees = text, [each for each in self.whole() if each.symbol and each is not self]

    def add_ir_module(self, module: Any) -> None:
        """Add a module of llvmlite's builder."""
        self.modules.append(module)

    def add_linking_library(self, library: DeviceLibrary) -> None:
        """Add the library of a function that this one calls."""
        if library not in self.callees:
            self.callees.append(library)

    def finalize(self) -> None:
        """Accept no more modules."""
        self._finalized = True

    def get_function(self, name: str) -> Any:
        """Return a function of this library."""
        return next(found for module in self.modules for found in module.functions if found.name == name)

    def get_llvm_str(self) -> str:
        """Return the code of this library alone."""
        if self._text is None:
            self._text = "\n".join(map(str, self.modules))
        return self._text

    def get_asm_str(self) -> str:
        """Return nothing: SPIR-V is made of whole kernels only."""
        return ""

    def whole(self) -> list[DeviceLibrary]:
        """Return this library and all that it needs, each once; a symbol stands for the same code in all libraries."""
        found: dict[Any, DeviceLibrary] = {}
        left = [self]
        while left:
            library = left.pop()
            if (key := library.symbol or id(library)) not in found:
                found[key] = library
                left += library.callees
        return list(found.values())


class DeviceCodegen(Codegen):  # type: ignore[misc]
    """Makes libraries for the device."""

    _library_class = DeviceLibrary

    def __init__(self) -> None:
        self._target_data = llvm.create_target_data(_LAYOUT)

    def _create_empty_module(self, name: str) -> Any:
        module = ir.Module(name)
        module.triple, module.data_layout = TRIPLE, _LAYOUT
        return module

    def _add_module(self, module: Any) -> None:
        pass

    def insert_unresolved_ref(self, _builder: Any, _type: Any, name: str) -> Any:
        """Refuse a call of a function in itself.

        Raises:
            NumbaTypeError: Always.
        """
        raise NumbaTypeError("functions of kernels cannot call themselves: devices have no stack; write a loop")


Texts = list[tuple[str, str]]
"""Symbol and LLVM code of a function, then of each that it calls."""


class LlvmTextCache(FunctionCache):
    """The cache of device functions, with a text of LLVM for each."""

    def code(self, result: Any, key: str) -> Texts:
        """Return the code of a function and of all that it calls."""
        library = result.library
        library.symbol = result.fndesc.mangled_name
        _absorb(library)
        return [(each.symbol, each.get_llvm_str()) for each in library.whole()]

    def library(self, target_context: Any, name: str, code: Texts) -> DeviceLibrary:
        """Return the library of code from the cache."""
        library, *callees = (DeviceLibrary.of_text(target_context.codegen(), *each) for each in code)
        library.callees = callees
        return library


def _absorb(library: DeviceLibrary) -> None:
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
