"""Prints the devices as dpctl shows them, and copies between two."""

import dpctl

from ishmem.environment.arrays import tensor as dpt

devices = dpctl.get_devices(backend="level_zero")
print([d.filter_string for d in devices])
d = devices[0]
print(d.has_aspect_fp64, d.has_aspect_fp16, d.has_aspect_atomic64, d.max_work_group_size, d.local_mem_size)
a = dpt.arange(100000, dtype="i8", device=devices[0])
b = dpt.asarray(a, device=devices[1], copy=True)  # from device to device, through another context
c = dpt.empty_like(b)
c[:] = b
print(int(dpt.sum(c)), c.device.sycl_device == devices[1], dpt.concat((a[::7], a[:3])).shape)
