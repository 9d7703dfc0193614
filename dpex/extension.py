"""The interface of a library that adds functions to kernels: the methods that the compiler calls."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from .errors import DeviceLostError


class Origin(NamedTuple):
    """The registered function that selected an implementation, and the argument types it was called with.

    Attributes:
        name: The function's name, unique in the library and the same in all processes.
        arguments: The types of the positional arguments.
        named: The types of the named arguments.
    """

    name: str
    arguments: tuple[Any, ...]
    named: dict[str, Any]


class SourceLine(NamedTuple):
    """A line of the program.

    Attributes:
        function: The name of the kernel or device function.
        file: The path of the file.
        line: The line number, from 1.
    """

    function: str
    file: str
    line: int


class KernelFailure(NamedTuple):
    """An error in a kernel.

    Attributes:
        place: The line of the program.
        error: The class of the exception.
        text: Its message, without values that are available only at run time.
        index: For an index out of bounds, its LLVM value, an int64; else None.
        axis: For an index out of bounds, its dimension.
        shape: For an index out of bounds, the extents of the array as LLVM values, each an int64.
    """

    place: SourceLine
    error: type[BaseException]
    text: str
    index: Any = None
    axis: int = 0
    shape: tuple[Any, ...] = ()


class Extension:
    """A library's part in the compilation of kernels; the methods of this base class do nothing.

    Attributes:
        package: The name of the library's package. Cache keys contain its objects by name.
        sources: A digest of the library's sources, part of the cache key of every kernel.
        counts: The functions of the library that return a nonnegative integer.
        device_lost: The class and the arguments of the error that is raised when the device is lost.
    """

    package = ""
    sources = ""
    counts: frozenset[Any] = frozenset()
    device_lost: tuple[type[Exception], tuple[Any, ...]] = DeviceLostError, ()

    def transform(self, code: bytes) -> bytes:
        """Return the SPIR-V to build in this process for ``code``, a kernel's compiled or cached SPIR-V."""
        return code

    def storable(self, code: bytes) -> bytes | None:
        """Return the SPIR-V to store on disk for ``code``, for `transform` in other processes; ``None``: store none."""
        return code

    def key_parts(self, lines: Sequence[Any]) -> Any:
        """Return the part of the cache key for kernels and device functions that use the library, as plain values.

        Args:
            lines: The file name, first line and line table of each function of the kernel.

        Raises:
            NoKeyError: The code cannot be cached.
        """
        return ()

    def recording(self, queue: Any) -> Any:
        """Return the recording of a queue, if its commands are recorded to a graph; else ``None``.

        Its method ``before(events)`` returns the events on which the next command depends. ``keep(event, kept)`` adds
        the command that was recorded, keeps the objects ``kept`` alive, and returns the command's event.
        """

    def unwrapped(self, value: Any) -> Any:
        """Return the object inside a wrapper of the library; other objects are returned unchanged."""
        return value

    def described(self, value: Any) -> tuple[Any, ...] | None:
        """Return plain values that identify a kernel, or a constant of one, given the sources; ``None`` for others."""
        return None

    def origin(self, function: Any) -> Origin | None:
        """Return the registered function and types behind a device function of the library; ``None`` for others."""
        return None

    def looks_at_empty_arrays(self) -> bool:
        """Return whether the library's device functions use the address of an array without elements."""
        return True

    def watches(self, file: str) -> bool:
        """Return whether array accesses of the functions in a file are checked and their failures reported."""
        return False

    def report(self, context: Any, builder: Any, failure: KernelFailure) -> None:
        """Emit the code that reports a failure in a function of a file for which `watches` is true.

        Args:
            context: numba's target context.
            builder: llvmlite's builder, in a block that runs if the failure happens.
            failure: The failure.
        """

    def record_place(self, context: Any, builder: Any, place: SourceLine) -> None:
        """Emit the code that records the line of a call whose callee has ended by an exception.

        Args:
            context: numba's target context.
            builder: llvmlite's builder, in a block that runs if the called function has ended by an exception.
            place: The line of the call, in a file for which `watches` is true.
        """

    def compiles_first(self) -> bool:
        """Return whether this process compiles a kernel without letting other processes of its user begin first."""
        return True

    def expect_build(self) -> None:
        """Prepare the device's compiler; called when a kernel is not in the cache, before it is compiled to SPIR-V."""

    def compile_error(self, name: str, file: str, line: int, text: str) -> Exception | None:
        """Return the error to raise for a kernel that does not compile, or ``None`` to raise the compiler's own.

        Args:
            name: The name of the kernel.
            file: The path of the file that defines it.
            line: The line number there.
            text: The error message of the compiler.
        """
        return None

    def load(self) -> None:
        """Register the functions of the library with numba; called before each use of numba.

        It is not called for a kernel in the cache, whose launch needs no numba.
        """

    def build_error(self, name: str, queue: Any, code: bytes, flags: str = "") -> Exception | None:
        """Return the error to raise for a kernel that does not build on a device, or ``None`` for `KernelBuildError`.

        Args:
            name: The name of the kernel.
            queue: The queue of the launch.
            code: The SPIR-V of the kernel.
            flags: The options of the device's compiler.
        """
        return None

    def array(self, argument: Any) -> Any:
        """Return the dpnp array or ``usm_ndarray`` for an array of another library; other arguments unchanged."""
        return argument

    def check(self, name: str, arguments: Sequence[Any]) -> None:
        """Check the arguments of a launch; raise an error if one is not allowed.

        Args:
            name: The name of the kernel.
            arguments: The arguments after the item.
        """

    def raise_problems(self) -> None:
        """Raise the library's error if the device is lost; called after a submission or command has failed."""

    def submitted(self, name: str, event: Any) -> None:
        """Record the name and the event of a kernel that has been submitted."""

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager for the time in which SYCL waits for kernels."""
        return contextlib.nullcontext()

    def settle(self, event: Any) -> None:
        """Wait for an event without SYCL's locks; SYCL's wait would hold them while a host task delays the command."""

    def settle_queue(self, queue: Any) -> None:
        """Wait for all commands of a queue, as `settle` for an event."""


_installed = Extension()


def install(extension: Extension) -> None:
    """Use an extension in all compilations and launches from now on, in place of the previous one."""
    global _installed
    _installed = extension


def installed() -> Extension:
    """Return the extension in use; one whose methods do nothing if none was installed."""
    return _installed


def is_of_library(function: Any) -> bool:
    """Return whether a function, in numba's IR, belongs to the extension's package.

    Its integers are addresses, offsets and element counts, which fit into an int64 whatever type a program passes.
    """
    package = _installed.package
    return bool(package) and function.func_id.modname.startswith(f"{package}.")
