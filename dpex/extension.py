"""The interface of a library that adds functions to kernels: what the compiler calls."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NamedTuple

from .errors import DeviceLostError


class Origin(NamedTuple):
    """The registered function that has chosen an implementation, and the types from which it has done so.

    Attributes:
        name: A name that no other registered function of the library has, the same in all processes.
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
        file: The file.
        line: The line there.
    """

    function: str
    file: str
    line: int


class KernelFailure(NamedTuple):
    """An error in a kernel.

    Attributes:
        place: Where it happens.
        error: The class of the exception.
        text: Its message, without values that are known only at run time.
        index: For an index out of bounds, its value in LLVM, an int64.
        axis: For an index, its dimension.
        shape: For an index, the extents of the array in LLVM, each an int64.
    """

    place: SourceLine
    error: type[BaseException]
    text: str
    index: Any = None
    axis: int = 0
    shape: tuple[Any, ...] = ()


class Extension:
    """A library's part in the compilation of kernels; each method does nothing until it is overridden.

    Attributes:
        package: The name of the library's package. Kernels refer to its objects by name.
        sources: A digest of the library's sources, which is in the key of every kernel.
        counts: The functions of the library that give an integer which is never negative.
        device_lost: The class and the arguments of the error of a launch whose device is lost.
    """

    package = ""
    sources = ""
    counts: frozenset[Any] = frozenset()
    device_lost: tuple[type[Exception], tuple[Any, ...]] = DeviceLostError, ()

    def transform(self, code: bytes) -> bytes:
        """Return a kernel's SPIR-V as this process builds it; by default, it stays the same."""
        return code

    def storable(self, code: bytes) -> bytes | None:
        """Return the SPIR-V to store on disk, which `transform` fits to any process, or ``None`` if there is none."""
        return code

    def key_parts(self, lines: Sequence[Any]) -> Any:
        """Return what the code of a kernel or a device function that uses the library depends on, as plain values.

        Args:
            lines: Where the functions of the kernel stand in their files.

        Raises:
            NoKeyError: The code cannot be cached.
        """
        return ()

    def recording(self, queue: Any) -> Any:
        """Return the recording of a queue, if its commands are recorded to a graph; else ``None``.

        It has the methods ``before(events)``, which returns what the next command follows, and ``note(event, kept)``,
        which takes the command that was recorded and returns its event.
        """

    def unwrapped(self, value: Any) -> Any:
        """Return the object that a wrapper of the library stands for, and other objects unchanged."""
        return value

    def described(self, value: Any) -> tuple[Any, ...] | None:
        """Return a kernel, or a constant of one, as plain values if these and the sources say all; else ``None``."""
        return None

    def origin(self, function: Any) -> Origin | None:
        """Return the origin of a device function of the library, or ``None`` for others."""
        return None

    def looks_at_empty_arrays(self) -> bool:
        """Return whether the address of an array without elements matters to the library's device functions."""
        return True

    def watches(self, file: str) -> bool:
        """Return whether failures of device functions in a file are reported; then their array accesses are checked."""
        return False

    def report(self, context: Any, builder: Any, failure: KernelFailure) -> None:
        """Emit the report of a failure in a function that is watched.

        Args:
            context: numba's target context.
            builder: llvmlite's builder, in a block that runs if the failure happens.
            failure: What happens.
        """

    def record_place(self, context: Any, builder: Any, place: SourceLine) -> None:
        """Emit a note of where a function was called that may have reported a failure in a library's code.

        Args:
            context: numba's target context.
            builder: llvmlite's builder, in a block that runs if the called function has ended by an exception.
            place: The line of the call, in a function that is watched.
        """

    def compiles_first(self) -> bool:
        """Return whether this process compiles before the others of its user that need the same kernel."""
        return True

    def expect_build(self) -> None:
        """Prepare the device's compiler: this process or another one is going to compile a kernel to SPIR-V."""

    def compile_error(self, name: str, file: str, line: int, text: str) -> Exception | None:
        """Return the error to raise for a kernel that does not compile, or ``None`` for the compiler's own.

        Args:
            name: The name of the kernel.
            file: Where it is defined.
            line: The line there.
            text: What the compiler reports.
        """
        return None

    def load(self) -> None:
        """Make the functions of the library known to numba; called before each use of numba.

        A kernel in the cache is launched without numba, so without a call.
        """

    def build_error(self, name: str, queue: Any, code: bytes, flags: str = "") -> Exception | None:
        """Return the error to raise for a kernel that does not build on a device, or ``None`` for the usual one.

        Args:
            name: The name of the kernel.
            queue: The queue of the launch.
            code: The SPIR-V of the kernel.
            flags: Of the device's compiler.
        """
        return None

    def array(self, argument: Any) -> Any:
        """Return the dpnp array or ``usm_ndarray`` that is passed for an argument of another library."""
        return argument

    def check(self, name: str, arguments: Sequence[Any]) -> None:
        """Check the arguments of a launch; raise if one must not be used.

        Args:
            name: The name of the kernel.
            arguments: The arguments after the item.
        """

    def raise_problems(self) -> None:
        """Raise the error of a device that accepts no kernel, if the library has its cause; SYCL gives none."""

    def submitted(self, name: str, event: Any) -> None:
        """Note the name and the event of a kernel that has been submitted."""

    def waiting(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager that the caller enters while SYCL waits for kernels; by default it does nothing."""
        return contextlib.nullcontext()

    def settle(self, event: Any) -> None:
        """Wait for an event without SYCL's locks, before SYCL waits: a host task may hold back its command."""

    def settle_queue(self, queue: Any) -> None:
        """Wait for a queue, as `settle`."""


_installed = Extension()


def install(extension: Extension) -> None:
    """Make an extension part of every compilation, in place of the one before."""
    global _installed
    _installed = extension


def installed() -> Extension:
    """Return the extension that is part of every compilation."""
    return _installed


def is_of_library(function: Any) -> bool:
    """Return whether a function, in numba's IR, is the extension's.

    Its integers are addresses, offsets and numbers of elements: an int64 holds them, whatever type a program gives.
    """
    package = _installed.package
    return bool(package) and function.func_id.modname.startswith(f"{package}.")
