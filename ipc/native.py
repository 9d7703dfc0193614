"""Native Level Zero handles of dpctl objects, through member functions that the SYCL library exports."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dpctl


@functools.lru_cache(maxsize=1)
def _library() -> ctypes.CDLL:
    """Return dpctl's queue module as a library, with the symbols of the SYCL library and of dpctl's C interface."""
    import dpctl._sycl_queue

    return ctypes.CDLL(dpctl._sycl_queue.__file__)


@functools.cache
def _member(symbol: str, *arguments: Any) -> Any:
    function = getattr(_library(), symbol)
    function.argtypes = (ctypes.c_void_p, *arguments)
    function.restype = ctypes.c_void_p
    return function


def _check(thing: Any, kind: str, device: Any) -> None:
    backend = device.backend.name
    if backend != "level_zero":
        raise ValueError(f"{kind} {thing!r} is of backend {backend}; only level_zero has Level Zero handles")


def _expect(thing: Any, kind: str) -> None:
    if not hasattr(thing, "addressof_ref") or type(thing).__name__ != kind:
        raise TypeError(f"expected a dpctl.{kind}, got {type(thing).__name__}")


# dpctl's objects are hashable, and equal when they wrap the same SYCL object. The handle is cached because
# each getNative call on some objects increments the handle's reference count.
@functools.lru_cache(maxsize=64)
def _native(symbol: str, thing: Any) -> int:
    return int(_member(symbol)(thing.addressof_ref()))


def context(sycl_context: dpctl.SyclContext) -> int:
    """Return the ``ze_context_handle_t`` of a dpctl context.

    Raises:
        TypeError: Not a ``dpctl.SyclContext``.
        ValueError: Its backend is not Level Zero.
    """
    _expect(sycl_context, "SyclContext")
    _check(sycl_context, "context", sycl_context.get_devices()[0])
    return _native("_ZNK4sycl3_V17context9getNativeEv", sycl_context)


def device(sycl_device: dpctl.SyclDevice) -> int:
    """Return the ``ze_device_handle_t`` of a dpctl device.

    Raises:
        TypeError: Not a ``dpctl.SyclDevice``.
        ValueError: Its backend is not Level Zero.
    """
    _expect(sycl_device, "SyclDevice")
    _check(sycl_device, "device", sycl_device)
    return _native("_ZNK4sycl3_V16device9getNativeEv", sycl_device)


def queue(sycl_queue: dpctl.SyclQueue) -> tuple[int, bool]:
    """Return the native handle of a queue, and whether it is an immediate command list.

    The handle of an immediate list is a ``ze_command_list_handle_t``, else it is a ``ze_command_queue_handle_t``.
    It is not cached: a queue may change its native object.

    Raises:
        TypeError: Not a ``dpctl.SyclQueue``.
        ValueError: Its backend is not Level Zero.
    """
    _expect(sycl_queue, "SyclQueue")
    _check(sycl_queue, "queue", sycl_queue.sycl_device)
    immediate = ctypes.c_int(0)
    member = _member("_ZNK4sycl3_V15queue9getNativeERi", ctypes.POINTER(ctypes.c_int))
    return int(member(sycl_queue.addressof_ref(), ctypes.byref(immediate))), bool(immediate.value)


def functions(*names: str) -> list[int]:
    """Return the addresses of functions of SYCL and of dpctl's C interface; ``AttributeError`` if one is missing."""
    return [ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0 for name in names]


_QUEUE = b"SyclQueueRef"  # the name that dpctl expects; a module attribute, since capsules keep a pointer to it


def sycl_queue(address: int) -> dpctl.SyclQueue:
    """Return a dpctl queue that copies the ``sycl::queue`` at an address, such as that of torch's streams."""
    import dpctl

    wrap = ctypes.pythonapi.PyCapsule_New
    wrap.argtypes, wrap.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
    return dpctl.SyclQueue(wrap(address, _QUEUE, None))  # dpctl copies the queue


_LEVEL_ZERO = 2  # sycl::backend::ext_oneapi_level_zero
_EVENT_SIZE = 16  # sizeof(sycl::event)
_CAPSULE = b"SyclEventRef"  # the name that dpctl expects; a module attribute, since capsules keep a pointer to it


def sycl_event(event: int, sycl_context: dpctl.SyclContext) -> dpctl.SyclEvent:
    """Return a SYCL event that wraps a ``ze_event_handle_t``; the caller owns the handle, which must outlive it.

    Raises:
        TypeError: Not a ``dpctl.SyclContext``.
    """
    import dpctl

    _expect(sycl_context, "SyclContext")
    make = _member("_ZN4sycl3_V16detail10make_eventEmRKNS0_7contextEbNS0_7backendE",
                   ctypes.c_uint64, ctypes.c_void_p, ctypes.c_bool, ctypes.c_int)  # fmt: skip
    new, delete = _member("_Znwm"), _library().DPCTLEvent_Delete
    wrap = ctypes.pythonapi.PyCapsule_New
    wrap.argtypes, wrap.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
    delete.argtypes = (ctypes.c_void_p,)
    address = new(_EVENT_SIZE)
    make(address, event, sycl_context.addressof_ref(), True, _LEVEL_ZERO)  # constructs the result at `address`
    try:
        return dpctl.SyclEvent(wrap(address, _CAPSULE, None))  # dpctl copies the event
    finally:
        delete(address)
