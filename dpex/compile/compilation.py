"""Compiles kernels for the kinds of their arguments."""

from __future__ import annotations

from inspect import signature
from typing import Any

from numba.core import sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, NumbaTypeError

from ..cache.kernel_cache import Code
from ..errors import (
    InvalidKernelSpecializationError,
    KernelBuildError,
    KernelHasReturnValueError,
    MissingSpecializationError,
)
from . import compile_errors, constructs
from .spirv_module import TranslationError, start_worker, translate
from .types import IndexSpaceType, USMNdArray, numba_type, register_arrays


@global_compiler_lock  # type: ignore[untyped-decorator, unused-ignore]
def compiled(kernel: Any, kinds: tuple[Any, ...]) -> Code:
    """Compile a kernel for arguments of these kinds and return its code.

    Raises:
        KernelCompileError: The kernel does not compile.
        KernelHasReturnValueError: It returns a value.
        MissingSpecializationError: It was compiled for given signatures only, and not for these types.
        KernelBuildError: LLVM fails.
    """
    register_arrays()
    start_worker()
    result = _result(kernel, tuple(map(numba_type, kinds)))
    if isinstance(result.signature.return_type, types.Generator):
        raise compile_errors.of_kernel(kernel, NumbaTypeError(constructs.GENERATORS))
    if not _is_void(result.signature.return_type):
        raise KernelHasReturnValueError(kernel.__name__, result.signature.return_type)
    try:
        return translate(kernel.__name__, result, hint=kernel.hint)
    except TranslationError as error:
        code = kernel.py_func.__code__
        if constructs.in_function(code.co_filename, code.co_firstlineno):
            raise compile_errors.of_kernel(kernel, error) from None
        raise KernelBuildError(f"the kernel {kernel.__name__} does not build: {error}") from None


def without_result(kernel: Any, sig: Any) -> Any:
    """Return ``sig``, a signature passed to a kernel's decorator, with the return type void, which it may leave out.

    Raises:
        KernelHasReturnValueError: The signature has a return type.
        InvalidKernelSpecializationError: An array in the signature is not one of a device.
    """
    arguments, return_type = sigutils.normalize_signature(sig)
    if return_type is not None and not _is_void(return_type):
        raise KernelHasReturnValueError(kernel.__name__, return_type)
    invalid = [kind for kind in arguments if isinstance(kind, types.Buffer) and not isinstance(kind, USMNdArray)]
    if invalid:
        raise InvalidKernelSpecializationError(kernel.__name__, invalid)
    return types.void(*arguments)


def _result(kernel: Any, given: tuple[Any, ...]) -> Any:
    """Return numba's compile result for argument types, or for a signature passed to the decorator that fits them."""
    if not kernel.is_specialised:
        _check_count(kernel, len(given) - 1)
        try:
            kernel.dispatcher.compile(given)
        except NumbaError as error:
            raise compile_errors.of_kernel(kernel, error) from None
        except Exception as error:
            raise compile_errors.of_kernel(kernel, error) from error
        return kernel.overloads[given]
    for known in kernel.overloads:
        if len(known) == len(given) and all(map(_takes, known, given)):
            return kernel.overloads[known]
    raise MissingSpecializationError(kernel.__name__, ", ".join(map(str, given)))


def _check_count(kernel: Any, count: int) -> None:
    parameters = list(signature(kernel.py_func).parameters.values())[1:]
    needed = [each for each in parameters if each.default is each.empty]
    if not len(needed) <= count <= len(parameters):
        names = ", ".join(each.name for each in parameters) or "no arguments"
        raise TypeError(f"the kernel {kernel.__name__} takes {names} after the item, got {count} arguments")


def _is_void(kind: Any) -> bool:
    return kind in (types.none, types.void)


def _takes(known: Any, given: Any) -> bool:
    """Return whether an argument of type ``given`` can be passed for type ``known`` without a conversion."""
    if isinstance(known, IndexSpaceType) or known == given:
        return bool(known == given)
    facts = ("dtype", "ndim", "layout", "addrspace")
    if getattr(known, "mutable", False) and not getattr(given, "mutable", True):
        return False
    return all(hasattr(known, fact) for fact in facts) and all(
        getattr(known, fact) == getattr(given, fact, None) for fact in facts
    )
