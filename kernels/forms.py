"""Device forms of routines from one function: for a work-item, for a group, and under the names of other routines.

Calls of functions without a device form are refused, with an error that names an alternative.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import FunctionType, ModuleType
from typing import Any, Callable, get_type_hints

from numba.core.errors import TypingError
from numba.extending import overload

import ishmem

from . import type_checks
from .front_end import TARGET
from .intrinsics import compiled, device, registered, written

Function = Callable[..., Any]


def form(host: Function, check: Function, *bodies: Function, **changes: Any) -> None:
    """Register the device form of a routine.

    The form has those parameters of a body that the routine has, and ``call_site``. The body receives None for the
    others, such as ``group`` in a routine for one work-item.

    Args:
        host: The routine.
        check: ``check(name, **kinds)`` checks the types of the arguments, without ``group`` and ``call_site``. It
            returns the number of the body for them, or None for the first one.
        bodies: Functions that kernels compile, all with the same parameters.
        changes: New names of parameters of a body in the routine; None for a parameter that the form lacks.
    """
    name, given = host.__name__, _parameters(bodies[0])
    kept = {*inspect.signature(host).parameters, "call_site"}
    names = {each: changes.get(each, each) for each in given}
    left = [each.replace(name=names[each.name]) for each in given.values() if names[each.name] in kept]
    signature = inspect.Signature(left)
    passed = ", ".join(str(each if each in kept else None) for each in names.values())
    runs = {} if [*signature.parameters] == [*given] else {body: _run(body) for body in bodies}

    def choose(*arguments: Any, **named: Any) -> Any:
        bound = signature.bind(*arguments, **named)
        bound.apply_defaults()
        kinds = {each: kind for each, kind in bound.arguments.items() if each not in ("group", "call_site")}
        if "call_site" in bound.arguments:
            type_checks.may_wait(name)
            type_checks.call_site(name, bound.arguments["call_site"])
        body = bodies[check(name, **kinds) or 0]
        if runs:
            return written(body, left, [f"return run({passed})"], {"run": runs[body]})
        return FunctionType(body.__code__, body.__globals__, body.__name__, body.__defaults__, body.__closure__)

    functools.update_wrapper(choose, bodies[0])
    choose.__signature__ = signature  # type: ignore[attr-defined]
    device(host)(choose)


def forms(module: ModuleType, name: str, check: Function, *bodies: Function, **changes: Any) -> None:
    """Register the forms of routine ``name`` of a module for a work-item and for a group; the rest is as for `form`."""
    for host in (name, f"{name}_work_group"):
        form(getattr(module, host), check, *bodies, **changes)


def no_check(_routine: str) -> None:
    """Accept any call: the check of routines without parameters."""


def integers(routine: str, **kinds: Any) -> None:
    """Raise ``TypingError`` unless the types of all arguments of ``routine`` are integers."""
    for name, kind in kinds.items():
        type_checks.integer(routine, name, kind)


def array_and_integers(routine: str, a: Any, **kinds: Any) -> None:
    """Raise ``TypingError`` unless argument ``a`` of ``routine`` is an array, and all others are integers."""
    type_checks.array(routine, "a", a)
    integers(routine, **kinds)


_run = functools.cache(compiled)


@functools.cache
def _parameters(function: Function) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def of_fields(body: Function) -> Function:
    """Return ``body`` with a parameter for each field of its named tuples, which kernels cannot receive.

    Annotations state which parameters are named tuples.
    """
    kinds = {name: kind for name, kind in get_type_hints(body).items() if hasattr(kind, "_fields")}
    parameters, passed = [], []
    for each in inspect.signature(body).parameters.values():
        fields = [f"{each.name}_{field}" for field in kinds[each.name]._fields] if each.name in kinds else []
        parameters += [each.replace(name=field) for field in fields] or [each]
        passed.append(f"{kinds[each.name].__name__}({', '.join(fields)})" if fields else each.name)
    scope = {kind.__name__: kind for kind in kinds.values()}
    return written(body, parameters, [f"run({', '.join(passed)})"], {"run": compiled(body), **scope})


_ADVICE = {
    "ishmem.memory": "allocate and free on the host and pass the array to the kernel",
    "ishmem.init_finalize": "call it on the host",
    "ishmem.on_queue": "on-queue routines are called on the host",
    "ishmem.collectives_on_queue": "on-queue routines are called on the host",
}


def refuse_host_functions() -> None:
    """Register, for each public function without a device form, the error of kernels that call it."""
    for name in vars(ishmem)["__all__"]:
        function = getattr(ishmem, name)
        if callable(function) and not isinstance(function, type) and function not in registered:
            overload(function, target=TARGET)(_refusal(name, function))


def _refusal(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    module = getattr(function, "__module__", "")
    advice = _ADVICE.get(module, "call it on the host, or use a routine that docs/c-to-python.md lists for kernels")

    def refuse(*_arguments: Any, **_keywords: Any) -> Any:
        raise TypingError(f"ishmem.{name} is a host function and has no form for kernels; {advice}")

    return refuse
