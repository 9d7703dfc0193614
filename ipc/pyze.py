"""A ctypes binding of the Level Zero calls that ishmem uses.

Every call of ``CALLS`` is an attribute of this module under its C name, takes its C arguments
(handles and addresses as ints) and returns the ``ze_result_t``, which is ``SUCCESS`` or
``NOT_READY``: any other result raises ``LevelZeroError``. The functions below wrap the calls that
have out-parameters. The library is loaded at the first call, so that ``import ishmem`` can choose
the driver before.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from collections.abc import Sequence
from ctypes import (
    POINTER,
    Structure,
    byref,
    c_char,
    c_char_p,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint32 as U32,
    c_uint64 as U64,
    c_void_p,
)
from typing import Any, Callable, TypeVar

from ishmem.common.errors import LevelZeroError

LIBRARY = "libze_loader.so.1"
IPC_HANDLE_SIZE = 64
FOREVER = 2**64 - 1

SUCCESS = 0
NOT_READY = 1
INVALID_ARGUMENT = 0x78000004
UNSUPPORTED_FEATURE = 0x78000003

RESULTS = {
    0: "ZE_RESULT_SUCCESS",
    1: "ZE_RESULT_NOT_READY",
    0x70000001: "ZE_RESULT_ERROR_DEVICE_LOST",
    0x70000002: "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY",
    0x70000003: "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    0x70000004: "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE",
    0x70000005: "ZE_RESULT_ERROR_MODULE_LINK_FAILURE",
    0x70000006: "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET",
    0x70000007: "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE",
    0x70010000: "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS",
    0x70010001: "ZE_RESULT_ERROR_NOT_AVAILABLE",
    0x70020000: "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE",
    0x70020001: "ZE_RESULT_WARNING_DROPPED_DATA",
    0x78000001: "ZE_RESULT_ERROR_UNINITIALIZED",
    0x78000002: "ZE_RESULT_ERROR_UNSUPPORTED_VERSION",
    0x78000003: "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE",
    0x78000004: "ZE_RESULT_ERROR_INVALID_ARGUMENT",
    0x78000005: "ZE_RESULT_ERROR_INVALID_NULL_HANDLE",
    0x78000006: "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE",
    0x78000007: "ZE_RESULT_ERROR_INVALID_NULL_POINTER",
    0x78000008: "ZE_RESULT_ERROR_INVALID_SIZE",
    0x78000009: "ZE_RESULT_ERROR_UNSUPPORTED_SIZE",
    0x7800000A: "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT",
    0x7800000B: "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT",
    0x7800000C: "ZE_RESULT_ERROR_INVALID_ENUMERATION",
    0x7800000D: "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION",
    0x7800000E: "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT",
    0x7800000F: "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY",
    0x78000010: "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME",
    0x78000011: "ZE_RESULT_ERROR_INVALID_KERNEL_NAME",
    0x78000012: "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME",
    0x78000013: "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION",
    0x78000014: "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION",
    0x78000015: "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX",
    0x78000016: "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE",
    0x78000017: "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE",
    0x78000018: "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED",
    0x78000019: "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE",
    0x7800001A: "ZE_RESULT_ERROR_OVERLAPPING_REGIONS",
    0x7800001B: "ZE_RESULT_WARNING_ACTION_REQUIRED",
    0x7FFFFFFE: "ZE_RESULT_ERROR_UNKNOWN",
}

INIT_GPU_ONLY = 1
DEVICE_TYPE_GPU = 1
DEVICE_INTEGRATED = 1 << 0
DEVICE_SUBDEVICE = 1 << 1
IPC_MEMORY = 1 << 0
ACCESS_RW, ACCESS_ATOMIC, ACCESS_CONCURRENT, ACCESS_CONCURRENT_ATOMIC = 1, 2, 4, 8
P2P_ACCESS, P2P_ATOMICS = 1, 2
MEMORY_UNKNOWN, MEMORY_HOST, MEMORY_DEVICE, MEMORY_SHARED = 0, 1, 2, 3
QUEUE_COMPUTE, QUEUE_COPY = 1, 2
MODE_DEFAULT, MODE_SYNCHRONOUS, MODE_ASYNCHRONOUS = 0, 1, 2
EVENT_POOL_HOST_VISIBLE, EVENT_POOL_TIMESTAMP = 1, 4
SCOPE_HOST = 4
MODULE_SPIRV = 0
DEVICE, CONTEXT = 1, 2  # kinds of handles


class Tagged(Structure):
    """A Level Zero structure with the common header; ``stype`` is filled in."""

    STYPE = 0
    _fields_ = [("stype", U32), ("pNext", c_void_p)]

    def __init__(self, **fields: Any) -> None:
        """Set the given fields; the others are zero."""
        super().__init__(stype=self.STYPE, **fields)


def _u32(names: str) -> list[Any]:
    return [(name, U32) for name in names.split()]


class DriverProperties(Tagged):
    """ze_driver_properties_t."""

    STYPE = 0x1
    _fields_ = [("uuid", c_uint8 * 16), ("driverVersion", U32)]


class DriverIpcProperties(Tagged):
    """ze_driver_ipc_properties_t."""

    STYPE = 0x2
    _fields_ = _u32("flags")


class DeviceProperties(Tagged):
    """ze_device_properties_t."""

    STYPE = 0x3
    _fields_ = [
        *_u32("type vendorId deviceId flags subdeviceId coreClockRate"),
        ("maxMemAllocSize", U64),
        *_u32("maxHardwareContexts maxCommandQueuePriority numThreadsPerEU physicalEUSimdWidth"),
        *_u32("numEUsPerSubslice numSubslicesPerSlice numSlices"),
        ("timerResolution", U64),
        *_u32("timestampValidBits kernelTimestampValidBits"),
        ("uuid", c_uint8 * 16),
        ("name", c_char * 256),
    ]


class PciProperties(Tagged):
    """ze_pci_ext_properties_t, of the extension ``ZE_extension_pci_properties``."""

    STYPE = 0x10008
    _fields_ = [
        *_u32("domain bus device function"),
        ("genVersion", c_int32),
        ("width", c_int32),
        ("maxBandwidth", c_int64),
    ]


class ComputeProperties(Tagged):
    """ze_device_compute_properties_t."""

    STYPE = 0x4
    _fields_ = [
        *_u32("maxTotalGroupSize maxGroupSizeX maxGroupSizeY maxGroupSizeZ"),
        *_u32("maxGroupCountX maxGroupCountY maxGroupCountZ maxSharedLocalMemory numSubGroupSizes"),
        ("subGroupSizes", U32 * 8),
    ]


class QueueGroupProperties(Tagged):
    """ze_command_queue_group_properties_t."""

    STYPE = 0x6
    _fields_ = [("flags", U32), ("maxMemoryFillPatternSize", c_size_t), ("numQueues", U32)]


class MemoryProperties(Tagged):
    """ze_device_memory_properties_t."""

    STYPE = 0x7
    _fields_ = [*_u32("flags maxClockRate maxBusWidth"), ("totalSize", U64), ("name", c_char * 256)]


class MemoryAccessProperties(Tagged):
    """ze_device_memory_access_properties_t; each field is a set of ``ACCESS_*`` flags."""

    STYPE = 0x8
    _fields_ = _u32(
        "hostAllocCapabilities deviceAllocCapabilities sharedSingleDeviceAllocCapabilities"
        " sharedCrossDeviceAllocCapabilities sharedSystemAllocCapabilities"
    )


class P2PProperties(Tagged):
    """ze_device_p2p_properties_t; ``flags`` is a set of ``P2P_*`` flags."""

    STYPE = 0xB
    _fields_ = _u32("flags")


class ContextDesc(Tagged):
    """ze_context_desc_t."""

    STYPE = 0xD
    _fields_ = _u32("flags")


class QueueDesc(Tagged):
    """ze_command_queue_desc_t."""

    STYPE = 0xE
    _fields_ = _u32("ordinal index flags mode priority")


class ListDesc(Tagged):
    """ze_command_list_desc_t."""

    STYPE = 0xF
    _fields_ = _u32("commandQueueGroupOrdinal flags")


class EventPoolDesc(Tagged):
    """ze_event_pool_desc_t."""

    STYPE = 0x10
    _fields_ = _u32("flags count")


class EventDesc(Tagged):
    """ze_event_desc_t."""

    STYPE = 0x11
    _fields_ = _u32("index signal wait")


class FenceDesc(Tagged):
    """ze_fence_desc_t."""

    STYPE = 0x12
    _fields_ = _u32("flags")


class DeviceMemDesc(Tagged):
    """ze_device_mem_alloc_desc_t."""

    STYPE = 0x15
    _fields_ = _u32("flags ordinal")


class HostMemDesc(Tagged):
    """ze_host_mem_alloc_desc_t."""

    STYPE = 0x16
    _fields_ = _u32("flags")


class AllocationProperties(Tagged):
    """ze_memory_allocation_properties_t; ``type`` is one of ``MEMORY_*``."""

    STYPE = 0x17
    _fields_ = [("type", U32), ("id", U64), ("pageSize", U64)]


class ModuleDesc(Tagged):
    """ze_module_desc_t."""

    STYPE = 0x1B
    _fields_ = [
        ("format", U32),
        ("inputSize", c_size_t),
        ("pInputModule", c_char_p),
        ("pBuildFlags", c_char_p),
        ("pConstants", c_void_p),
    ]


class KernelDesc(Tagged):
    """ze_kernel_desc_t."""

    STYPE = 0x1D
    _fields_ = [("flags", U32), ("pKernelName", c_char_p)]


class KernelProperties(Tagged):
    """ze_kernel_properties_t."""

    STYPE = 0x1E
    _fields_ = [
        *_u32("numKernelArgs requiredGroupSizeX requiredGroupSizeY requiredGroupSizeZ"),
        *_u32("requiredNumSubGroups requiredSubgroupSize maxSubgroupSize maxNumSubgroups"),
        *_u32("localMemSize privateMemSize spillMemSize"),
        ("uuid", c_uint8 * 32),
    ]


class GroupCount(Structure):
    """ze_group_count_t."""

    _fields_ = _u32("x y z")


class TimestampResult(Structure):
    """ze_kernel_timestamp_result_t."""

    _fields_ = [("globalStart", U64), ("globalEnd", U64), ("contextStart", U64), ("contextEnd", U64)]


class IpcHandle(Structure):
    """ze_ipc_mem_handle_t, passed by value."""

    _fields_ = [("data", c_uint8 * IPC_HANDLE_SIZE)]


H = c_void_p
"""Any handle, and any address passed by value."""
_HANDLES = POINTER(H)
_WAIT = (H, U32, _HANDLES)
"""Event to signal, number of events to wait for, the events."""

CALLS: dict[str, tuple[Any, ...]] = {
    "zeInit": (U32,),
    "zeDriverGet": (POINTER(U32), _HANDLES),
    "zeDriverGetApiVersion": (H, POINTER(U32)),
    "zeDriverGetProperties": (H, POINTER(DriverProperties)),
    "zeDriverGetIpcProperties": (H, POINTER(DriverIpcProperties)),
    "zeDriverGetExtensionFunctionAddress": (H, c_char_p, _HANDLES),
    "zeDeviceGet": (H, POINTER(U32), _HANDLES),
    "zeDeviceGetSubDevices": (H, POINTER(U32), _HANDLES),
    "zeDeviceGetProperties": (H, POINTER(DeviceProperties)),
    "zeDeviceGetComputeProperties": (H, POINTER(ComputeProperties)),
    "zeDeviceGetMemoryProperties": (H, POINTER(U32), POINTER(MemoryProperties)),
    "zeDeviceGetMemoryAccessProperties": (H, POINTER(MemoryAccessProperties)),
    "zeDeviceGetCommandQueueGroupProperties": (H, POINTER(U32), POINTER(QueueGroupProperties)),
    "zeDeviceGetP2PProperties": (H, H, POINTER(P2PProperties)),
    "zeDeviceCanAccessPeer": (H, H, POINTER(c_uint8)),
    "zeDeviceGetStatus": (H,),
    "zeDevicePciGetPropertiesExt": (H, POINTER(PciProperties)),
    "zeContextCreate": (H, POINTER(ContextDesc), _HANDLES),
    "zeContextDestroy": (H,),
    "zeContextMakeMemoryResident": (H, H, H, c_size_t),
    "zeContextEvictMemory": (H, H, H, c_size_t),
    "zeMemAllocDevice": (H, POINTER(DeviceMemDesc), c_size_t, c_size_t, H, _HANDLES),
    "zeMemAllocHost": (H, POINTER(HostMemDesc), c_size_t, c_size_t, _HANDLES),
    "zeMemAllocShared": (H, POINTER(DeviceMemDesc), POINTER(HostMemDesc), c_size_t, c_size_t, H, _HANDLES),
    "zeMemFree": (H, H),
    "zeMemGetAddressRange": (H, H, _HANDLES, POINTER(c_size_t)),
    "zeMemGetAllocProperties": (H, H, POINTER(AllocationProperties), _HANDLES),
    "zeMemGetIpcHandle": (H, H, POINTER(IpcHandle)),
    "zeMemPutIpcHandle": (H, IpcHandle),
    "zeMemOpenIpcHandle": (H, H, IpcHandle, U32, _HANDLES),
    "zeMemCloseIpcHandle": (H, H),
    "zeCommandQueueCreate": (H, H, POINTER(QueueDesc), _HANDLES),
    "zeCommandQueueDestroy": (H,),
    "zeCommandQueueExecuteCommandLists": (H, U32, _HANDLES, H),
    "zeCommandQueueSynchronize": (H, U64),
    "zeFenceCreate": (H, POINTER(FenceDesc), _HANDLES),
    "zeFenceDestroy": (H,),
    "zeFenceHostSynchronize": (H, U64),
    "zeFenceQueryStatus": (H,),
    "zeFenceReset": (H,),
    "zeCommandListCreate": (H, H, POINTER(ListDesc), _HANDLES),
    "zeCommandListCreateImmediate": (H, H, POINTER(QueueDesc), _HANDLES),
    "zeCommandListClose": (H,),
    "zeCommandListReset": (H,),
    "zeCommandListDestroy": (H,),
    "zeCommandListHostSynchronize": (H, U64),
    "zeCommandListAppendMemoryCopy": (H, H, H, c_size_t, *_WAIT),
    "zeCommandListAppendMemoryFill": (H, H, H, c_size_t, c_size_t, *_WAIT),
    "zeCommandListAppendBarrier": (H, *_WAIT),
    "zeCommandListAppendLaunchKernel": (H, H, POINTER(GroupCount), *_WAIT),
    "zeCommandListAppendSignalEvent": (H, H),
    "zeCommandListAppendWaitOnEvents": (H, U32, _HANDLES),
    "zeCommandListAppendEventReset": (H, H),
    "zeEventPoolCreate": (H, POINTER(EventPoolDesc), U32, _HANDLES, _HANDLES),
    "zeEventPoolDestroy": (H,),
    "zeEventCreate": (H, POINTER(EventDesc), _HANDLES),
    "zeEventDestroy": (H,),
    "zeEventHostSignal": (H,),
    "zeEventHostSynchronize": (H, U64),
    "zeEventQueryStatus": (H,),
    "zeEventHostReset": (H,),
    "zeEventQueryKernelTimestamp": (H, POINTER(TimestampResult)),
    "zeModuleCreate": (H, H, POINTER(ModuleDesc), _HANDLES, _HANDLES),
    "zeModuleDestroy": (H,),
    "zeModuleBuildLogGetString": (H, POINTER(c_size_t), c_char_p),
    "zeModuleBuildLogDestroy": (H,),
    "zeModuleGetKernelNames": (H, POINTER(U32), POINTER(c_char_p)),
    "zeKernelCreate": (H, POINTER(KernelDesc), _HANDLES),
    "zeKernelDestroy": (H,),
    "zeKernelGetProperties": (H, POINTER(KernelProperties)),
    "zeKernelSetArgumentValue": (H, U32, c_size_t, H),
    "zeKernelSetGroupSize": (H, U32, U32, U32),
    "zeKernelSuggestGroupSize": (H, U32, U32, U32, *[POINTER(U32)] * 3),
    "zelLoaderTranslateHandle": (U32, H, _HANDLES),
}

EXTENSIONS: dict[str, tuple[Any, ...]] = {
    "zexMemGetIpcHandles": (H, H, POINTER(U32), POINTER(IpcHandle)),
    "zexMemOpenIpcHandles": (H, H, U32, POINTER(IpcHandle), U32, _HANDLES),
    "zexDriverCalls": (POINTER(U64),),
}
"""Functions of drivers that the loader does not export."""


def result_name(code: int) -> str:
    """Return the symbolic name of a ``ze_result_t``."""
    return RESULTS.get(code, "unknown result")


_device = ""


def name_in_errors(device: str) -> None:
    """Set the description of the device of this process, and its driver, for the errors of all later calls."""
    global _device
    _device = device


def failure(call: str, code: int, details: str = "") -> LevelZeroError:
    """Return the error of a call that has returned ``code``."""
    unsigned = code & 0xFFFFFFFF
    return LevelZeroError(call, unsigned, result_name(unsigned), details, _device)


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise failure(f"dlopen of {LIBRARY} ({error})", 0x78000001) from None


def _find(name: str) -> Any:
    """Return a function of the loader, or None; one missing in an old loader is looked up globally, as SYCL does."""
    return getattr(_library(), name, None) or getattr(ctypes.CDLL(None), name, None)


def function_address(name: str) -> int:
    """Return the address of a function of the driver; 0 if it has none of this name."""
    return ctypes.cast(_find(name), c_void_p).value or 0 if _find(name) else 0


@functools.cache
def _bind(name: str) -> Callable[..., int]:
    function = _find(name)
    if not function:
        raise failure(name, UNSUPPORTED_FEATURE)

    def check(code: int, _function: Any, _arguments: Any) -> int:
        if code not in (SUCCESS, NOT_READY):
            raise failure(name, code)
        return code

    function.argtypes = CALLS[name]
    function.restype = c_int32
    function.errcheck = check
    bound: Callable[..., int] = function
    return bound


def __getattr__(name: str) -> Callable[..., int]:
    if name not in CALLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _bind(name)  # __getattr__ is not called for it again
    return function


@functools.cache
def extension(name: str) -> Callable[..., None] | None:
    """Return a function of ``EXTENSIONS`` from the first driver that has it, or None.

    It belongs to the driver, not to the loader: translate the handles passed to it with `native`.
    """
    for driver in drivers():
        address = c_void_p()
        try:
            _bind("zeDriverGetExtensionFunctionAddress")(driver, name.encode(), byref(address))
        except LevelZeroError:
            continue
        function = ctypes.CFUNCTYPE(c_int32, *EXTENSIONS[name])(address.value or 0)
        return functools.partial(_check, name, function)
    return None


def driver_calls() -> int | None:
    """Return the number of this process's calls that a driver counts: not those that wait or ask; None: none counts."""
    count, counts = U64(), extension("zexDriverCalls")
    if counts is None:
        return None
    counts(byref(count))
    return count.value


