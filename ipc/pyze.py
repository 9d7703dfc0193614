"""A ctypes binding of the Level Zero calls that ishmem uses.

Every call is an attribute of this module under its C name, such as ``zeInit``. Its arguments are those of C, with
handles and addresses as ints. It returns the ``ze_result_t`` if this is ``SUCCESS`` or ``NOT_READY``; any other result
raises ``LevelZeroError``. Structures, such as ``ze_event_desc_t``, are attributes, too; they are defined in
``level_zero.h``, which the simulator also includes. The functions below wrap the calls that have out-parameters. The
library is loaded at the first call, so that ``import ishmem`` can choose the driver before.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import re
from collections.abc import Iterator, Sequence
from ctypes import (
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
from pathlib import Path
from typing import Any, Callable

from ishmem.common.errors import LevelZeroError

LIBRARY = "libze_loader.so.1"
IPC_HANDLE_SIZE = 64
FOREVER = 2**64 - 1

_TEXT = Path(__file__).with_name("level_zero.h").read_text()
_NUMBERS = {
    name: int(number, 0) << int(shift or "0")
    for name, number, shift in re.findall(r"\b(ZE_\w+) = (\w+)(?: << (\d+))?", _TEXT)
}


def _numbers(prefix: str, names: str) -> list[int]:
    return [_NUMBERS[f"ZE_{prefix}_{name}"] for name in names.split()]


SUCCESS, NOT_READY, INVALID_ARGUMENT, UNSUPPORTED_FEATURE = _numbers(
    "RESULT", "SUCCESS NOT_READY ERROR_INVALID_ARGUMENT ERROR_UNSUPPORTED_FEATURE"
)
(INIT_GPU_ONLY,) = _numbers("INIT_FLAG", "GPU_ONLY")
(DEVICE_TYPE_GPU,) = _numbers("DEVICE_TYPE", "GPU")
DEVICE_INTEGRATED, DEVICE_SUBDEVICE = _numbers("DEVICE_PROPERTY_FLAG", "INTEGRATED SUBDEVICE")
(IPC_MEMORY,) = _numbers("IPC_PROPERTY_FLAG", "MEMORY")
ACCESS_RW, ACCESS_CONCURRENT_ATOMIC = _numbers("MEMORY_ACCESS_CAP_FLAG", "RW CONCURRENT_ATOMIC")
P2P_ACCESS, P2P_ATOMICS = _numbers("DEVICE_P2P_PROPERTY_FLAG", "ACCESS ATOMICS")
MEMORY_UNKNOWN, MEMORY_HOST, MEMORY_DEVICE, MEMORY_SHARED = _numbers("MEMORY_TYPE", "UNKNOWN HOST DEVICE SHARED")
(QUEUE_COMPUTE,) = _numbers("COMMAND_QUEUE_GROUP_PROPERTY_FLAG", "COMPUTE")
MODE_DEFAULT, MODE_SYNCHRONOUS, MODE_ASYNCHRONOUS = _numbers("COMMAND_QUEUE_MODE", "DEFAULT SYNCHRONOUS ASYNCHRONOUS")
(EVENT_POOL_HOST_VISIBLE,) = _numbers("EVENT_POOL_FLAG", "HOST_VISIBLE")
(SCOPE_HOST,) = _numbers("EVENT_SCOPE_FLAG", "HOST")
(MODULE_SPIRV,) = _numbers("MODULE_FORMAT", "IL_SPIRV")
DEVICE, CONTEXT = 1, 2  # kinds of handles of the loader


class Tagged(Structure):
    """A Level Zero structure with the common header, whose ``stype`` is set by the constructor."""

    STYPE = 0
    _fields_ = [("stype", U32), ("pNext", c_void_p)]

    def __init__(self, **fields: Any) -> None:
        """Set the given fields; other fields are zero."""
        super().__init__(stype=self.STYPE, **fields)


_PLAIN = {
    "char": c_char, "uint8_t": c_uint8, "int32_t": c_int32, "uint32_t": U32, "int64_t": c_int64, "uint64_t": U64,
    "size_t": c_size_t,
}  # fmt: skip


@functools.cache
def structure(name: str) -> type[Structure]:
    """Return the ctypes class of a structure of ``level_zero.h`` by its C name; ``AttributeError`` if there is none."""
    found = re.search(rf"^struct {name}( : ze_tagged_t)? {{(.*?)}};", _TEXT, re.MULTILINE | re.DOTALL)
    if found is None:
        raise AttributeError(f"level_zero.h has no structure {name!r}")
    tag = _NUMBERS.get(f"ZE_STRUCTURE_TYPE_{name[3:-2].upper()}", 0)
    return type(name, (Tagged if found[1] else Structure,), {"STYPE": tag, "_fields_": list(_fields(found[2]))})


def _fields(text: str) -> Iterator[tuple[str, Any]]:
    """Yield name and ctypes type of each member in the C declarations of a structure."""
    for inner, name, kind, members in re.findall(r"struct {(.*?)} (\w+);|(?:const )?(\w+) ([^;{]+);", text, re.DOTALL):
        if name:
            yield name, type(name, (Structure,), {"_fields_": list(_fields(inner))})
        for stars, member, count in re.findall(r"(\**)(\w+)(?:\[(\d+)\])?", members):
            base = _type(kind, stars)
            yield member, base * int(count) if count else base


def _type(kind: str, stars: str) -> Any:
    if stars:
        return c_char_p if stars == "*" and kind in ("char", "uint8_t") else c_void_p
    return _PLAIN.get(kind) or (structure(kind) if f"struct {kind} " in _TEXT else U32)


def result_name(code: int) -> str:
    """Return the symbolic name of ``code``, a ``ze_result_t``, or ``unknown result``."""
    return next((name for name, value in _NUMBERS.items() if value == code and "_RESULT_" in name), "unknown result")


_device = ""


def name_in_errors(device: str) -> None:
    """Set the description of this process's device and driver that every later ``LevelZeroError`` contains."""
    global _device
    _device = device


