"""The same as `hung_kernel`, in a process that has used the OpenCL runtime before."""

import ctypes
import runpy
from pathlib import Path

from ishmem.environment import stack

opencl = ctypes.CDLL(stack.variables("sim")["OCL_ICD_FILENAMES"])
platform, device, status = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
assert opencl.clGetPlatformIDs(1, ctypes.byref(platform), None) == 0
assert opencl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1, ctypes.byref(device), None) == 0
opencl.clCreateContext.restype = ctypes.c_void_p
assert opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(status))
runpy.run_path(str(Path(__file__).with_name("hung_kernel.py")), run_name="__main__")