def _check(name: str, function: Callable[..., int], *arguments: Any) -> None:
    code = function(*arguments)
    if code != SUCCESS:
        raise failure(name, code)


def native(kind: int, handle: int) -> int:
    """Return the driver's own handle; the loader wraps handles when there are several drivers, or when asked to."""
    out = c_void_p(handle)
    if available("zelLoaderTranslateHandle"):
        _bind("zelLoaderTranslateHandle")(kind, handle, byref(out))
    return out.value or 0


def address_of(name: str) -> int:
    """Return the address of a function, for compiled code."""
    return ctypes.cast(_find(name), c_void_p).value or 0


def available(name: str) -> bool:
    """Return whether the loaded library has a function: older loaders lack some."""
    return bool(_find(name))


_T = TypeVar("_T", bound=Tagged)


def _handle(name: str, *arguments: Any) -> int:
    """Call a function whose last parameter receives a handle or an address."""
    out = c_void_p()
    _bind(name)(*arguments, byref(out))
    return out.value or 0


def _handles(name: str, *arguments: Any) -> list[int]:
    count = U32()
    _bind(name)(*arguments, byref(count), None)
    found = (c_void_p * count.value)()
    _bind(name)(*arguments, byref(count), found)
    return [handle for handle in found[: count.value] if handle]


