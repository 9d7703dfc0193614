"""Launches a kernel that ends, and one that waits in vain; with an argument, after the OpenCL runtime was used."""

import ctypes
import sys

import ishmem
from ishmem.environment import stack


def use_opencl():
    opencl = ctypes.CDLL(stack.variables("sim")["OCL_ICD_FILENAMES"])
    platform, device, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
    assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
    assert opencl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
    opencl.clCreateContext.restype = ctypes.c_void_p
    assert opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status))


if sys.argv[1:]:
    use_opencl()
from ishmem import dpex


@dpex.kernel
def hang(item, a, runs, number):
    ishmem.p(runs, 1, 0, number)
    ishmem.wait_until(a, ishmem.CMP_EQ, 1)


with ishmem.init():
    a, runs = ishmem.zeros(1, dtype="i8"), ishmem.zeros(2, dtype="i8")
    dpex.call_kernel(hang, dpex.Range(1), ishmem.ones(1, dtype="i8"), runs, 0)
    print(ishmem.host_view(runs)[1:].ctypes.data, flush=True)
    dpex.call_kernel(hang, dpex.Range(1), a, runs, 1)  # hangs
    ishmem.quiet()
