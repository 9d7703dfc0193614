"""Converts the positional and named arguments of a launch to positional ones, with defaults for omitted ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, signature
from typing import Any, Callable


def completed(name: str, function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
    """Return the arguments of a launch by position, without the item, from those ``given`` by position and ``named``.

    The kernel ``function`` has no item if there are arguments for all its parameters, or one for the first by name.

    Raises:
        TypeError: The kernel has no parameter of a name, it gets two values, or one without a default gets none.
    """
    parameters = list(signature(function).parameters.values())
    has_item = len(given) + len(named) < len(parameters) and parameters[0].name not in named
    own = parameters[1:] if has_item else parameters
    values = list(given)
    for parameter in own[len(given) :]:
        value = named.get(parameter.name, parameter.default)
        if value is parameter.empty:
            raise TypeError(f"{_takes(name, own)}, got none for {parameter.name}")
        values.append(value)
    wrong = set(named) - {each.name for each in own[len(given) :]}
    if wrong:
        twice = " once more" if wrong & {each.name for each in own} else ""
        raise TypeError(f"{_takes(name, own)}, got {', '.join(sorted(wrong))}{twice}")
    if any(each.kind == Parameter.KEYWORD_ONLY for each in own[: len(given)]):
        raise TypeError(f"{_takes(name, own)}, got {len(given)} by position")
    return values


def _takes(name: str, parameters: Sequence[Parameter]) -> str:
    """Return the beginning of an error message, which lists a kernel's parameters and their defaults."""
    shown = [each.name if each.default is each.empty else f"{each.name}={each.default!r}" for each in parameters]
    named = next((n for n, each in enumerate(parameters) if each.kind == Parameter.KEYWORD_ONLY), None)
    if named is not None:
        shown.insert(named, "*")
    return f"the kernel {name} takes {', '.join(shown) or 'no arguments'} after the item"