def _properties(name: str, kind: type[_T], *arguments: Any) -> _T:
    properties = kind()
    _bind(name)(*arguments, byref(properties))
    return properties


def _property_list(name: str, kind: type[_T], *arguments: Any) -> list[_T]:
    count = U32()
    _bind(name)(*arguments, byref(count), None)
    found = (kind * count.value)(*(kind() for _ in range(count.value)))
    _bind(name)(*arguments, byref(count), found)
    return list(found[: count.value])


def _array(handles: Sequence[int]) -> Any:
    return (c_void_p * len(handles))(*handles) if handles else None


# ---- drivers and devices


def drivers() -> list[int]:
    """Return the handles of the drivers of GPUs; initialises Level Zero."""
    _bind("zeInit")(INIT_GPU_ONLY)
    return _handles("zeDriverGet")


def devices(driver: int) -> list[int]:
    """Return the handles of a driver's devices."""
    return _handles("zeDeviceGet", driver)


def gpus() -> list[int]:
    """Return the handles of the GPUs of all drivers: other parts of the process may have asked for NPUs, too."""
    found = (device for driver in drivers() for device in devices(driver))
    return [device for device in found if device_properties(device).type == DEVICE_TYPE_GPU]


def sub_devices(device: int) -> list[int]:
    """Return the handles of a device's tiles; none for a tile or a device of one tile."""
    return _handles("zeDeviceGetSubDevices", device)


