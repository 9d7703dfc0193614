"""The code generator and code library of numba's target for the device, and the cache of their LLVM code."""

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

    LLVM's SPIR-V back end retains types of a machine's last module, and crashes on a second module.
    """
    return llvm.Target.from_triple(TRIPLE).create_target_machine(opt=2)


_LAYOUT = str(new_machine().target_data)


class DeviceLibrary(CodeLibrary):  # type: ignore[misc]
    """The LLVM module of a compiled function, and the libraries of the functions that it calls.

    Attributes:
        symbol: The function's name if it is unique in all processes; else empty.
        modules: The modules of llvmlite's builder.
        callees: The libraries of the called functions.
    """

    def __init__(self, codegen: Any, name: str):
        super().__init__(codegen, name)
        self.symbol = ""
        self.modules: list[Any] = []
        self.callees: list[DeviceLibrary] = []
        self._text: str | None = None

    @classmethod
    def of_text(cls, codegen: Any, symbol: str, text: str) -> DeviceLibrary:
        """Return the library of a function with LLVM code ``text``, defined under ``symbol``."""
        library = cls(codegen, symbol)
        library.symbol, library._text = symbol, text
        return library

    def absorb(self, text: str) -> None:
        """Replace the code by ``text``, which includes the callees without a symbol, and drop these callees."""
        self._text, self.callees = text, [each for each in self.whole() if each.symbol and each is not self]

    def add_ir_module(self, module: Any) -> None:
        """Add a module of llvmlite's builder."""
        self.modules.append(module)

    def add_linking_library(self, library: DeviceLibrary) -> None:
        """Add the library of a called function, unless it was added before."""
        if library not in self.callees:
            self.callees.append(library)

    def finalize(self) -> None:
        """Mark the library as complete."""
        self._finalized = True

    def get_function(self, name: str) -> Any:
        """Return the function of this name from the library's modules."""
        return next(found for module in self.modules for found in module.functions if found.name == name)

    def get_llvm_str(self) -> str:
        """Return the LLVM code of this library without its callees."""
        if self._text is None:
            self._text = "\n".join(map(str, self.modules))
        return self._text

    def get_asm_str(self) -> str:
        """Return an empty string: SPIR-V is made of whole kernels only."""
        return ""

    def whole(self) -> list[DeviceLibrary]:
        """Return this library and all its direct and indirect callees; of several with one symbol, only one."""
        found: dict[Any, DeviceLibrary] = {}
        left = [self]
        while left:
            library = left.pop()
            if (key := library.symbol or id(library)) not in found:
                found[key] = library
                left += library.callees
        return list(found.values())


class DeviceCodegen(Codegen):  # type: ignore[misc]
    """numba's code generator for the device; it makes objects of `DeviceLibrary`."""

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
        """Raise the error for a function that calls itself.

        Raises:
            NumbaTypeError: Always.
        """
        raise NumbaTypeError("functions of kernels cannot call themselves: devices have no stack; write a loop")


Texts = list[tuple[str, str]]
"""Symbol and LLVM code of a function, then of each of its callees."""


class LlvmTextCache(FunctionCache):
    """The cache of device functions as LLVM code."""

    def code(self, result: Any, key: str) -> Texts:
        """Return symbol and LLVM code of a compiled function and of all its callees; ``key`` is not used."""
        library = result.library
        library.symbol = result.fndesc.mangled_name
        _absorb(library)
        return [(each.symbol, each.get_llvm_str()) for each in library.whole()]

    def library(self, target_context: Any, name: str, code: Texts) -> DeviceLibrary:
        """Return the library for code that `code` returned, named by its function's symbol; ``name`` is not used."""
        library, *callees = (DeviceLibrary.of_text(target_context.codegen(), *each) for each in code)
        library.callees = callees
        return library


def _absorb(library: DeviceLibrary) -> None:
    """Link callees without a unique symbol, such as numba's own functions, into the code of a library."""
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
