"""Counts the instructions of operations in kernels: ``python -m ishmem.benchmarks.instructions``.

The count is that of a kernel with the operation on 8 bytes minus that of the same kernel without it: in SPIR-V and,
where ``objdump`` is installed, in the machine code that the OpenCL CPU runtime generates. Machine code with a loop is
not counted: the runtime then loops over work-items, with unrolling.
"""

# Code that numba compiles has numba's types.
# mypy: ignore-errors

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
import tempfile

import dpnp
import numpy as np
from numba import typeof, types
from rich.console import Console
from rich.table import Table

import ishmem
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi
from ishmem.environment import stack
from ishmem.kernels import front_end

FUNCTION, FUNCTION_END, BITCAST, LABEL, RETURN = 54, 56, 124, 248, 253
BINARY_SIZES, BINARIES = 0x1165, 0x1166  # of clGetProgramInfo


@dpex.kernel
def nothing(item: kapi.Item, dest, source, pe):
    source[1] = pe


@dpex.kernel
def store(item: kapi.Item, dest, source, pe):
    dest[0] = source[0]
    source[1] = pe


@dpex.kernel
def p(item: kapi.Item, dest, source, pe):
    ishmem.p(dest, source[0], pe)
    source[1] = pe


@dpex.kernel
def put(item: kapi.Item, dest, source, pe):
    ishmem.put(dest, source, pe, 1)
    source[1] = pe


@dpex.kernel
def get(item: kapi.Item, dest, source, pe):
    ishmem.get(dest, source, pe, 1)
    source[1] = pe


@dpex.kernel
def fetch_add(item: kapi.Item, dest, source, pe):
    source[0] = ishmem.atomic_fetch_add(dest, 1, pe)
    source[1] = pe


@dpex.kernel
def quiet(item: kapi.Item, dest, source, pe):
    ishmem.quiet()
    source[1] = pe


@dpex.kernel
def fence(item: kapi.Item, dest, source, pe):
    ishmem.fence()
    source[1] = pe


KERNELS = {"a plain store": store, "p": p, "put": put, "get": get, "atomic_fetch_add": fetch_add,
           "quiet": quiet, "fence": fence}  # fmt: skip


def compiled(kernel) -> bytes:
    """Return the SPIR-V of a kernel for two arrays of int64 and a PE."""
    array = typeof(dpnp.zeros(2, dtype="int64"))
    return front_end.compiled(kernel, (front_end.ItemType(1), array, array, types.int64))


def spirv_instructions(code: bytes) -> int:
    """Count the instructions in function bodies, without function headers, labels, returns and casts of pointers."""
    words, at, count, inside = np.frombuffer(code, "<u4"), 5, 0, False
    while at < len(words):
        op = int(words[at]) & 0xFFFF
        inside = (inside or op == FUNCTION) and op != FUNCTION_END
        count += inside and op not in (FUNCTION, FUNCTION + 1, BITCAST, LABEL, RETURN)
        at += int(words[at]) >> 16
    return count


def _binary(code: bytes) -> bytes:
    """Return the binary that the OpenCL CPU runtime compiles from SPIR-V."""
    cl = ctypes.CDLL(str(stack.library_folder() / "libintelocl.so"))
    pointer = ctypes.c_void_p
    for name in ("clCreateContext", "clCreateProgramWithIL"):
        getattr(cl, name).restype = pointer
    platform, device, size, error = pointer(), pointer(), ctypes.c_size_t(), ctypes.c_int()
    cl.clGetPlatformIDs(1, ctypes.byref(platform), None)
    cl.clGetDeviceIDs(platform, ctypes.c_uint64(2), 1, ctypes.byref(device), None)
    context = pointer(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(error)))
    program = pointer(cl.clCreateProgramWithIL(context, code, ctypes.c_size_t(len(code)), ctypes.byref(error)))
    if cl.clBuildProgram(program, 1, ctypes.byref(device), b"", None, None):
        raise RuntimeError("the OpenCL runtime cannot build the kernel")
    cl.clGetProgramInfo(program, BINARY_SIZES, ctypes.c_size_t(8), ctypes.byref(size), None)
    text = ctypes.create_string_buffer(size.value)
    binaries = (pointer * 1)(ctypes.addressof(text))
    cl.clGetProgramInfo(program, BINARIES, ctypes.c_size_t(8), binaries, None)
    return text.raw


def machine_instructions(code: bytes) -> int | None:
    """Count the machine instructions of a kernel; None when they contain a jump, or without ``objdump``."""
    if shutil.which("objdump") is None:
        return None
    binary = _binary(code)
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(binary[binary.rfind(b"\x7fELF") :])  # the object file is the last part
        file.flush()
        command = ["objdump", "-d", "--no-show-raw-insn", file.name]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ +[0-9a-f]+:\t(\w+)", text, re.MULTILINE)
    return None if any(name.startswith("j") for name in names) else len(names)


def main() -> None:
    """Print the table."""
    array = ishmem.zeros(2, dtype="int64")
    dpex.call_kernel(nothing, kapi.Range(1), array, array, 0)  # a compiler may set itself up at the first launch
    empty = compiled(nothing)
    table = Table("8 bytes, in a kernel", "SPIR-V", "machine")
    for name, kernel in KERNELS.items():
        code = compiled(kernel)
        counts = [spirv_instructions(code) - spirv_instructions(empty), "-"]
        if (machine := machine_instructions(code)) is not None:
            counts[1] = machine - machine_instructions(empty)
        table.add_row(name, *map(str, counts))
    Console().print(table)


if __name__ == "__main__":
    with ishmem.init():
        main()