def api_version(driver: int) -> tuple[int, int]:
    """Return the version of the Level Zero API that a driver supports, such as (1, 3)."""
    version = U32()
    _bind("zeDriverGetApiVersion")(driver, byref(version))
    return version.value >> 16, version.value & 0xFFFF


def driver_properties(driver: int) -> DriverProperties:
    """Return uuid and version of a driver."""
    return _properties("zeDriverGetProperties", DriverProperties, driver)


def driver_version(number: int) -> str:
    """Write the version of a driver, ``driverVersion`` of its properties."""
    return f"{number >> 24}.{number >> 16 & 255}.{number & 65535}"


def driver_ipc_properties(driver: int) -> DriverIpcProperties:
    """Return what a driver can share among processes, as ``IPC_*`` flags."""
    return _properties("zeDriverGetIpcProperties", DriverIpcProperties, driver)


def device_properties(device: int) -> DeviceProperties:
    """Return type, flags, name, uuid and sizes of a device."""
    return _properties("zeDeviceGetProperties", DeviceProperties, device)


def pci_address(device: int) -> str:
    """Return the PCI address of a device, as ``/sys/bus/pci/devices`` names it.

    Raises:
        LevelZeroError: The driver does not tell.
    """
    if not available("zeDevicePciGetPropertiesExt"):
        raise failure("zeDevicePciGetPropertiesExt", UNSUPPORTED_FEATURE)
    found = _properties("zeDevicePciGetPropertiesExt", PciProperties, device)
    return f"{found.domain:04x}:{found.bus:02x}:{found.device:02x}.{found.function:x}"


