"""PEs as forks of a process that has imported the SYCL stack: ``ishmem run --preload``.

A new interpreter takes most of a second of processor time to import dpctl, dpnp and numba, and each PE is one. Here the
supervisor imports modules that need no device (`load`), and its children run the program (`run`).
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import os
import runpy
import signal
import sys
import traceback
import types
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from typing import Callable, NoReturn

from ishmem.dpex.front_end import COMPILER
from ishmem.environment import pinned_libraries, stack

_NUMBA = (
    "numba.core.typing.cmathdecl", "numba.core.typing.enumdecl", "numba.cpython.cmathimpl", "numba.cpython.numbers",
    "numba.cpython.slicing", "numba.misc.mergesort", "numba.misc.quicksort", "numba.np.arrayobj", "numba.np.linalg",
    "numba.np.npyfuncs", "numba.np.npyimpl",
)  # fmt: skip
_COMPILER = (COMPILER.module, "ishmem.kernels") if COMPILER.leaves_devices else ()

_FOR_KEYS = ("importlib.metadata._adapters",)  # the keys of kernels contain versions of packages
_AT_INIT = (
    "ishmem.environment.settings", "ishmem.ipc.links", "ishmem.runtime.device_sharing",
    "ishmem.runtime.late_delivery", "ishmem.init_finalize",
)  # fmt: skip

MODULES = ("dpnp", *_NUMBA, *_COMPILER, *_FOR_KEYS, *_AT_INIT)
"""The modules that are imported once; each PE imports others itself."""

_LAPACK = "dpnp.backend.extensions.lapack._lapack_impl"
"""A module of dpnp on today's stack whose library reads ``ONEAPI_DEVICE_SELECTOR`` when it is loaded. The variable
differs among PEs, so each PE loads the module at its first use, and has a placeholder before."""

_kept: set[int] | None = None
_loaded: set[str] = set()


class Program(BaseException):
    """Raised in a forked PE to unwind it to its first frame, which calls `run`."""

    def __init__(self, command: Sequence[str], kept: Sequence[int]) -> None:
        """Store the command of the PE, ``[python, ...]`` or ``[python, "-u", ...]``, and descriptors to leave open."""
        super().__init__(command)
        self.command, self.kept = list(command), set(kept)


class Forked:
    """A forked PE, with the attributes ``pid`` and ``returncode`` of `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        """Set the process number; there is no exit status yet."""
        self.pid, self.returncode = pid, None


class _Placeholder:
    """An import hook that replaces the module `_LAPACK` by a placeholder, which imports it at the first use."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name == _LAPACK and not pinned_libraries.apply() else None  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> None:
        """Return None, so that Python creates the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Define ``LinAlgError``, which dpnp uses at its import, as a class that can become a base of the real one."""
        module.LinAlgError = type("LinAlgError", (ValueError,), {"__slots__": ()})  # type: ignore[attr-defined]
        module.__getattr__ = lambda name: _of_lapack(module, name)  # type: ignore[method-assign]


def _of_lapack(placeholder: types.ModuleType, name: str) -> object:
    """Return an attribute of the module `_LAPACK`, imported at the first call with the placeholder's error as base."""
    if name.startswith("__"):
        raise AttributeError(name)
    if sys.modules[_LAPACK] is placeholder:
        del sys.modules[_LAPACK]
        error, base = importlib.import_module(_LAPACK).LinAlgError, placeholder.LinAlgError
        error.__bases__, error.__module__ = (base,), base.__module__  # as dpnp has set it
    return getattr(sys.modules[_LAPACK], name)


def load(*others: str) -> None:
    """Import `MODULES` and the modules named ``others``; only the first call in a process does so.

    Raises:
        ImportError, IshmemError, ValueError: As ``ishmem.environment.stack.load``.
    """
    global _kept
    if _kept is None:
        before, imported = _open_files(), set(sys.modules)
        atexit.register(_leave_modules)
        finder = _Placeholder()
        sys.meta_path.insert(0, finder)
        for name in (*MODULES, *others):
            importlib.import_module(name)
        sys.meta_path.remove(finder)
        _kept = _open_files() - before
        _loaded.update(set(sys.modules) - imported)
        gc.freeze()  # or the first collection of a child would write to all pages of these objects


def _leave_modules() -> None:
    """Keep the preloaded modules from being cleared at the interpreter's exit, which would copy shared pages."""
    modules = [sys.modules.pop(name) for name in _loaded & set(sys.modules)]
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(modules))


def can_run(command: Sequence[str]) -> bool:
    """Return whether this process has called `load`, and the command is a Python program."""
    return _kept is not None and is_program(command)


def is_program(command: Sequence[str]) -> bool:
    """Return whether a command is this interpreter with a Python program and no other option than ``-u``."""
    is_python, words = command[:1] == [sys.executable], command[1:]
    return is_python and bool(words) and (words[0] == "-u" or not words[0].startswith("-"))


def fork(
    command: Sequence[str],
    environment: dict[str, str],
    streams: Sequence[int],
    prepare: Callable[[], None],
    kept: Sequence[int] = (),
) -> Forked:
    """Fork a PE and return it; in the child, raise `Program`, or exit with 1 if ``prepare`` fails.

    Args:
        command: The command of the PE.
        environment: The environment of the PE.
        streams: The descriptors that become standard input, output and error.
        prepare: A function that the child calls first, as leader of a new session.
        kept: Other descriptors that stay open.
    """
    pid = os.fork()
    if pid:
        return Forked(pid)
    try:
        os.setsid()
        prepare()
        replace(streams, environment)
    except Exception:  # the child must not go on as its parent
        traceback.print_exc()
        os._exit(1)
    raise Program(command, kept)


def replace(streams: Sequence[int], environment: Mapping[str, str]) -> None:
    """Replace standard streams by ``streams``, and the environment by ``environment`` with the stack's defaults."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.environ.clear()
    os.environ.update({**stack.defaults(), **environment})


def run(command: Sequence[str], kept: set[int]) -> NoReturn:
    """Run a Python program as a new interpreter would, and exit; the arguments are the attributes of a `Program`.

    `load` was called before. The exception itself is not passed: its traceback refers to the launcher's open files.
    """
    _close_files(kept)
    words = list(command[1:])
    if words[0] == "-u":
        del words[0]
        _unbuffer()
    sys.modules["numpy"].random.seed()  # of its own, or all PEs would draw the same numbers
    from zipfile import is_zipfile  # ishmem run is quicker without it

    kind, *arguments = words
    try:
        if kind == "-m":
            sys.argv, sys.path[0] = arguments, os.getcwd()
            runpy._run_module_as_main(arguments[0])  # type: ignore[attr-defined]
        elif kind == "-c":
            sys.argv, sys.path[0] = [kind, *arguments[1:]], ""
            _execute(arguments[0], "<string>")
        elif os.path.isdir(kind) or is_zipfile(kind):
            sys.argv, sys.path[0] = [kind, *arguments], kind
            runpy._run_module_as_main("__main__", False)  # type: ignore[attr-defined]
        else:
            sys.argv, sys.path[0] = [kind, *arguments], os.path.dirname(os.path.realpath(kind))
            path = os.path.join(os.getcwd(), kind)
            with open(path, "rb") as file:
                _execute(file.read(), path)
    except SystemExit:
        raise
    except BaseException as error:
        _end_with(error)
    sys.exit(0)


def _execute(source: str | bytes, name: str) -> None:
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    if os.path.isabs(name):
        main.__file__, main.__loader__ = name, SourceFileLoader("__main__", name)
    exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)


def _end_with(error: BaseException) -> NoReturn:
    """Print an exception that the program does not catch, and end as the interpreter does."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_globals.get("__name__") in (__name__, "importlib._bootstrap"):
        trace = trace.tb_next
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    sys.excepthook(type(error), error, trace)
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    sys.exit(1)


def _open_files() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/fd")}


def _close_files(kept: set[int]) -> None:
    """Close the files of the launcher except ``kept`` and those that the imports have opened."""
    gc.collect()  # objects of the launcher, which would close other files of the same numbers later
    for number in _open_files() - (_kept or set()) - kept - {0, 1, 2}:
        with contextlib.suppress(OSError):
            os.close(number)


def _unbuffer() -> None:
    """Replace the standard streams by unbuffered ones, as those of ``python -u``."""
    for number, name in ((1, "stdout"), (2, "stderr")):
        before, raw = getattr(sys, name), io.FileIO(number, "wb", closefd=False)
        raw.name = f"<{name}>"
        stream = io.TextIOWrapper(raw, encoding=before.encoding, errors=before.errors, write_through=True)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
