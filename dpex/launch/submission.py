"""Launches of kernels: argument types, the queue, the device's code, and the submission by dpctl."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any

import dpctl
import numpy as np
from dpctl.memory import as_usm_memory
from dpctl.program import SyclProgramCompilationError, create_program_from_spirv
from dpctl.utils import SequentialOrderManager

from ..decorators import Kernel
from ..errors import COPY, ExecutionQueueInferenceError, KernelBuildError, UnsupportedKernelArgumentError
from ..extension import installed
from ..kernel_api import LocalAccessor, NdRange, Range
from . import call_arguments, events
from .kinds import ArrayKind, ItemKind, LocalKind, TupleKind

_C_TYPES = {
    "bool": ctypes.c_uint8, "int8": ctypes.c_uint8, "uint8": ctypes.c_uint8, "int16": ctypes.c_int16,
    "uint16": ctypes.c_uint16, "int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64, "float32": ctypes.c_float, "float64": ctypes.c_double,
}  # fmt: skip

_PYTHON_NUMBERS = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}

events.install()

_known_arrays: dict[tuple[Any, ...], ArrayKind] = {}


class _From:
    """The part of a USM memory from byte ``offset`` to its end, as an object that ``as_usm_memory`` accepts."""

    def __init__(self, memory: Any, offset: int):
        whole = memory.__sycl_usm_array_interface__
        address, read_only = whole["data"]
        self.__sycl_usm_array_interface__ = {
            **whole, "data": (address + offset, read_only), "shape": (memory.nbytes - offset,)
        }  # fmt: skip


class _Launch:
    """The queue of a launch, the kinds of its arguments, and in ``flat`` the arguments of the SYCL kernel."""

    def __init__(self, arguments: Sequence[Any]):
        self.queue: Any = None
        self.kinds: list[Any] = []
        self.flat: list[Any] = []
        for argument in arguments:
            self.kinds.append(self._add(argument))
        if self.queue is None:
            raise ExecutionQueueInferenceError(
                "no argument of the kernel is a dpnp array or usm_ndarray, whose queue would run the kernel"
            )

    def _add(self, argument: Any) -> Any:
        """Append the SYCL kernel's arguments for a Python argument; return its kind."""
        kind = type(argument)
        if kind is int and not -(2**63) <= argument < 2**63:
            raise OverflowError(f"{argument} is not an int64; numpy.uint64(value) holds values up to 2**64 - 1")
        if kind in _PYTHON_NUMBERS:
            return self._number(argument, _PYTHON_NUMBERS[kind])
        usm = argument.get_array() if hasattr(argument, "get_array") else argument
        if hasattr(usm, "usm_data"):
            return self._array(usm, usm is not argument)
        if isinstance(argument, LocalAccessor):
            return self._local(argument)
        if isinstance(argument, np.generic):
            return self._number(argument, argument.dtype.name)
        if isinstance(argument, (bool, int)):  # members of IntEnum, too
            return self._number(int(argument), "int64")
        if isinstance(argument, tuple):
            return TupleKind(tuple(map(self._add, argument)))
        return self._other(argument)

    def _other(self, argument: Any) -> Any:
        """Add an array of another library, or an object whose type numba types as an integer; return its kind."""
        array = installed().array(argument)
        if hasattr(array, "get_array"):
            return self._add(array)
        if isinstance(array, np.ndarray):
            raise UnsupportedKernelArgumentError(argument, COPY)
        installed().load()
        from numba.core import types
        from numba.core.typing.typeof import Purpose, typeof

        try:
            kind = typeof(argument, Purpose.argument)
        except ValueError:
            kind = None
        if not isinstance(kind, types.Integer):
            raise UnsupportedKernelArgumentError(argument)
        self._number(int(argument), str(kind))
        return kind

    def _number(self, value: Any, kind: str) -> str:
        if kind in ("complex64", "complex128"):
            part = "float32" if kind == "complex64" else "float64"
            self._number(value.real, part)
            self._number(value.imag, part)
        elif kind == "float16":
            self.flat.append(ctypes.c_uint16(int(np.float16(value).view(np.uint16))))
        elif kind in _C_TYPES:
            number = value if kind in ("float32", "float64") else int(value)  # ctypes rejects numpy.bool
            self.flat.append(_C_TYPES[kind](number))
        else:
            raise UnsupportedKernelArgumentError(value)
        return kind

    def _array(self, usm: Any, is_dpnp: bool) -> ArrayKind:
        queue, flags, dtype = usm.sycl_queue, usm.flags, usm.dtype
        if self.queue is None:
            self.queue = queue
        elif queue != self.queue:
            raise ExecutionQueueInferenceError(
                f"the array arguments are on different queues, {self.queue} and {queue}; a.to_device(queue) moves one"
            )
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        key = (is_dpnp, dtype, usm.ndim, layout, flags.writable)
        if key not in _known_arrays:
            _known_arrays[key] = ArrayKind(is_dpnp, dtype.name, usm.ndim, layout, flags.writable)
        memory, offset = usm.usm_data, usm._element_offset * dtype.itemsize
        self.flat.append(as_usm_memory(_From(memory, offset)) if 0 < offset < memory.nbytes else memory)
        self.flat += map(ctypes.c_int64, usm.shape)
        if layout != "C":
            self.flat += [ctypes.c_int64(step * dtype.itemsize) for step in usm.strides]
        return _known_arrays[key]

    def _local(self, accessor: LocalAccessor) -> LocalKind:
        dtype, shape = accessor._dtype, accessor._shape
        nbytes = dtype.itemsize * int(np.prod(shape))
        self.flat.append(dpctl.LocalAccessor("i1", (nbytes,)))
        self.flat += map(ctypes.c_int64, shape)
        return LocalKind(dtype.name, len(shape))