def xe_cores(device: int) -> int:
    """Return the number of Xe cores of a device."""
    properties = device_properties(device)
    return int(properties.numSlices * properties.numSubslicesPerSlice)


def compute_properties(device: int) -> ComputeProperties:
    """Return a device's limits on work-groups."""
    return _properties("zeDeviceGetComputeProperties", ComputeProperties, device)


def memory_properties(device: int) -> list[MemoryProperties]:
    """Return the properties of each memory of a device."""
    return _property_list("zeDeviceGetMemoryProperties", MemoryProperties, device)


def memory_access_properties(device: int) -> MemoryAccessProperties:
    """Return how a device may access each kind of memory."""
    return _properties("zeDeviceGetMemoryAccessProperties", MemoryAccessProperties, device)


def queue_groups(device: int) -> list[QueueGroupProperties]:
    """Return the properties of each group of command queues; the index is the ordinal."""
    return _property_list("zeDeviceGetCommandQueueGroupProperties", QueueGroupProperties, device)


def compute_group(device: int) -> int:
    """Return the ordinal of the first queue group that runs kernels."""
    return next((i for i, group in enumerate(queue_groups(device)) if group.flags & QUEUE_COMPUTE), 0)


def copy_group(device: int) -> int | None:
    """Return the ordinal of a queue group that copies while kernels run; None where there is none."""
    groups = queue_groups(device)
    return next((i for i, group in enumerate(groups) if not group.flags & QUEUE_COMPUTE), None)


