"""Kernels: functions that a program launches, and their code for the argument types of a launch."""

from __future__ import annotations

from typing import Any, Callable

from numba.core import sigutils, types
from numba.core.compiler_lock import global_compiler_lock

from .dispatcher import DeviceFunction, decorator, is_void
from .errors import KernelBuildError, KernelHasReturnValueError, MissingSpecializationError
from .spirv_module import Code, TranslationError, translate
from .types import IndexSpaceType


class Kernel(DeviceFunction):
    """A kernel. Other kernels and device functions may call it, too.

    Attributes:
        codes: The code for each combination of argument types that it has been compiled for.
        programs: The code built for devices; `dpex.launch` keeps it.
    """

    def __init__(self, py_func: Callable[..., Any], targetoptions: dict[str, Any] | None = None):
        super().__init__(py_func, targetoptions)
        self.codes: dict[tuple[Any, ...], Code] = {}
        self.programs: dict[Any, Any] = {}

    def __call__(self, *_arguments: Any, **_named: Any) -> None:
        """Refuse: a kernel is launched.

        Raises:
            TypeError: Always.
        """
        raise TypeError(f"a kernel is launched: dpex.call_kernel({self.__name__}, dpex.Range(n), ...)")

    def compile(self, sig: Any) -> Any:
        """Compile for a signature given ahead.

        Raises:
            NumbaError: The kernel does not compile.
            KernelHasReturnValueError: The signature has a return type.
        """
        arguments, return_type = sigutils.normalize_signature(sig)
        if return_type is not None and not is_void(return_type):
            raise KernelHasReturnValueError(self.__name__, return_type)
        return super().compile(sigutils.normalize_signature(types.void(*arguments))[0])

    @global_compiler_lock  # type: ignore[untyped-decorator, unused-ignore]
    def code_for(self, kinds: tuple[Any, ...]) -> Code:
        """Return the code for argument types, of which the first is an item's; compile it if need be.

        Raises:
            NumbaError: The kernel does not compile.
            KernelHasReturnValueError: It returns a value.
            MissingSpecializationError: It was compiled for given signatures only, and not for these types.
            KernelBuildError: LLVM fails.
        """
        if kinds not in self.codes:
            self.codes[kinds] = self._translated(kinds)
        return self.codes[kinds]

    def _translated(self, kinds: tuple[Any, ...]) -> Code:
        kinds = self._known(kinds)
        result = self.overloads[kinds]
        if not is_void(result.signature.return_type):
            raise KernelHasReturnValueError(self.__name__, result.signature.return_type)
        try:
            return translate(self.__name__, result)
        except TranslationError as error:
            raise KernelBuildError(f"the kernel {self.__name__} does not build: {error}") from None

    def _known(self, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the types of the overload for argument types: the same, or the specialisation that takes them."""
        if self._can_compile:
            DeviceFunction.compile(self, kinds)
            return kinds
        for known in self.overloads:
            if len(known) == len(kinds) and all(map(_takes, known, kinds)):
                return known
        raise MissingSpecializationError(self.__name__, ", ".join(map(str, kinds)))


def _takes(known: Any, given: Any) -> bool:
    """Return whether a parameter of a specialisation takes an argument without a conversion."""
    if isinstance(known, IndexSpaceType) or known == given:
        return bool(known == given)
    facts = ("dtype", "ndim", "layout", "addrspace")
    return all(hasattr(known, fact) for fact in facts) and all(
        getattr(known, fact) == getattr(given, fact, None) for fact in facts
    )


kernel = decorator(Kernel)
"""Decorate a function that `call_kernel` launches; its first argument is an item, and it returns nothing.

Args:
    function_or_signature: The function, or a signature or a list of them: then it is compiled for these at once, and
        for no others.
    **options: ``inline``, ``fastmath``, ``boundscheck``, ``error_model``, ``debug``, as numba's ``jit`` takes them.
"""
