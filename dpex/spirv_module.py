"""From the LLVM code of a kernel to SPIR-V: link, optimise, translate.

LLVM ends the process where its SPIR-V back end finds an error, so all of this runs in a forked process.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import warnings
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types

from .code import Code
from .spirv_calls import SPIR_FUNC, SPIR_KERNEL
from .target import new_machine, target

EXTENSIONS = ("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max", "SPV_KHR_bfloat16")
"""Extensions of SPIR-V that kernels may use."""

llvm.set_option("", "--spirv-ext=" + ",".join(f"+{name}" for name in EXTENSIONS))


class TranslationError(Exception):
    """LLVM ends or crashes while it makes the SPIR-V of a kernel; the message is what it printed."""


def translate(name: str, result: Any, *, keep_llvm: bool = False) -> Code:
    """Return the code of a compiled function as a kernel.

    Args:
        name: The name that the kernel gets.
        result: numba's result of compiling the function; it returns nothing.
        keep_llvm: Whether to return the LLVM code, too.

    Raises:
        TranslationError: LLVM fails.
    """
    texts = [library.get_llvm_str() for library in result.library.whole()] + [str(_entry(name, result))]
    status, value, printed = _in_child(lambda: _spirv_of(name, texts, keep_llvm))
    if status or not value:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        raise TranslationError(printed.strip() or f"LLVM ended with {how}")
    spirv, text = pickle.loads(value)
    return Code(name, spirv, text)


def _spirv_of(name: str, texts: list[str], keep_llvm: bool) -> bytes:
    linked = llvm.parse_assembly(texts[-1])
    for text in texts[:-1]:
        linked.link_in(llvm.parse_assembly(text))
    for each in [*linked.functions, *linked.global_variables]:
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
    linked.verify()
    machine = new_machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(linked, builder)
    text = str(linked) if keep_llvm else ""
    return pickle.dumps((machine.emit_object(linked), text))


def _in_child(call: Any) -> tuple[int, bytes, str]:
    """Run a call in a forked process; return its exit status, what the call returned and what it printed."""
    read_end, write_end = os.pipe()
    output = os.memfd_create("llvm")
    sys.stdout.flush()
    sys.stderr.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child runs nothing but LLVM, which holds no lock here
        child = os.fork()
    if child == 0:
        _run_child(call, write_end, output)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        value = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.lseek(output, 0, os.SEEK_SET)
    with os.fdopen(output, "rb") as file:
        printed = file.read().decode(errors="replace")
    return status, value, printed


def _run_child(call: Any, write_end: int, output: int) -> None:
    """Write the result of a call to a pipe and end this process without any of its exit handlers."""
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(output, 2)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal; the parent decides
        for number in (signal.SIGABRT, signal.SIGSEGV):
            signal.signal(number, signal.SIG_DFL)
        view = memoryview(call())
        while view:
            view = view[os.write(write_end, view) :]
        status = 0
    except BaseException as error:
        os.write(2, str(error).encode())
    finally:
        os._exit(status)


def _entry(name: str, result: Any) -> Any:
    """Return the module of the kernel: it builds the arrays from flat parameters and calls the compiled function."""
    from . import arguments

    context, kinds = target.target_context, result.fndesc.argtypes
    module = context.create_module("kernel")
    inner = ir.Function(module, context.call_conv.get_function_type(types.none, kinds), result.fndesc.llvm_func_name)
    inner.calling_convention = SPIR_FUNC
    parameters = [each for kind in kinds for each in arguments.parameters(context, kind)]
    outer = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    outer.calling_convention = SPIR_KERNEL
    builder = ir.IRBuilder(outer.append_basic_block())
    given = iter(outer.args)
    values = [arguments.value(context, builder, kind, given) for kind in kinds]
    context.call_conv.call_function(builder, inner, types.none, kinds, values)
    builder.ret_void()
    return module