def p2p_properties(device: int, peer: int) -> P2PProperties:
    """Return how a device may access the memory of another: the ``P2P_*`` flags."""
    return _properties("zeDeviceGetP2PProperties", P2PProperties, device, peer)


def can_access_peer(device: int, peer: int) -> bool:
    """Return whether a device can access the memory of another."""
    answer = c_uint8()
    _bind("zeDeviceCanAccessPeer")(device, peer, byref(answer))
    return bool(answer.value)


# ---- contexts and memory


def create_context(driver: int) -> int:
    """Return a new context; destroy it with ``zeContextDestroy``."""
    return _handle("zeContextCreate", driver, byref(ContextDesc()))


def alloc_device(context: int, device: int, size: int, alignment: int = 64) -> int:
    """Return the address of new device memory; free it with ``zeMemFree``."""
    return _handle("zeMemAllocDevice", context, byref(DeviceMemDesc()), size, alignment, device)


def alloc_host(context: int, size: int, alignment: int = 64) -> int:
    """Return the address of new host memory that devices can access; free it with ``zeMemFree``."""
    return _handle("zeMemAllocHost", context, byref(HostMemDesc()), size, alignment)


def alloc_shared(context: int, device: int, size: int, alignment: int = 64) -> int:
    """Return the address of new shared memory; free it with ``zeMemFree``."""
    desc = (byref(DeviceMemDesc()), byref(HostMemDesc()))
    return _handle("zeMemAllocShared", context, *desc, size, alignment, device)