def failure(call: str, code: int, details: str = "") -> LevelZeroError:
    """Return, not raise, the error of ``call`` that has returned ``code``; the message contains ``details``."""
    unsigned = code & 0xFFFFFFFF
    return LevelZeroError(call, unsigned, result_name(unsigned), details, _device)


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise failure(f"dlopen of {LIBRARY} ({error})", 0x78000001) from None


def _find(name: str) -> Any:
    """Return a function of the loader or, if an old loader lacks it, of any loaded library; None if there is none."""
    return getattr(_library(), name, None) or getattr(ctypes.CDLL(None), name, None)


def function_address(name: str) -> int:
    """Return the address of a function of the loader or driver, or 0 if there is none of this name."""
    return ctypes.cast(_find(name), c_void_p).value or 0  # of None: None


@functools.cache
def _bind(name: str) -> Callable[..., int]:
    function = _find(name)
    if not function:
        raise failure(name, UNSUPPORTED_FEATURE)

    def check(code: int, _function: Any, _arguments: Any) -> int:
        if code not in (SUCCESS, NOT_READY):
            raise failure(name, code)
        return code

    def call(*arguments: Any) -> int:
        if function.argtypes is None:
            function.argtypes = _registers(arguments)
        code: int = function(*arguments)
        return code

    function.errcheck = check
    return call


