"""Constants that differ between processes, as functions in kernels; they are constants to the device's compiler.

Each is an ``OpSpecConstant`` of the SPIR-V. Its value is set when a kernel has been compiled or loaded, so cached code
serves every PE and any number of PEs.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from ishmem.runtime import kernel_constants
from ishmem.runtime.kernel_constants import FIRST, ProcessConstants

from .front_end import SPIR_FUNC, mangle
from .intrinsics import device_intrinsic


def emit(builder: Any, field: str) -> Any:
    """Emit the specialisation constant for a field of `ProcessConstants`, with the default 0."""
    i32, i64 = ir.IntType(32), ir.IntType(64)
    symbol = mangle("__spirv_SpecConstant", [types.int32, types.int64])
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(i64, [i32, i64]), symbol)
    function.calling_convention = SPIR_FUNC
    function.attributes.add("nounwind")
    function.attributes.add("readnone")
    number = FIRST + ProcessConstants._fields.index(field)
    return builder.call(function, [i32(number), i64(0)], cconv=SPIR_FUNC)


def _constant(field: str) -> Any:
    """Make the function that returns a field of `ProcessConstants` in kernels."""

    def typing() -> Any:
        kernel_constants.process()  # refuses to compile outside a job
        return types.int64(), lambda code: emit(code.builder, field)

    return device_intrinsic(typing)


heap_base = _constant("heap")
this_pe = _constant("my_pe")
pe_count = _constant("n_pes")
team_records = _constant("teams")
sync_lines = _constant("sync")
sync_bytes = _constant("sync_bytes")
rendezvous_slots = _constant("rendezvous")
rendezvous_bytes = _constant("rendezvous_bytes")
turn_counter = _constant("turn")
violation_record = _constant("violation")
wait_record = _constant("wait")
proxy_address = _constant("proxy")
ticket_counter = _constant("tickets")
user_start = _constant("user")
region_table = _constant("regions")
heap_end = _constant("end")
chunk_memory = _constant("tiles")
chunk_bytes = _constant("tile_bytes")
xe_cores = _constant("xe_cores")
step_lines = _constant("meetings")
step_bytes = _constant("meeting_bytes")
near_count = _constant("near_count")
simd_width = _constant("simd_width")
