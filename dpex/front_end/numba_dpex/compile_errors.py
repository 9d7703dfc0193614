"""Raises the extension's error for a kernel that does not compile, and allows another attempt, such as after init.

numba wraps the cause into a trace of its type inference, and once more for the launch.
"""

from __future__ import annotations

import functools
import itertools
import logging
import re
from typing import Any

import numpy as np
from numba.core.errors import NumbaError
from numba_dpex.core.dpjit_dispatcher import DpjitDispatcher
from numba_dpex.core.exceptions import InternalError
from numba_dpex.kernel_api_impl.spirv.dispatcher import SPIRVKernelDispatcher, _SPIRVKernelCompiler
from numba_dpex.kernel_api_impl.spirv.target import CompilationMode, SPIRVTypingContext

from ...compile import constructs
from ...compile.compile_errors import refuse_function
from ...errors import COPY, UnsupportedKernelArgumentError, call_refused
from ...extension import installed

log = logging.getLogger(__package__)

_NO_TYPE = re.compile(r"Failed in .*qualified name disambiguation\)\s*(\w+)")

_STACK = "PLEASE submit a bug report"  # the translator to SPIR-V prints its own stack after these words

_pending: list[Exception] = []
"""The errors to raise from the launch that is being compiled; the last one counts."""

_resolve_value_type = SPIRVTypingContext.resolve_value_type
_compile_kernel, _compile_launch = _SPIRVKernelCompiler.compile, DpjitDispatcher._compile_for_args


def install() -> None:
    """Replace the methods of numba-dpex that compile a kernel and its launch by those of this module."""
    _SPIRVKernelCompiler.compile = _explaining
    DpjitDispatcher._compile_for_args = _launching
    SPIRVKernelDispatcher.__call__ = _called
    SPIRVTypingContext.resolve_value_type = _type_of_value


def noted(error: Exception) -> Exception:
    """Store an error, to be raised without numba's wrapping by the launch that is being compiled; return it."""
    _pending.append(error)
    return error


@functools.wraps(_compile_kernel)
def _explaining(self: Any, args: Any, return_type: Any) -> Any:
    try:
        return _compile_kernel(self, args, return_type)
    except Exception as error:
        self._failed_cache.clear()
        code = self.py_func.__code__
        log.debug("%s", error)
        text = _NO_TYPE.sub(r"numba-dpex has no \1 in kernels; ishmem.dpex has", str(error).partition(_STACK)[0])
        if not isinstance(error, (NumbaError, InternalError)):
            text = f"{type(error).__name__}: {text}"
        if self.targetoptions.get("_compilation_mode") == CompilationMode.KERNEL:
            name, file, line = self.py_func.__name__, code.co_filename, code.co_firstlineno
            noted(installed().compile_error(name, file, line, text) or error)
        raise


@functools.wraps(_compile_launch)
def _launching(self: Any, *args: Any, **keywords: Any) -> Any:
    _pending.clear()
    try:
        return _compile_launch(self, *args, **keywords)
    except Exception as reason:
        self._compiler._failed_cache.clear()
        given = itertools.chain.from_iterable(each for each in args if isinstance(each, tuple))
        host = next((each for each in given if isinstance(each, np.ndarray)), None)
        if host is not None and not _pending:
            noted(UnsupportedKernelArgumentError(host, COPY))
        error = _pending[-1] if _pending else _of_generator(args, reason)
        if error is None:
            raise
    raise error


def _of_generator(args: Any, reason: Exception) -> Exception | None:
    """Return the error for a kernel that compiles but contains an unsupported construct, such as yield; else None."""
    for kernel in args:
        if isinstance(kernel, SPIRVKernelDispatcher):
            code = kernel.py_func.__code__
            place = code.co_filename, code.co_firstlineno
            if constructs.in_function(*place):
                return installed().compile_error(code.co_name, *place, str(reason))
    return None


def _type_of_value(self: Any, value: Any) -> Any:
    refuse_function(value)  # for numba's code for strings, the error would come after minutes
    return _resolve_value_type(self, value)


def _called(kernel: Any, *_arguments: Any, **_named: Any) -> None:
    raise TypeError(call_refused(kernel.py_func.__name__))