def _program(kernel: Kernel, kinds: tuple[Any, ...], queue: dpctl.SyclQueue) -> Any:
    """Return the SYCL kernel for arguments of these kinds, built for the device of a queue unless it has been."""
    key = (kinds, queue.sycl_context, queue.sycl_device)
    found = kernel.programs.get(key)
    if found is None:
        code = kernel.code_for(kinds)
        try:
            found = create_program_from_spirv(queue, installed().transform(code.spirv)).get_sycl_kernel(code.name)
        except SyclProgramCompilationError as error:
            own = KernelBuildError(f"the kernel {kernel.__name__} does not build: {error or 'SYCL gives no reason'}")
            raise installed().build_error(kernel.__name__, queue, code.spirv) or own from None
        kernel.programs[key] = found
    return found


def _submit(
    kernel: Any, index_space: Range | NdRange, after: Sequence[Any], arguments: Sequence[Any], named: dict[str, Any]
) -> tuple[Any, Any]:
    """Submit a kernel after the events ``after``; return its event and its queue, which is None if it is recorded."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"call_kernel launches a function decorated by dpex.kernel, got {kernel!r}")
    if named or kernel.has_options:
        arguments = call_arguments.completed(kernel.__name__, kernel.py_func, arguments, named)
    if isinstance(index_space, NdRange):
        item = ItemKind(index_space.global_range.ndim, has_groups=True)
        sizes: Any = list(index_space.global_range), list(index_space.local_range)
    elif isinstance(index_space, Range):
        item, sizes = ItemKind(index_space.ndim, has_groups=False), (list(index_space), None)
        if any(isinstance(argument, LocalAccessor) for argument in arguments):
            raise TypeError("A LocalAccessor belongs to a work-group: launch the kernel with an NdRange")
    else:
        raise TypeError(f"index_space is a Range or NdRange, got {index_space!r}")
    installed().check(kernel.__name__, arguments)
    launch = _Launch(arguments)
    items = (item,) if kernel.parameters > len(arguments) else ()
    program = _program(kernel, (*items, *launch.kinds), launch.queue)
    recording = installed().recording(launch.queue)
    before = recording.before(after) if recording else [*after, *_submitted_before(launch.queue)]
    try:
        event = launch.queue.submit_async(program, launch.flat, *sizes, before)
    except dpctl.SyclKernelSubmitError:
        installed().raise_problems()
        _raise_if_too_large(kernel.__name__, sizes[1], arguments, launch.queue.sycl_device)
        raise
    if recording:
        return recording.keep(event, (kernel, arguments)), None
    installed().submitted(kernel.__name__, event)
    return event, launch.queue


def _raise_if_too_large(name: str, local: Sequence[int] | None, arguments: Sequence[Any], device: Any) -> None:
    """Raise an error if a launch's work-groups exceed the device's limits; SYCL's error does not name the cause."""
    if local is None:
        return
    largest, size = device.max_work_group_size, math.prod(local)
    extents = device.max_work_item_sizes3d[: len(local)]
    if size > largest or any(extent > most for extent, most in zip(local, extents)):
        raise dpctl.SyclKernelSubmitError(
            f"the work-groups of kernel {name} have {size} work-items, {tuple(local)}; the device takes at most "
            f"{largest}, in each dimension {tuple(extents)}"
        ) from None
    used = sum(each._dtype.itemsize * math.prod(each._shape) for each in arguments if isinstance(each, LocalAccessor))
    if used > device.local_mem_size:
        raise dpctl.SyclKernelSubmitError(
            f"the local accessors of kernel {name} have {used} bytes; a work-group of the device has "
            f"{device.local_mem_size}"
        ) from None


