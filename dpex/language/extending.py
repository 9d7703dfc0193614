"""Adds functions and methods that kernels may call, each with its type rule and its code.

A rule takes the types of all parameters, with literals as literal types and defaults as their values, and returns a
type and a function that emits the code. Unlike numba's ``overload``, nothing is compiled for a call.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from numba.core import types
from numba.core.errors import TypingError
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, fold_arguments

from ..compile.target import registry, typing_registry

Emit = Callable[[Any, Any, Any], Any]
"""Emits a call, given target context, builder and argument values; returns the value of the call, or None."""

Rule = Callable[..., tuple[Any, Emit]]
"""Returns the result's type and the code of a call with given argument types."""


class WrongConstantError(TypingError):  # type: ignore[misc]
    """The value of a constant argument is not allowed; raised by a rule.

    After other errors, numba tries a call again with constants as plain types; after this one, it does not.
    """


def add_function(function: Callable[..., Any], rule: Rule) -> None:
    """Register a function or class, with its parameters and defaults, for calls in kernels, typed by a rule."""
    template = _template(f"{function.__name__}", inspect.signature(function), rule)
    typing_registry.register_global(function, types.Function(template))


def add_method(kind: type, method: Callable[..., Any], rule: Rule) -> None:
    """Register a method of type ``kind`` for calls in kernels; the first argument of the rule is the object's type."""
    plain = inspect.signature(method)
    pysig = plain.replace(parameters=list(plain.parameters.values())[1:])
    name = method.__name__

    @functools.cache
    def template(receiver: Any) -> Any:
        return _template(f"{kind.__name__}.{name}", pysig, rule, receiver)

    def resolve(self: Any, receiver: Any) -> Any:
        return types.BoundFunction(template(receiver), receiver)

    _add_attribute(kind, name, resolve)


def add_attribute(kind: type, name: str, result: Any, emit: Callable[[Any, Any, Any, Any], Any]) -> None:
    """Register attribute ``name`` of type ``kind``; ``emit(context, builder, type, value)`` emits a ``result``."""
    _add_attribute(kind, name, lambda self, receiver: result)

    @registry.lower_getattr(kind, name)  # type: ignore[untyped-decorator, unused-ignore]
    def code(context: Any, builder: Any, receiver: Any, value: Any) -> Any:
        return emit(context, builder, receiver, value)


def _add_attribute(kind: type, name: str, resolve: Callable[[Any, Any], Any]) -> None:
    members = {"key": kind, f"resolve_{name}": resolve}
    typing_registry.register_attr(type(f"{kind.__name__}_{name}", (AttributeTemplate,), members))


def _template(name: str, pysig: inspect.Signature, rule: Rule, *receiver: Any) -> type[AbstractTemplate]:
    codes: dict[Any, Emit] = {}

    class Template(AbstractTemplate):  # type: ignore[misc]
        key = name, receiver, rule
        prefer_literal = True
        _refused: WrongConstantError | None = None

        def generic(self, args: Any, kws: Any) -> Any:
            if self._refused:  # in the attempt before, of the same call
                raise self._refused
            folded = _folded(pysig, args, kws)
            try:
                result, emit = rule(*receiver, *(_constant_or_type(each) for each in folded))
            except WrongConstantError as error:
                self._refused = error
                raise
            kinds = (*receiver, *folded)
            codes[kinds] = emit
            return signature(result, *folded, recvr=receiver[0] if receiver else None).replace(pysig=pysig)

    @registry.lower(Template.key, types.VarArg(types.Any))  # type: ignore[untyped-decorator, unused-ignore]
    def code(context: Any, builder: Any, made: Any, arguments: Any) -> Any:
        result = codes[made.args](context, builder, arguments)
        return context.get_dummy_value() if result is None else result

    return Template


def _folded(pysig: inspect.Signature, args: Any, kws: Any) -> tuple[Any, ...]:
    return tuple(
        fold_arguments(
            pysig, args, kws,
            lambda _index, _parameter, given: given,
            lambda _index, _parameter, default: types.Omitted(default),
            lambda _index, _parameter, given: types.StarArgTuple(given),
        )
    )  # fmt: skip


def _constant_or_type(kind: Any) -> Any:
    return kind.value if isinstance(kind, types.Omitted) else kind
