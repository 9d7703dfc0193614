"""Replaces the public routines by objects of the core that observe their calls.

Without observation nothing is replaced. The routines are those of ``ishmem.__all__``, with the methods of the classes
there, and the functions of ``ishmem.dpex`` that launch kernels. They are also replaced in the modules of the program,
which may have imported them before ``init``. ishmem's own modules keep the routines: only the program's calls are
observed.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple

import ishmem
from ishmem import _core
from ishmem.common import routines
from ishmem.common.routines import Data, Waits
from ishmem.dpex.front_end import COMPILER
from ishmem.runtime import kernel_loading

Routine = Callable[..., Any]

_LAUNCHES = ("call_kernel", "call_kernel_async")
_NOT_OBSERVED = ("ishmem.init_finalize", "ishmem.query")
_OF_MODELS = ("ishmem.graph", "ishmem.inference", "ishmem.moe")  # their classes are not in `ishmem` itself
_LOCKS = "ishmem.locks"  # ``with ishmem.lock()`` makes its calls later, on behalf of the program


class Instrument(NamedTuple):
    """A routine that is observed.

    Attributes:
        owner: The module or class that has it.
        name: Its name there.
        data: The direction of its data.
        waits: The kind of waits in a call.
        original: The routine.
        traced: The object that replaces it.
    """

    owner: Any
    name: str
    data: Data
    waits: Waits
    original: Routine
    traced: Any

    @property
    def shown(self) -> str:
        """The name as a program writes it."""
        return _shown(self.owner, self.name)

    @property
    def is_recordable(self) -> bool:
        """Whether a graph may record its calls; False for launches of kernels."""
        return self.name.endswith(routines.QUEUE) or self.original.__module__ in _OF_MODELS[1:]

    @property
    def categories(self) -> str:
        """Its chapter, the direction of its data, and the kind of its waits, separated by commas."""
        chapter = "kernels" if self.name in _LAUNCHES else self.original.__module__.rpartition(".")[2]
        return ",".join(filter(None, (chapter, self.data.value, self.waits.value)))


class Instruments:
    """All routines that are observed; an event of the trace contains the index of its routine in ``all``."""

    def __init__(self, submitted: Callable[[Any, int, Any], None] | None, mark: Callable[[Routine], Routine] | None):
        """Replace the routines by objects that observe their calls.

        Args:
            submitted: Called with the result of a routine that submits work to a queue, the number of the call, and
                the queue that the program has passed.
            mark: Returns a function that calls a routine and marks the call for another tool; None for no marks.
        """
        self.all: list[Instrument] = []
        self._submitted, self._mark = submitted, mark
        self._replaced: list[tuple[dict[str, Any], str, Any, Any]] = []
        self._add(_public())
        kernel_loading.when_loaded(self._add_launches)

    def _add_launches(self) -> None:
        owner = sys.modules[COMPILER.package]
        self._add((owner, name, getattr(owner, name)) for name in _LAUNCHES)

    def _add(self, found: Iterable[tuple[Any, str, Routine]]) -> None:
        new = []
        for owner, name, routine in found:
            self.all.append(self._instrument(owner, name, routine))
            new.append(self.all[-1])
        self._replace_in_program({id(each.original): each.traced for each in new if inspect.ismodule(each.owner)})
        for each in new:
            setattr(each.owner, each.name, each.traced)

    def _instrument(self, owner: Any, name: str, routine: Routine) -> Instrument:
        signature = inspect.signature(routine)
        parameters = tuple(signature.parameters)
        if inspect.isclass(owner) and parameters[:1] != ("self",):  # a method made of a routine
            parameters = ("self", *parameters)
        submits = "SyclEvent" in str(signature.return_annotation)
        data, waits = routines.of_call(name, owner.__name__ if inspect.isclass(owner) else "")
        called = self._mark(routine) if self._mark else routine
        after = self._submitted if submits else None
        traced = _core.Traced(routine, called, len(self.all), parameters, waits is Waits.PES, after)
        return Instrument(owner, name, data, waits, routine, traced)

    def _replace_in_program(self, found: dict[int, Any]) -> None:
        for name, module in list(sys.modules.items()):
            scope = getattr(module, "__dict__", None)
            library = name.split(".")[0] in ("ishmem", COMPILER.package) and name != _LOCKS
            if library or not isinstance(scope, dict):
                continue
            for key, value in list(scope.items()):
                if id(value) in found:
                    self._replaced.append((scope, key, value, found[id(value)]))
                    scope[key] = found[id(value)]

    def remove(self) -> None:
        """Restore the original routines, also in the program's modules unless these have changed them."""
        for each in self.all:
            setattr(each.owner, each.name, each.original)
        for scope, key, original, traced in self._replaced:
            if scope.get(key) is traced:
                scope[key] = original


def _public() -> Iterator[tuple[Any, str, Routine]]:
    """Yield owner, name and function of the public routines that the host calls."""
    found = [(name, getattr(ishmem, name)) for name in dir(ishmem)]
    for module in map(importlib.import_module, _OF_MODELS):
        found += [(name, getattr(module, name)) for name in module.__all__ if inspect.isclass(getattr(module, name))]
    for name, value in found:
        if inspect.isclass(value) and value.__module__.startswith("ishmem."):
            methods = [(value, each, method) for each, method in vars(value).items() if not each.startswith("_")]
            yield from (found for found in methods if inspect.isfunction(found[2]))
        elif _is_routine(value) and value.__module__ not in _NOT_OBSERVED:
            yield ishmem, name, value


def _is_routine(value: Any) -> bool:
    return (inspect.isfunction(value) or isinstance(value, _core.Routine)) and not hasattr(value, "kernel_only")


def _shown(owner: Any, name: str) -> str:
    return f"{owner.__name__}.{name}" if inspect.isclass(owner) else name
