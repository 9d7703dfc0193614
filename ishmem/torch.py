"""Symmetric tensors of torch; after the import of this module, all calls and kernels accept tensors.

Host calls, and kernels of ``ishmem.dpex``, accept tensors like dpnp arrays: symmetric tensors as symmetric arrays,
other tensors in device or host memory as private arrays. Elements of bfloat16 and float8, which dpnp lacks, are
transferred as bits; in kernels they are int16 and uint8.

A symmetric tensor is on the XPU if torch has the device of the symmetric heap. Else it is a CPU tensor on the host's
mapping of the same memory, so programs run without a GPU. Wait for kernels and on-queue operations before torch reads
their results on the CPU.

The end of a tensor's last reference frees no symmetric memory, as it occurs on one PE alone. ``free`` is collective,
and ``finalize`` frees everything.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import dpctl
import numpy as np
import torch

from ishmem import interop, memory
from ishmem.common import error_texts
from ishmem.common.type_tables import OPAQUE, RMA_TYPES
from ishmem.environment import arrays
from ishmem.ipc import native
from ishmem.runtime import foreign, job

__all__ = ["current_stream_wait", "empty", "empty_like", "free", "full", "ones", "peer", "zeros", "zeros_like"]


def empty(shape: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor of uninitialised elements.

    Collective, blocking. It is freed by ``free``, or at the end of the job.

    Args:
        shape: A number of elements, or a sequence of them; the same on all PEs.
        dtype: A dtype of torch that dpnp has too, bfloat16 or an 8-bit float8; by default torch's default dtype.
        device: "xpu" or "cpu"; by default "xpu" if torch has the device of the heap, else "cpu".

    Raises:
        TypeError: Another dtype.
        ValueError: Another device, or "xpu" if torch does not have the device of the heap.
        HeapExhausted, SymmetryError, StateError, PeerLost: As for ``ishmem.empty``.

    Example:
        >>> x = ishmem.torch.empty((2, 3), dtype=torch.bfloat16)
    """
    return _new("empty", shape, dtype, device, None)


