"""The functions that ishmem adds to the compiler of kernels.

This module suffices to launch a kernel that is in the cache. numba and ``ishmem.kernels`` are imported when a kernel is
compiled.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

import ishmem
from ishmem import _core
from ishmem.common.errors import IshmemError, LevelZeroError
from ishmem.dpex import spirv
from ishmem.dpex.cache.key import NoKeyError, digest
from ishmem.dpex.errors import KernelBuildError, UnsupportedKernelArgumentError
from ishmem.dpex.extension import Extension, KernelFailure, Origin, SourceLine

from . import driver_compiler, foreign, graph_recording, job, kernel_constants

if TYPE_CHECKING:
    from .queue_workers import QueueWorkers

_TENSOR = (
    "; of torch it takes tensors on symmetric memory, which ishmem.torch makes: import ishmem.torch, and "
    "ishmem.torch.empty_like(x).copy_(x) is one with the elements of x"
)


class BuildError(KernelBuildError, IshmemError):
    """The device's compiler rejects a kernel; the message ends with the build log."""


def kernel_factory(make: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that makes kernels: cache them by its arguments, which also identify them in cache keys.

    A kernel's code must depend only on the arguments, which are strings or numbers, and on the sources of ishmem.
    """

    @functools.cache
    def made(*arguments: Any) -> Any:
        kernel = make(*arguments)
        kernel.py_func.made_by = f"{make.__module__}.{make.__qualname__}", arguments
        return kernel

    return functools.wraps(make)(made)


class Ishmem(Extension):
    """Ishmem's part in the compilation of kernels: its device functions, process constants, cache keys and errors."""

    package = "ishmem"
    device_lost = LevelZeroError, ("zeDeviceGetStatus", 0x70000001, "ZE_RESULT_ERROR_DEVICE_LOST")
    _loaded: Any = None
    _has_changed = False

    def __init__(self) -> None:
        self.sources = _sources()

    def load(self) -> None:
        """Register the device functions; files may have been edited since they were hashed."""
        if self._loaded is None:
            self._loaded = importlib.import_module("ishmem.kernels")
            self.counts = frozenset(map(self.unwrapped, (ishmem.my_pe, ishmem.n_pes)))
            self._has_changed = _sources() != self.sources

    def transform(self, code: bytes) -> bytes:
        """Return the code with the specialisation constants of this process."""
        here = kernel_constants.bound()
        return code if here is None else spirv.patched(code, kernel_constants.numbered(here[1]))

    def storable(self, code: bytes) -> bytes | None:
        """Return the code with specialisation constants 0; None if it may not be stored, as with an address in it."""
        if self._has_changed:
            return None
        here = kernel_constants.bound()
        if here is None:
            return code
        code = spirv.patched(code, dict.fromkeys(kernel_constants.numbered(here[1]), 0))
        return None if spirv.has_constant(code, here[1].heap, here[1].end) else code

    def key_parts(self, lines: Sequence[Any]) -> Any:
        """Return for the cache key the job's options and ``lines`` of functions; ``NoKeyError`` without a job."""
        here = kernel_constants.bound()
        if here is None:
            raise NoKeyError(kernel_constants.OUTSIDE)
        return repr(here[0]), tuple(lines)

    def unwrapped(self, value: Any) -> Any:
        """Return the routine behind an object that traces its calls; other values unchanged."""
        return value.__traced__ if isinstance(value, _core.Traced) else value

    def described(self, value: Any) -> tuple[Any, ...] | None:
        """Return the handle of a team, or the `kernel_factory` and arguments of a kernel, for cache keys; else None."""
        if type(value) is ishmem.Team:
            return "team", value.handle
        return getattr(getattr(value, "py_func", None), "made_by", None)

    def origin(self, function: Any) -> Origin | None:
        """Return the origin of an implementation of a device function; None for other functions."""
        return self._loaded.intrinsics.origins.get(function)  # type: ignore[no-any-return]

    def looks_at_empty_arrays(self) -> bool:
        """Return whether kernels may read empty arrays: with ``ISHMEM_CHECK`` or the proxy."""
        bound = kernel_constants.bound()
        return bound is not None and (bound[0].check or bound[0].proxied)

    def watches(self, file: str) -> bool:
        """Return whether to check the code of a file: with ``ISHMEM_CHECK``, outside of ishmem's device functions."""
        bound = kernel_constants.bound()
        return bound is not None and bound[0].check and not file.startswith(tuple(f"{each}/" for each in _kernels()))

    def report(self, context: Any, builder: Any, failure: KernelFailure) -> None:
        """Emit code that records a failure in this PE's heap."""
        self._loaded.runtime_checks.emit_record(context, builder, failure)

    def record_place(self, context: Any, builder: Any, place: SourceLine) -> None:
        """Emit code that writes the place of a call into the record of a failure, unless the record has a place."""
        self._loaded.runtime_checks.emit_note_of(builder, place)

    def compiles_first(self) -> bool:
        """Return whether this PE is the first of its node; True outside a job."""
        here = kernel_constants.bound()
        return here is None or here[1].my_pe == here[1].first_near

    def expect_build(self) -> None:
        """Start loading the driver's compiler, on the PE that builds kernels first."""
        if self.compiles_first():
            driver_compiler.load()

    def compile_error(self, name: str, file: str, line: int, text: str) -> Exception | None:
        """Return the error of a kernel that does not compile; None if ``ishmem.kernels`` could not be imported."""
        return self._loaded and self._loaded.compile_errors.explain(name, file, line, text)  # type: ignore[no-any-return]

    def build_error(self, name: str, queue: Any, code: bytes, flags: str = "") -> Exception | None:
        """Return an error with the driver's log of building ``code``; None if it builds, or without Level Zero."""
        from ishmem.ipc import native, pyze

        if queue.backend.name != "level_zero":
            return None
        try:
            pyze.create_module(native.context(queue.sycl_context), native.device(queue.sycl_device), code, flags)
        except LevelZeroError as error:
            return BuildError(f"the kernel {name} does not build: {error}")
        return None

    def array(self, argument: Any) -> Any:
        """Return a dpnp array that shares the memory of a tensor; other arguments unchanged.

        Raises:
            UnsupportedKernelArgumentError: A tensor of torch that is not on memory of the device.
        """
        array = foreign.native(argument)
        if foreign.is_tensor(argument) and not hasattr(array, "get_array"):
            raise UnsupportedKernelArgumentError(argument, _TENSOR)
        return array

    def check(self, name: str, arguments: Sequence[Any]) -> None:
        """Raise ``SymmetryError`` if an argument of kernel ``name`` is an array of a freed allocation."""
        if job.running():
            job.current().heap.freed.refuse_arguments(name, arguments)

    def raise_problems(self) -> None:
        """Raise ``LevelZeroError`` if the heap's device is lost, ``WaitTimeout`` if ``ISHMEM_TIMEOUT`` caused this."""
        if not job.running():
            return
        this = job.current()
        try:
            this.heap.raise_lost_device()
        except LevelZeroError as error:
            if hang := this.waits.kernel_hang():
                raise hang from error
            raise

    def submitted(self, name: str, event: Any) -> None:
        """Record that kernel ``name`` has been submitted, if a job runs; ``event`` completes with it."""
        if this := job.peek():
            this.waits.submitted(name, event)

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager for a wait for a kernel, to which ``ISHMEM_TIMEOUT`` applies."""
        this = job.peek()
        return this.waits.for_kernel() if this else contextlib.nullcontext()

    def recording(self, queue: Any) -> graph_recording.Recording | None:
        """Return the recording of a queue; ``None`` for a queue that executes its commands."""
        return graph_recording.of(queue)

    def settle(self, event: Any) -> None:
        """Poll an event while host tasks of queues hold back commands; ``IshmemError`` for one that is recorded."""
        if isinstance(event, graph_recording.RecordedEvent):
            graph_recording.refuse_wait()
        if (workers := _queue_workers()) is not None:
            workers.settle(event)

    def settle_queue(self, queue: Any) -> None:
        """Poll the end of a queue's commands so far, as `settle` does; ``IshmemError`` for a queue that is recorded."""
        graph_recording.refuse(queue, "wait")
        workers = _queue_workers()
        if workers is not None and not workers.free:
            workers.settle(queue.submit_barrier())


def _queue_workers() -> QueueWorkers | None:
    return getattr(job.peek(), "queue_workers", None)


@functools.cache
def _kernels() -> tuple[str, ...]:
    """Return the folders of ``ishmem.kernels``."""
    found = importlib.util.find_spec("ishmem.kernels")
    return tuple((found and found.submodule_search_locations) or ())


def _sources() -> str:
    """Return a digest of the sources of device code and of the modules that it uses."""
    package = Path(ishmem.__file__).parent
    found = [Path(__file__), Path(kernel_constants.__file__), *package.glob("*.py"), *(package / "common").glob("*.py")]
    for folder in _kernels():
        found += Path(folder).rglob("*.py")
    return digest([(path.name, path.read_bytes()) for path in sorted(found)])