def _submitted_before(queue: dpctl.SyclQueue) -> list[dpctl.SyclEvent]:
    """Return the events of dpnp's earlier operations on a queue; their kernels may not have completed."""
    return list(SequentialOrderManager[queue].submitted_events)


def call_kernel(kernel_fn: Kernel, index_space: Range | NdRange, *kernel_args: Any, **named_args: Any) -> None:
    """Run a kernel on the queue of its array arguments, and wait until it has completed.

    On a queue whose commands are recorded to a graph, it records the kernel and returns.

    Args:
        kernel_fn: The kernel.
        index_space: The number of work-items in each dimension; with an `NdRange`, also those of a work-group.
        *kernel_args: The arguments after the item: arrays of one queue, local accessors, numbers, tuples of numbers.
            If there is one for each parameter, the kernel has no item.
        **named_args: Arguments by the names of their parameters. Those that have defaults may be left out.

    Raises:
        NumbaError: The kernel does not compile for these arguments.
        KernelBuildError: The device's compiler rejects it.
        SyclKernelSubmitError: The device accepts no kernels, or no work-groups of this size.
        LevelZeroError: The kernel fails or does not end, and the device is lost; in a job of ishmem.
        DeviceLostError: The same outside a job.
        ExecutionQueueInferenceError: The arrays are on several queues, or there are none.
        UnsupportedKernelArgumentError: An argument has a type that kernels do not support.
        TypeError: ``kernel_fn`` is not a kernel, ``index_space`` not a range, the arguments do not fit the parameters,
            or there is a local accessor but no work-groups.
    """
    event, queue = _submit(kernel_fn, index_space, (), kernel_args, named_args)
    if queue is not None:
        event.wait()


def call_kernel_async(
    kernel_fn: Kernel,
    index_space: Range | NdRange,
    dependent_events: Sequence[dpctl.SyclEvent],
    *kernel_args: Any,
    **named_args: Any,
) -> tuple[dpctl.SyclEvent, dpctl.SyclEvent]:
    """Submit a kernel to the queue of its array arguments, to run after ``dependent_events``.

    The arguments are kept alive until it has completed. It also starts after dpnp's operations submitted before it;
    dpnp's later operations do not wait for the kernel: wait for its event first.

    Args:
        kernel_fn: The kernel.
        index_space: As for `call_kernel`.
        dependent_events: Events after which the kernel starts.
        *kernel_args: As for `call_kernel`.
        **named_args: As for `call_kernel`.

    Returns:
        The event of the release of the arguments on the host, and the event of the kernel.

    Raises:
        Exception: As `call_kernel`; if the kernel fails, ``wait()`` of its event raises the error.
    """
    event, queue = _submit(kernel_fn, index_space, dependent_events, kernel_args, named_args)
    if queue is None:
        return event, event
    return queue._submit_keep_args_alive((*kernel_args, *named_args.values()), [event]), event