def zeros(shape: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor of zeros.

    Collective, blocking: initialised on every PE when the call returns. Arguments and errors as for ``empty``.

    Args:
        shape: A number of elements, or a sequence of them; the same on all PEs.
        dtype, device: As for ``empty``.

    Example:
        >>> x = ishmem.torch.zeros(4, dtype=torch.int64)
    """
    return _new("zeros", shape, dtype, device, 0)


def ones(shape: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor of ones.

    Collective, blocking: initialised on every PE when the call returns. Arguments and errors as for ``empty``.

    Args:
        shape: A number of elements, or a sequence of them; the same on all PEs.
        dtype, device: As for ``empty``.

    Example:
        >>> x = ishmem.torch.ones(4)
    """
    return _new("ones", shape, dtype, device, 1)


def full(shape: Any, fill_value: Any, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor filled with a number.

    Collective, blocking: initialised on every PE when the call returns. Errors as for ``empty``.

    Args:
        shape: A number of elements, or a sequence of them; the same on all PEs.
        fill_value: A number, which may differ between PEs.
        dtype: As for ``empty``; by default the dtype of ``torch.tensor(fill_value)``.
        device: As for ``empty``.

    Example:
        >>> x = ishmem.torch.full((2, 2), 0.5, dtype=torch.bfloat16)
        >>> x.sum().item()
        2.0
    """
    return _new("full", shape, dtype, device, fill_value)


def empty_like(tensor: torch.Tensor, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor of uninitialised elements with the shape and dtype of a tensor.

    Collective, blocking. Errors as for ``empty``.

    Args:
        tensor: Any tensor, symmetric or not; its elements are not read.
        dtype: Dtype in place of that of ``tensor``.
        device: As for ``empty``, whatever the device of ``tensor``.

    Example:
        >>> x = ishmem.torch.empty_like(torch.arange(6))
    """
    return empty(tensor.shape, dtype=dtype or tensor.dtype, device=device)


def zeros_like(tensor: torch.Tensor, *, dtype: torch.dtype | None = None, device: Any = None) -> torch.Tensor:
    """Return a new symmetric tensor of zeros with the shape and dtype of a tensor.

    Collective, blocking: initialised on every PE when the call returns. Errors as for ``empty``.

    Args:
        tensor, dtype, device: As for ``empty_like``.

    Example:
        >>> x = ishmem.torch.zeros_like(torch.ones(3))
    """
    return zeros(tensor.shape, dtype=dtype or tensor.dtype, device=device)


def peer(tensor: torch.Tensor, pe: int) -> torch.Tensor | None:
    """Return a tensor on the memory of a symmetric tensor on a PE, like ``ishmem.ptr`` for arrays.

    Nothing is copied. It is valid until ``tensor`` is freed, and is not itself symmetric. Not collective, not blocking.

    Args:
        tensor: A symmetric tensor, or a view of one.
        pe: Number of the PE, from 0 to ``n_pes() - 1``.

    Returns:
        A tensor with the shape, strides, dtype and device of ``tensor``; None for a PE that loads and stores do not
        reach: for a CPU tensor, a PE on another node.

    Raises:
        StateError: Not between ``init`` and ``finalize``.
        SymmetryError: ``tensor`` is not on the symmetric heap.
        TypeError: ``tensor`` is not a tensor.
        IndexError: There is no such PE.
        PeerLost: The PE is lost, in a job that continues after losses.

    Example:
        >>> x = ishmem.torch.full(3, me)
        >>> theirs = ishmem.torch.peer(x, right)
        >>> theirs is None or theirs.tolist() == [right] * 3
        True

    Source: shmem_ptr; NVSHMEM4Py, get_peer_tensor.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"tensor is a torch.Tensor, got {type(tensor).__name__}; ishmem.ptr takes arrays")
    found = memory.ptr(tensor, pe) if tensor.device.type == "xpu" else interop.host_view(tensor, pe)
    return None if found is None else _on(found).view(tensor.dtype)


def free(tensor: torch.Tensor | None) -> None:
    """Free a symmetric tensor; ``None`` is ignored. The same as ``ishmem.free``.

    Collective, blocking: returns when every PE has called. ``del tensor`` frees nothing. The tensor and its views must
    not be used afterwards: their memory may belong to a later allocation.

    Args:
        tensor: A whole tensor, not a view of a part.

    Raises:
        ValueError, SymmetryError, StateError, TypeError, PeerLost: As for ``ishmem.free``.

    Example:
        >>> x = ishmem.torch.zeros(4)
        >>> ishmem.torch.free(x)
    """
    memory.free(tensor)


def current_stream_wait(event: dpctl.SyclEvent) -> None:
    """Order later work on torch's current stream after an event, without blocking the host.

    Not collective, not blocking. If torch lacks the device of the heap, or no job runs, there is no stream: then the
    call blocks until the event has completed.

    Args:
        event: The event of an on-queue operation, of a call on another queue, or of a replay of a graph.

    Raises:
        StateError: The job has ended before the operation of the event, which the call waits for.
        IshmemError: The event is of a recorded command, which the call would wait for.

    Example:
        >>> ishmem.torch.current_stream_wait(ishmem.sync_all_on_queue())

    Source: DeepEP, EventOverlap.current_stream_wait.
    """
    foreign.current_stream_wait(event)


def _new(routine: str, shape: Any, dtype: torch.dtype | None, device: Any, value: Any) -> torch.Tensor:
    """Return a new symmetric tensor filled with ``value``, uninitialised for None; ``routine`` is for errors."""
    where, kinds = [], []

    def storage() -> tuple[str, str]:
        where.append(_device(device))
        kind = dtype or (torch.tensor(value).dtype if routine == "full" else torch.get_default_dtype())
        kinds.append(kind)
        return _storage(kind), _name(kind)

    def fill() -> np.ndarray[Any, Any]:
        filled: np.ndarray[Any, Any] = _bits(torch.full((), value, dtype=kinds[0])).numpy()
        return filled

    array = memory.filled(routine, shape, storage, None if routine.startswith("empty") else fill)
    return _tensor(array, kinds[0], where[0])


def _storage(dtype: torch.dtype) -> str:
    """Return the name of the numpy dtype that stores elements of a dtype of torch; ``TypeError`` if there is none."""
    name = _name(dtype)
    if name not in (*RMA_TYPES, *OPAQUE):
        raise TypeError(error_texts.refusal("allocation", "the tensor", name, (*RMA_TYPES, *OPAQUE)))
    return OPAQUE.get(name, name)


def _device(asked: Any) -> str:
    """Return the device type for a tensor: ``asked``, or for None "xpu" if torch has the heap's device, else "cpu"."""
    has_device = _has_device()
    found = ("xpu" if has_device else "cpu") if asked is None else torch.device(asked).type
    if found not in ("xpu", "cpu"):
        raise ValueError(f"device is {asked}; allowed are xpu and cpu")
    if found == "xpu" and not has_device:
        name = job.current().heap.queue.sycl_device.name
        raise ValueError(f"device is {asked}, and this torch does not have {name}, the device of the symmetric heap")
    return found


def _has_device() -> bool:
    """Return whether torch has the device of the heap."""
    return _number_of_device(job.current().heap) is not None


@functools.lru_cache(maxsize=1)
def _number_of_device(heap: Any) -> int | None:
    """Return torch's number of the device of ``heap``, which is DLPack's number, or None if torch lacks the device."""
    if not hasattr(torch, "xpu") or not torch.xpu.is_available():
        return None
    number = arrays.tensor.usm_ndarray((1,), dtype="uint8", buffer=heap.memory).__dlpack_device__()[1]
    return int(number) if number < torch.xpu.device_count() else None


def _current_stream() -> Any:
    """Return torch's current stream on the device of the heap, or None without a job or if torch lacks the device."""
    number = _number_of_device(job.current().heap) if job.running() else None
    return None if number is None else torch.xpu.current_stream(number)


def _queue() -> dpctl.SyclQueue | None:
    stream = _current_stream()
    return None if stream is None else native.sycl_queue(stream.sycl_queue)


def _on_stream(array: Any) -> Any:
    """Return ``array``, a dpnp array, on the queue of torch's current stream, or unchanged without a stream."""
    import dpnp

    queue = _queue()
    return array if queue is None else dpnp.asarray(array.get_array().to_device(queue))


def _tensor(array: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Return a tensor of ``dtype`` on the memory of a symmetric dpnp array, with the same shape and bits."""
    heap = job.current().heap
    found = array
    if not array.size:  # start from one byte, as tensors without memory have no address
        found = heap.array_at(array.get_array().usm_data._pointer - heap.base, (1,), "uint8", (1,))
    if device == "cpu":
        low, nbytes = found.get_array().usm_data._pointer - heap.base, max(found.nbytes, 1)
        window = heap.window(heap.pe, low, nbytes)
        assert window is not None
        found = np.ndarray(found.shape, found.dtype, memoryview(window))
    return _on(found).view(dtype) if array.size else _on(found)[:0].view(dtype).reshape(array.shape)


def _on(array: Any) -> torch.Tensor:
    """Return a tensor on the memory of a dpnp or numpy array, with its dtype."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else torch.from_dlpack(array)


@functools.cache
def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor, viewed with the integer dtype of its bits if dpnp lacks its dtype."""
    name = _name(tensor.dtype)
    return tensor.view(getattr(torch, OPAQUE[name])) if name in OPAQUE else tensor


_NUMBERS = {getattr(torch, name): number for name, number in foreign.TYPE_NUMBERS.items() if hasattr(torch, name)}


class _Tensors:
    """Implementation of `foreign.Library` for tensors of torch."""

    kind = torch.Tensor

    def describe(self, tensor: torch.Tensor) -> tuple[int, int, int, int, int, bool]:
        """Return address, number of elements, bytes of one, order bits, dtype number, and whether on the device.

        Order bits as in `check.View`, dtype numbers as in `foreign.TYPE_NUMBERS`. For device memory, waits for torch's
        current stream. The core calls it, and declines the program's call on an exception.
        """
        number, on_host = _NUMBERS.get(tensor.dtype, -1), tensor.is_cpu
        if number < 0 or not on_host or tensor.is_conj() or tensor.is_neg():
            _check(tensor)
        contiguous, count, address = tensor.is_contiguous(), tensor.numel(), _address(tensor)
        order = 3 if contiguous and tensor.ndim < 2 else contiguous | _is_fortran(tensor) << 1
        if on_host and (offset := _offset(address)) is not None:
            address, on_host = job.current().heap.base + offset, False
        if not on_host and (queue := _queue()) is not None:
            queue.wait()  # the host is about to read or write the memory
        return address, count, tensor.element_size(), order, number, not on_host

    def native(self, tensor: torch.Tensor) -> Any:
        """Return a dpnp array, or for private host memory a numpy array, on the memory of a tensor.

        Raises:
            TypeError: Not strided, on another device than cpu and xpu, of an unknown dtype, or a conjugate view.
        """
        _check(tensor)
        bits = _bits(tensor.detach())
        if tensor.device.type == "xpu":
            import dpnp

            return _on_stream(dpnp.from_dlpack(bits))
        offset = _offset(_address(tensor))
        if offset is None:
            return bits.numpy()
        array = job.current().heap.array_at(offset, tuple(tensor.shape), _storage(tensor.dtype), tensor.stride())
        return _on_stream(array)

    def queue(self) -> dpctl.SyclQueue | None:
        """Return the queue of torch's current stream on the device of the heap, or None without one."""
        return _queue()

    def dtype(self, tensor: torch.Tensor) -> str:
        """Return the name of a tensor's dtype, such as "bfloat16"."""
        return _name(tensor.dtype)

    def element(self, value: Any, dtype: str) -> torch.Tensor:
        """Return a CPU tensor of one element with the number ``value`` rounded to the dtype of name ``dtype``.

        Raises:
            TypeError: ``value`` is no integer or float.
            ValueError: It is finite and too large for the dtype.
        """
        if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, bool):
            raise TypeError(error_texts.other_kind("value", f"{value!r} ({type(value).__name__})", dtype))
        rounded = torch.tensor([float(value)], dtype=getattr(torch, dtype))
        if math.isfinite(value) and not rounded.float().isfinite().all():
            raise ValueError(f"value is {value!r}, which does not fit dtype {dtype}")
        return rounded

    def number(self, bits: np.ndarray[Any, Any], dtype: str) -> float:
        """Return the number whose bits, in the dtype of name ``dtype``, are the one element of ``bits``."""
        return float(torch.from_numpy(bits).view(getattr(torch, dtype)).float().item())


def _check(tensor: torch.Tensor) -> None:
    """Raise ``TypeError`` unless a tensor is strided, on cpu or xpu, of a known dtype, and not a conjugate view."""
    if tensor.layout is not torch.strided or tensor.device.type not in ("cpu", "xpu"):
        found = f"a tensor of layout {tensor.layout} on {tensor.device}"
        raise TypeError(f"{found}; allowed are strided ones on cpu and xpu")
    if tensor.is_conj() or tensor.is_neg():
        raise TypeError("a conjugate view of a tensor; tensor.resolve_conj().resolve_neg() has the elements in memory")
    if tensor.dtype not in _NUMBERS:
        raise TypeError(error_texts.refusal("ishmem", "a tensor", _name(tensor.dtype), tuple(foreign.TYPE_NUMBERS)))


def _is_fortran(tensor: torch.Tensor) -> bool:
    return bool(tensor.permute(tuple(range(tensor.ndim))[::-1]).is_contiguous())


def _address(tensor: torch.Tensor) -> int:
    """Return the address of the first element, or of the storage if the tensor has no elements."""
    if tensor.numel():
        return int(tensor.data_ptr())
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()
    return int(storage.data_ptr())


def _offset(address: int) -> int | None:
    """Return the offset in this PE's heap of an address in the host mapping of it; None for other addresses."""
    return job.current().heap.own_offset(address) if job.running() else None


foreign.install(_Tensors())