def address_range(context: int, pointer: int) -> tuple[int, int]:
    """Return base and size of the allocation that an address belongs to."""
    base, size = c_void_p(), c_size_t()
    _bind("zeMemGetAddressRange")(context, pointer, byref(base), byref(size))
    return base.value or 0, size.value


def alloc_properties(context: int, pointer: int) -> tuple[AllocationProperties, int]:
    """Return the properties and the device (0: none) of the allocation that an address belongs to."""
    properties, device = AllocationProperties(), c_void_p()
    _bind("zeMemGetAllocProperties")(context, pointer, byref(properties), byref(device))
    return properties, device.value or 0


def get_ipc_handle(context: int, pointer: int) -> bytes:
    """Return the 64-byte IPC handle of an allocation; ``pointer`` is its base address."""
    handle = IpcHandle()
    _bind("zeMemGetIpcHandle")(context, pointer, byref(handle))
    return bytes(handle.data)


def get_ipc_handles(context: int, pointer: int) -> list[bytes]:
    """Return the IPC handles of all parts of an allocation, one per tile it spans; ``pointer`` is its base."""
    call, count = extension("zexMemGetIpcHandles"), U32()
    if call is not None:
        call(native(CONTEXT, context), pointer, byref(count), None)
    if call is None or count.value < 2:
        return [get_ipc_handle(context, pointer)]
    found = (IpcHandle * count.value)()
    call(native(CONTEXT, context), pointer, byref(count), found)
    return [bytes(handle.data) for handle in found]


def put_ipc_handle(context: int, handle: bytes) -> None:
    """Release a handle of ``get_ipc_handle``; no peer can open it afterwards."""
    _bind("zeMemPutIpcHandle")(context, IpcHandle.from_buffer_copy(handle))


def open_ipc_handle(context: int, device: int, handle: bytes) -> int:
    """Return the address of another process's memory; close it with ``zeMemCloseIpcHandle``."""
    return _handle("zeMemOpenIpcHandle", context, device, IpcHandle.from_buffer_copy(handle), 0)


def open_ipc_handles(context: int, device: int, handles: Sequence[bytes]) -> int:
    """Return the address of another process's memory of one or more parts; close it as for `open_ipc_handle`."""
    if len(handles) == 1:
        return open_ipc_handle(context, device, handles[0])
    call = extension("zexMemOpenIpcHandles")
    if call is None:
        raise failure("zexMemOpenIpcHandles", UNSUPPORTED_FEATURE)
    parts, out = (IpcHandle * len(handles))(*map(IpcHandle.from_buffer_copy, handles)), c_void_p()
    call(native(CONTEXT, context), native(DEVICE, device), len(handles), parts, 0, byref(out))
    return out.value or 0


# ---- queues, lists, fences and events


def create_queue(context: int, device: int, ordinal: int = 0, mode: int = MODE_DEFAULT) -> int:
    """Return a new command queue; destroy it with ``zeCommandQueueDestroy``."""
    return _handle("zeCommandQueueCreate", context, device, byref(QueueDesc(ordinal=ordinal, mode=mode)))


def create_list(context: int, device: int, ordinal: int = 0) -> int:
    """Return a new regular command list; destroy it with ``zeCommandListDestroy``."""
    return _handle("zeCommandListCreate", context, device, byref(ListDesc(commandQueueGroupOrdinal=ordinal)))


def create_immediate(context: int, device: int, ordinal: int = 0, mode: int = MODE_SYNCHRONOUS) -> int:
    """Return a new immediate command list, by default a synchronous one, in which each append blocks."""
    desc = QueueDesc(ordinal=ordinal, mode=mode)
    return _handle("zeCommandListCreateImmediate", context, device, byref(desc))


def execute(queue: int, lists: Sequence[int], fence: int | None = None) -> None:
    """Submit closed command lists to a queue."""
    _bind("zeCommandQueueExecuteCommandLists")(queue, len(lists), _array(lists), fence)


def append_copy(
    clist: int, dest: int, source: int, size: int, signal: int | None = None, waits: Sequence[int] = ()
) -> None:
    """Append a copy of ``size`` bytes between host or device memory."""
    call = _bind("zeCommandListAppendMemoryCopy")
    call(clist, dest, source, size, signal, len(waits), _array(waits))


