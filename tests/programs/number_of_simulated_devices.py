"""Prints the number of the simulator's devices."""

from ctypes import CDLL, byref, c_uint32, c_void_p

from ishmem.environment import stack

ze = CDLL(str(stack.simulator()))
driver, one, count = c_void_p(), c_uint32(1), c_uint32()
assert ze.zeInit(0) == 0 and ze.zeDriverGet(byref(one), byref(driver)) == 0
assert ze.zeDeviceGet(driver, byref(count), None) == 0
print(count.value)
