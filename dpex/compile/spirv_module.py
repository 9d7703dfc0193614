"""Links, optimises and translates the LLVM code of a kernel to SPIR-V.

LLVM ends the process when its SPIR-V back end finds an error, so all of this runs in another process.
"""

from __future__ import annotations

import re
from typing import Any

import llvmlite.binding as llvm

from ..cache.kernel_cache import Code
from ..language import mathematics
from . import line_tables, worker
from .codegen import new_machine
from .entry import entry_module

EXTENSIONS = ("SPV_EXT_shader_atomic_float_add", "SPV_EXT_shader_atomic_float_min_max", "SPV_KHR_bfloat16")
"""Extensions of SPIR-V that kernels may use."""

llvm.set_option("", "--spirv-ext=" + ",".join(f"+{name}" for name in EXTENSIONS))


# The closed form of a sum over a loop takes integers of 65 bits, which SPIR-V does not have.
llvm.set_option("", "--replexitval=never")

# Strength reduction makes integers of 4 bits, as of ``x & 15`` in a loop, wrongly translated by the back end: `_ODD`.
llvm.set_option("", "--disable-lsr")

# A condition that does not change in a loop is decided before it, even where the other branch stays in the loop.
llvm.set_option("", "--enable-nontrivial-unswitch")

_QUOTED = re.compile(r'"[^"]*"')
_ODD = re.compile(r"i(?<![\w.%@$-]i)(?!(?:1|8|16|32|64)\b)(\d+)(?![\w.$-])")
"""An integer type of a width that SPIR-V does not have: the back end uses the next wider one without masking.

The pattern begins with a letter, for which the search is faster than for a look-behind.
"""

_FROM_BIT = re.compile(r" = sitofp i1 (\S+) to (half|float|double)\b")
"""A conversion of a signed bit, -1 or 0, to a float, such as ``-(a < b)``: the back end makes it 1 or 0."""


class TranslationError(Exception):
    """LLVM ends or crashes while it makes the SPIR-V of a kernel; the message is its output."""


def start_worker() -> None:
    """Start the process that `translate` uses, unless it runs; it starts while numba compiles the kernel."""
    worker.start(_spirv_of)


def translate(name: str, result: Any, *, hint: str = "", keep_llvm: bool = False) -> Code:
    """Translate a compiled function to a SPIR-V kernel and return its code.

    Args:
        name: The name of the kernel.
        result: numba's compile result of the function, which returns nothing.
        hint: The option ``vec_type_hint``, such as ``int4``; empty if it is not set.
        keep_llvm: Whether to return the LLVM code, too.

    Raises:
        TranslationError: LLVM fails.
        ValueError: ``hint`` is not a vector type of OpenCL C.
    """
    texts = [library.get_llvm_str() for library in result.library.whole()] + [str(entry_module(name, result, hint))]
    try:
        spirv, text = worker.call(_spirv_of, name, texts, keep_llvm)
    except worker.WorkerError as error:
        raise TranslationError(str(error)) from None
    return Code(name, spirv, text)


def _spirv_of(name: str, texts: list[str], keep_llvm: bool) -> tuple[bytes, str]:
    linked = llvm.parse_assembly(texts[-1])
    for text in texts[:-1]:
        linked.link_in(llvm.parse_assembly(text))
    mathematics.link(linked)
    for each in [*linked.functions, *linked.global_variables]:
        if not each.is_declaration and each.name != name:
            each.linkage = "internal"
    for each in linked.functions:
        if each.is_declaration:
            each.add_function_attribute("willreturn")  # so that later loads can be moved out of a loop
        else:
            each.add_function_attribute("convergent")  # LLVM removes it from functions that call no barrier or atomic
    linked.verify()
    machine = new_machine()
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_unrolling = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(linked, builder)
    text = str(linked)
    if odd := _ODD.search(_QUOTED.sub("", text)):
        raise ValueError(f"LLVM makes an integer of {odd[1]} bits, which its back end for SPIR-V gets wrong")
    if _FROM_BIT.search(text):
        text = _FROM_BIT.sub(r" = select i1 \1, \2 -1.0, \2 0.0", text)
        linked = llvm.parse_assembly(text)
    has_lines = any("!DILocation(" in each for each in texts)
    return _with_lines(machine, text) if has_lines else machine.emit_object(linked), text if keep_llvm else ""


def _with_lines(machine: Any, text: str) -> bytes:
    marked, files = line_tables.marked(text)
    return line_tables.with_lines(machine.emit_object(llvm.parse_assembly(marked)), files)