def append_fill(
    clist: int, dest: int, pattern: bytes, size: int, signal: int | None = None, waits: Sequence[int] = ()
) -> None:
    """Append a fill of ``size`` bytes with a pattern, whose length is a power of two."""
    value = ctypes.create_string_buffer(pattern, len(pattern))
    call = _bind("zeCommandListAppendMemoryFill")
    call(clist, dest, ctypes.addressof(value), len(pattern), size, signal, len(waits), _array(waits))


def append_barrier(clist: int, signal: int | None = None, waits: Sequence[int] = ()) -> None:
    """Append a barrier: later commands start after all earlier ones have completed."""
    _bind("zeCommandListAppendBarrier")(clist, signal, len(waits), _array(waits))


def append_launch(
    clist: int,
    kernel: int,
    groups: tuple[int, int, int],
    signal: int | None = None,
    waits: Sequence[int] = (),
) -> None:
    """Append the launch of a kernel over a 3-D range of work-groups."""
    call = _bind("zeCommandListAppendLaunchKernel")
    call(clist, kernel, byref(GroupCount(*groups)), signal, len(waits), _array(waits))


def create_fence(queue: int) -> int:
    """Return a new fence of a queue; destroy it with ``zeFenceDestroy``."""
    return _handle("zeFenceCreate", queue, byref(FenceDesc()))


def create_event_pool(context: int, count: int, flags: int = EVENT_POOL_HOST_VISIBLE) -> int:
    """Return a new pool of events for all devices; destroy it with ``zeEventPoolDestroy``."""
    return _handle("zeEventPoolCreate", context, byref(EventPoolDesc(flags=flags, count=count)), 0, None)


def create_event(pool: int, index: int) -> int:
    """Return a new event of a pool, visible to the host; destroy it with ``zeEventDestroy``."""
    return _handle("zeEventCreate", pool, byref(EventDesc(index=index, signal=SCOPE_HOST, wait=SCOPE_HOST)))


# ---- modules and kernels


def build_log(log: int) -> str:
    """Return the text of a build log and destroy the log."""
    size = c_size_t()
    _bind("zeModuleBuildLogGetString")(log, byref(size), None)
    text = ctypes.create_string_buffer(max(size.value, 1))
    _bind("zeModuleBuildLogGetString")(log, byref(size), text)
    _bind("zeModuleBuildLogDestroy")(log)
    return text.value.decode(errors="replace")


def create_module(context: int, device: int, spirv: bytes, flags: str = "") -> int:
    """Return a module built from SPIR-V; destroy it with ``zeModuleDestroy``.

    Raises:
        LevelZeroError: The build failed; the message ends with the build log.
    """
    desc = ModuleDesc(format=MODULE_SPIRV, inputSize=len(spirv), pInputModule=spirv, pBuildFlags=flags.encode())
    module, log = c_void_p(), c_void_p()
    try:
        _bind("zeModuleCreate")(context, device, byref(desc), byref(module), byref(log))
    except LevelZeroError as error:
        # A loader that wraps handles does not wrap the log's and would crash on it; a validation layer refuses it.
        with contextlib.suppress(LevelZeroError):
            if log.value and native(DEVICE, device) == device:
                error.args = (f"{error.args[0]}\n{build_log(log.value)}",)
        raise
    if log.value:
        _bind("zeModuleBuildLogDestroy")(log)
    return module.value or 0


def kernel_names(module: int) -> list[str]:
    """Return the names of a module's kernels."""
    count = U32()
    _bind("zeModuleGetKernelNames")(module, byref(count), None)
    names = (c_char_p * count.value)()
    _bind("zeModuleGetKernelNames")(module, byref(count), names)
    return [name.decode() for name in names[: count.value] if name]


def create_kernel(module: int, name: str) -> int:
    """Return a kernel of a module; destroy it with ``zeKernelDestroy``."""
    return _handle("zeKernelCreate", module, byref(KernelDesc(pKernelName=name.encode())))


def kernel_properties(kernel: int) -> KernelProperties:
    """Return number of arguments and sizes of a kernel."""
    return _properties("zeKernelGetProperties", KernelProperties, kernel)


def set_argument(kernel: int, index: int, value: Any) -> None:
    """Set an argument: a ctypes value, an address as int, or for local memory ``(size,)``."""
    call = _bind("zeKernelSetArgumentValue")
    if isinstance(value, tuple):
        call(kernel, index, value[0], None)
        return
    if isinstance(value, int):
        value = c_void_p(value)
    call(kernel, index, ctypes.sizeof(value), ctypes.addressof(value))