def _registers(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """Return ctypes types for arguments: structures as such, all integers and addresses as ``void *``."""
    return tuple(type(argument) if isinstance(argument, Structure) else c_void_p for argument in arguments)


def __getattr__(name: str) -> Any:
    if name.startswith("ze_"):
        return structure(name)
    if not name.startswith("ze"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    function = globals()[name] = _bind(name)  # __getattr__ is not called for it again
    return function


@functools.cache
def extension(name: str) -> Callable[..., None] | None:
    """Return an extension function of the first driver that has it, or None; the loader does not export it.

    It raises ``LevelZeroError``. Its handles are those of the driver, not of the loader: convert them by `native`.
    """
    for driver in drivers():
        address = c_void_p()
        try:
            _bind("zeDriverGetExtensionFunctionAddress")(driver, name.encode(), byref(address))
        except LevelZeroError:
            continue
        return functools.partial(_check, name, address.value or 0)
    return None


def driver_calls() -> int | None:
    """Return the driver's count of this process's calls, without waits and queries; None if no driver counts."""
    count, counts = U64(), extension("zexDriverCalls")
    if counts is None:
        return None
    counts(byref(count))
    return count.value


def _check(name: str, address: int, *arguments: Any) -> None:
    code = ctypes.CFUNCTYPE(c_int32, *_registers(arguments))(address)(*arguments)
    if code != SUCCESS:
        raise failure(name, code)


def native(kind: int, handle: int) -> int:
    """Return the driver's handle for one of the loader, of kind `DEVICE` or `CONTEXT`; the loader may wrap handles."""
    out = c_void_p(handle)
    if available("zelLoaderTranslateHandle"):
        _bind("zelLoaderTranslateHandle")(kind, handle, byref(out))
    return out.value or 0


def available(name: str) -> bool:
    """Return whether the loaded library has the function ``name``; older loaders lack some."""
    return bool(_find(name))


def _desc(kind: str, **fields: Any) -> Any:
    """Return a reference to a new ``ze_<kind>_desc_t`` with the given fields."""
    return byref(structure(f"ze_{kind}_desc_t")(**fields))


def _ipc_handle() -> type[Structure]:
    return structure("ze_ipc_mem_handle_t")


def _handle(name: str, *arguments: Any) -> int:
    """Call a function whose last parameter is an out-parameter; return the handle or address from it."""
    out = c_void_p()
    _bind(name)(*arguments, byref(out))
    return out.value or 0


def _handles(name: str, *arguments: Any) -> list[int]:
    count = U32()
    _bind(name)(*arguments, byref(count), None)
    found = (c_void_p * count.value)()
    _bind(name)(*arguments, byref(count), found)
    return [handle for handle in found[: count.value] if handle]


def _properties(name: str, kind: str, *arguments: Any) -> Structure:
    properties = structure(kind)()
    _bind(name)(*arguments, byref(properties))
    return properties


def _property_list(name: str, kind: str, *arguments: Any) -> list[Structure]:
    made = structure(kind)
    count = U32()
    _bind(name)(*arguments, byref(count), None)
    found = (made * count.value)(*(made() for _ in range(count.value)))
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
    """Return the handles of the GPUs of all drivers, without NPUs, which other parts of the process may initialise."""
    found = (device for driver in drivers() for device in devices(driver))
    return [device for device in found if device_properties(device).type == DEVICE_TYPE_GPU]


def api_version(driver: int) -> tuple[int, int]:
    """Return the version of the Level Zero API that a driver supports, such as (1, 3)."""
    version = U32()
    _bind("zeDriverGetApiVersion")(driver, byref(version))
    return version.value >> 16, version.value & 0xFFFF


def driver_properties(driver: int) -> Structure:
    """Return the ``ze_driver_properties_t`` of a driver: uuid and version."""
    return _properties("zeDriverGetProperties", "ze_driver_properties_t", driver)


def driver_version(number: int) -> str:
    """Return a driver's version as text, such as ``1.3.27642``, for ``driverVersion`` of its properties."""
    return f"{number >> 24}.{number >> 16 & 255}.{number & 65535}"


def driver_ipc_properties(driver: int) -> Structure:
    """Return the IPC properties of a driver; its ``flags`` are the objects that processes can share, ``IPC_*``."""
    return _properties("zeDriverGetIpcProperties", "ze_driver_ipc_properties_t", driver)


def device_properties(device: int) -> Structure:
    """Return the ``ze_device_properties_t`` of a device: type, flags, name, uuid and sizes."""
    return _properties("zeDeviceGetProperties", "ze_device_properties_t", device)


def pci_address(device: int) -> str:
    """Return the PCI address of a device, as in ``/sys/bus/pci/devices``, such as ``0000:03:00.0``.

    Raises:
        LevelZeroError: The driver does not report it.
    """
    if not available("zeDevicePciGetPropertiesExt"):
        raise failure("zeDevicePciGetPropertiesExt", UNSUPPORTED_FEATURE)
    found = _properties("zeDevicePciGetPropertiesExt", "ze_pci_ext_properties_t", device)
    at = found.address
    return f"{at.domain:04x}:{at.bus:02x}:{at.device:02x}.{at.function:x}"


def xe_cores(device: int) -> int:
    """Return the number of Xe cores of a device."""
    properties = device_properties(device)
    return int(properties.numSlices * properties.numSubslicesPerSlice)


def memory_properties(device: int) -> list[Structure]:
    """Return the ``ze_device_memory_properties_t`` of each memory of a device."""
    return _property_list("zeDeviceGetMemoryProperties", "ze_device_memory_properties_t", device)


def memory_access_properties(device: int) -> Structure:
    """Return the access capabilities of a device for each kind of memory, as ``ACCESS_*`` flags."""
    return _properties("zeDeviceGetMemoryAccessProperties", "ze_device_memory_access_properties_t", device)


def queue_groups(device: int) -> list[Structure]:
    """Return the properties of each queue group of a device; the index in the list is the group's ordinal."""
    return _property_list("zeDeviceGetCommandQueueGroupProperties", "ze_command_queue_group_properties_t", device)


def compute_group(device: int) -> int:
    """Return the ordinal of the first queue group that runs kernels; 0 if there is none."""
    return next((i for i, group in enumerate(queue_groups(device)) if group.flags & QUEUE_COMPUTE), 0)


def copy_group(device: int) -> int | None:
    """Return the ordinal of the first queue group for copies only; None if there is none."""
    groups = queue_groups(device)
    return next((i for i, group in enumerate(groups) if not group.flags & QUEUE_COMPUTE), None)


def p2p_properties(device: int, peer: int) -> Structure:
    """Return the properties of a device's access to the memory of ``peer``, with ``P2P_*`` flags."""
    return _properties("zeDeviceGetP2PProperties", "ze_device_p2p_properties_t", device, peer)


def can_access_peer(device: int, peer: int) -> bool:
    """Return whether a device can access the memory of ``peer``."""
    answer = c_uint8()
    _bind("zeDeviceCanAccessPeer")(device, peer, byref(answer))
    return bool(answer.value)


# ---- contexts and memory


def alloc_host(context: int, size: int, alignment: int = 64) -> int:
    """Return the address of ``size`` bytes of new host memory, aligned, for devices; free it with ``zeMemFree``."""
    return _handle("zeMemAllocHost", context, _desc("host_mem_alloc"), size, alignment)


def address_range(context: int, pointer: int) -> tuple[int, int]:
    """Return base address and size in bytes of the allocation that contains an address."""
    base, size = c_void_p(), c_size_t()
    _bind("zeMemGetAddressRange")(context, pointer, byref(base), byref(size))
    return base.value or 0, size.value


def alloc_properties(context: int, pointer: int) -> tuple[Structure, int]:
    """Return the properties of the allocation that contains an address, and the handle of its device, 0 for none."""
    properties, device = structure("ze_memory_allocation_properties_t")(), c_void_p()
    _bind("zeMemGetAllocProperties")(context, pointer, byref(properties), byref(device))
    return properties, device.value or 0


def get_ipc_handle(context: int, pointer: int) -> bytes:
    """Return the 64-byte handle by which other processes open an allocation; ``pointer`` is its base address."""
    handle = _ipc_handle()()
    _bind("zeMemGetIpcHandle")(context, pointer, byref(handle))
    return bytes(handle)


def get_ipc_handles(context: int, pointer: int) -> list[bytes]:
    """Return the IPC handles of all parts of an allocation, one per tile it spans; ``pointer`` is its base."""
    call, count = extension("zexMemGetIpcHandles"), U32()
    if call is not None:
        call(native(CONTEXT, context), pointer, byref(count), None)
    if call is None or count.value < 2:
        return [get_ipc_handle(context, pointer)]
    found = (_ipc_handle() * count.value)()
    call(native(CONTEXT, context), pointer, byref(count), found)
    return [bytes(handle) for handle in found]


def put_ipc_handle(context: int, handle: bytes) -> None:
    """Release a handle of ``get_ipc_handle``; no peer can open it afterwards."""
    _bind("zeMemPutIpcHandle")(context, _ipc_handle().from_buffer_copy(handle))


def open_ipc_handle(context: int, device: int, handle: bytes) -> int:
    """Open another process's memory for a device and return its address; close it with ``zeMemCloseIpcHandle``."""
    return _handle("zeMemOpenIpcHandle", context, device, _ipc_handle().from_buffer_copy(handle), 0)


def open_ipc_handles(context: int, device: int, handles: Sequence[bytes]) -> int:
    """Open another process's memory, of a part for each handle, and return its address; close as `open_ipc_handle`."""
    if len(handles) == 1:
        return open_ipc_handle(context, device, handles[0])
    call = extension("zexMemOpenIpcHandles")
    if call is None:
        raise failure("zexMemOpenIpcHandles", UNSUPPORTED_FEATURE)
    parts, out = (_ipc_handle() * len(handles))(*map(_ipc_handle().from_buffer_copy, handles)), c_void_p()
    call(native(CONTEXT, context), native(DEVICE, device), len(handles), parts, 0, byref(out))
    return out.value or 0


# ---- queues, lists, fences and events


def create_queue(context: int, device: int, ordinal: int = 0, mode: int = MODE_DEFAULT) -> int:
    """Return a new command queue of group ``ordinal`` in a ``MODE_*``; destroy it with ``zeCommandQueueDestroy``."""
    return _handle("zeCommandQueueCreate", context, device, _desc("command_queue", ordinal=ordinal, mode=mode))


def create_list(context: int, device: int, ordinal: int = 0) -> int:
    """Return a new regular command list for the group ``ordinal``; destroy it with ``zeCommandListDestroy``."""
    return _handle("zeCommandListCreate", context, device, _desc("command_list", commandQueueGroupOrdinal=ordinal))


def create_immediate(context: int, device: int, ordinal: int = 0, mode: int = MODE_SYNCHRONOUS) -> int:
    """Return a new immediate command list of queue group ``ordinal``; by default each append to it blocks."""
    desc = _desc("command_queue", ordinal=ordinal, mode=mode)
    return _handle("zeCommandListCreateImmediate", context, device, desc)


def execute(queue: int, lists: Sequence[int], fence: int | None = None) -> None:
    """Submit closed command lists to a queue; ``fence`` is signalled when they have completed."""
    _bind("zeCommandQueueExecuteCommandLists")(queue, len(lists), _array(lists), fence)


def append_copy(
    clist: int, dest: int, source: int, size: int, signal: int | None = None, waits: Sequence[int] = ()
) -> None:
    """Append a copy of ``size`` bytes in host or device memory, after events ``waits``; it signals event ``signal``."""
    call = _bind("zeCommandListAppendMemoryCopy")
    call(clist, dest, source, size, signal, len(waits), _array(waits))


def append_barrier(clist: int, signal: int | None = None, waits: Sequence[int] = ()) -> None:
    """Append a barrier: later commands start after all earlier ones and the events ``waits``; it signals ``signal``."""
    _bind("zeCommandListAppendBarrier")(clist, signal, len(waits), _array(waits))


def append_launch(
    clist: int,
    kernel: int,
    groups: tuple[int, int, int],
    signal: int | None = None,
    waits: Sequence[int] = (),
) -> None:
    """Append the launch of a kernel over ``groups`` work-groups by axis, after ``waits``; it signals ``signal``."""
    call = _bind("zeCommandListAppendLaunchKernel")
    call(clist, kernel, byref(structure("ze_group_count_t")(*groups)), signal, len(waits), _array(waits))


def create_event_pool(context: int, count: int, flags: int = EVENT_POOL_HOST_VISIBLE) -> int:
    """Return a new pool of ``count`` events for all devices; destroy it with ``zeEventPoolDestroy``."""
    return _handle("zeEventPoolCreate", context, _desc("event_pool", flags=flags, count=count), 0, None)


def create_event(pool: int, index: int) -> int:
    """Return a new event, visible to the host, at place ``index`` of a pool; destroy it with ``zeEventDestroy``."""
    return _handle("zeEventCreate", pool, _desc("event", index=index, signal=SCOPE_HOST, wait=SCOPE_HOST))


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
    """Return a module built from SPIR-V with compiler options ``flags``; destroy it with ``zeModuleDestroy``.

    Raises:
        LevelZeroError: The build failed; the message ends with the build log.
    """
    desc = _desc("module", format=MODULE_SPIRV, inputSize=len(spirv), pInputModule=spirv, pBuildFlags=flags.encode())
    module, log = c_void_p(), c_void_p()
    try:
        _bind("zeModuleCreate")(context, device, desc, byref(module), byref(log))
    except LevelZeroError as error:
        # A loader that wraps handles does not wrap the log's and would crash on it; a validation layer refuses it.
        with contextlib.suppress(LevelZeroError):
            if log.value and native(DEVICE, device) == device:
                error.args = (f"{error.args[0]}\n{build_log(log.value)}",)
        raise
    if log.value:
        _bind("zeModuleBuildLogDestroy")(log)
    return module.value or 0


def create_kernel(module: int, name: str) -> int:
    """Return a new kernel of a module by its name; destroy it with ``zeKernelDestroy``."""
    return _handle("zeKernelCreate", module, _desc("kernel", pKernelName=name.encode()))


def set_argument(kernel: int, index: int, value: Any) -> None:
    """Set argument ``index`` of a kernel: a ctypes value, an address as int, or ``(bytes,)`` of local memory."""
    call = _bind("zeKernelSetArgumentValue")
    if isinstance(value, tuple):
        call(kernel, index, value[0], None)
        return
    if isinstance(value, int):
        value = c_void_p(value)
    call(kernel, index, ctypes.sizeof(value), ctypes.addressof(value))
