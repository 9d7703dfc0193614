"""Prints what the driver says of its devices, and fills one's memory."""

import level_zero

from ishmem.ipc import pyze

driver = pyze.drivers()[0]
devices = pyze.devices(driver)
print(len(devices), {pyze.memory_properties(d)[0].totalSize for d in devices})
print(pyze.device_properties(devices[0]).name.decode(), [bytes(pyze.device_properties(d).uuid)[12] for d in devices])
print(pyze.can_access_peer(*devices), pyze.p2p_properties(*devices).flags, level_zero.sub_devices(devices[0]))
print(pyze.memory_access_properties(devices[0]).deviceAllocCapabilities)
context = level_zero.create_context(driver)
first = level_zero.alloc_device(context, devices[0], 3 << 20)
level_zero.alloc_device(context, devices[1], 3 << 20)
try:
    level_zero.alloc_device(context, devices[0], 3 << 20)
except pyze.LevelZeroError as error:
    print(pyze.result_name(error.code))
pyze.zeMemFree(context, first)
level_zero.alloc_device(context, devices[0], 4 << 20)
