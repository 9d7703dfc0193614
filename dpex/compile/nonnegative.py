"""Determines from its definitions whether an integer variable of a function is never negative.

Examples are the index of a loop over ``range(n)``, a work-item's id, a length, and sums and products of these. With
them, ``hash + i`` of an uint64 and an index has the type uint64 in a kernel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba.core import ir, types

from ..extension import installed
from ..language.integer_types import range_of
from ..language.integers import with_in_place
from .types import IndexSpaceType, SubGroupType

_EXTENTS = "shape", "size", "ndim", "nbytes", "itemsize"
_BOTH = {each for name in ("add", "mul", "floordiv", "or_", "xor") for each in with_in_place(name)}
"""Operators whose result is nonnegative if both operands are. For `_LEFT`, `_RIGHT` and `_EITHER`, one suffices."""
_LEFT = {each for name in ("lshift", "rshift", "pow") for each in with_in_place(name)}
_RIGHT = set(with_in_place("mod"))
_EITHER = set(with_in_place("and_"))


def _value(definition: Any) -> Any:
    """Return the value of a constant or global; None for others, whose attributes raise ``KeyError``."""
    return definition.value if isinstance(definition, (ir.Const, ir.Global, ir.FreeVar)) else None


class Naturals:
    """Finds nonnegative variables of a function by their definitions in numba's IR.

    Args:
        inferer: numba's type inference of the function.
    """

    def __init__(self, inferer: Any) -> None:
        self.inferer, self.function = inferer, inferer.func_ir
        self._asked: set[str] = set()

    def has(self, name: str) -> bool:
        """Return whether variable ``name`` is an integer that is never negative, as far as its definitions show."""
        kind = self.inferer.typevars[name].type
        if kind is not None and not isinstance(kind, (types.Integer, types.Boolean)):
            return False
        values = range_of(kind) if kind is not None else None
        if (values and values.is_natural) or name in self._asked:
            return True  # in a loop, nothing else has made it negative
        return self.defines(name)

    def defines(self, name: str) -> bool:
        """Return whether a variable has assignments, all of them of integers that are never negative."""
        before = set(self._asked)
        self._asked.add(name)
        found = bool(self._defined(name)) and all(map(self._is_natural, self._defined(name)))
        if not found:
            self._asked = before  # what was taken for natural on the way may not be
        return found

    def _defined(self, name: str) -> list[Any]:
        return list(self.function._definitions.get(name, ()))

    def _definition(self, variable: Any) -> Any:
        """Return the expression that defines a variable, through copies; ``None`` if there is not exactly one."""
        while isinstance(variable, ir.Var):
            defined = self._defined(variable.name)
            variable = defined[0] if len(defined) == 1 else None
        return variable

    def _is_natural(self, value: Any) -> bool:
        if isinstance(value, ir.Var):
            return self.has(value.name)
        if isinstance(value, (ir.Const, ir.Global, ir.FreeVar)):
            return isinstance(value.value, int) and value.value >= 0
        code = getattr(self, f"_of_{value.op}", None) if isinstance(value, ir.Expr) else None
        return bool(code and code(value))

    def _of_cast(self, value: Any) -> bool:
        return self.has(value.value.name)

    def _of_phi(self, value: Any) -> bool:
        return all(each is ir.UNDEFINED or self.has(each.name) for each in value.incoming_values)

    def _of_binop(self, value: Any) -> bool:
        left, right = value.lhs.name, value.rhs.name
        if value.fn in _EITHER:
            return self.has(left) or self.has(right)
        wanted = [left] * (value.fn in _BOTH | _LEFT) + [right] * (value.fn in _BOTH | _RIGHT)
        return bool(wanted) and all(map(self.has, wanted))

    _of_inplace_binop = _of_binop

    def _of_getattr(self, value: Any) -> bool:
        return value.attr in _EXTENTS

    def _of_static_getitem(self, value: Any) -> bool:
        of = self._definition(value.value)
        while isinstance(of, ir.Expr) and of.op == "exhaust_iter":
            of = self._definition(of.value)
        return isinstance(of, ir.Expr) and of.op == "getattr" and of.attr == "shape"

    _of_getitem = _of_static_getitem

    def _of_pair_first(self, value: Any) -> bool:
        """Return whether a loop is over a ``range`` whose values are all nonnegative."""
        step = self._definition(value.value)
        start = self._definition(step.value) if isinstance(step, ir.Expr) and step.op == "iternext" else None
        given = self._definition(start.value) if isinstance(start, ir.Expr) and start.op == "getiter" else None
        if not isinstance(given, ir.Expr) or given.op != "call" or self._called(given) is not range:
            return False
        if len(given.args) == 3 and self._constant(given.args[2]) < 0:
            return self._constant(given.args[1]) >= -1
        return len(given.args) == 1 or all(self.has(each.name) for each in (given.args[0], *given.args[2:]))

    def _constant(self, variable: Any) -> float:
        """Return the value of a variable that is defined as an integer constant; NaN for others."""
        value = _value(self._definition(variable))
        return value if isinstance(value, int) else math.nan

    def _of_call(self, value: Any) -> bool:
        function, arguments = self._called(value), [each.name for each in value.args]
        if function in (len, abs) or installed().unwrapped(function) in installed().counts:
            return True
        if function is np.int64 and any(self.inferer.typevars[each].type == types.uint64 for each in arguments):
            return False  # from 2**63 on, it is negative
        if function in (int, np.int64, min, round):
            return all(map(self.has, arguments[:1] if function is round else arguments))
        return any(map(self.has, arguments)) if function is max else self._is_place(value)

    def _is_place(self, call: Any) -> bool:
        """Return whether a call is of a method of an item or group that returns an id or an extent."""
        method = self._definition(call.func)
        if not isinstance(method, ir.Expr) or method.op != "getattr":
            return False
        kind = self.inferer.typevars[method.value.name].type
        return isinstance(kind, IndexSpaceType) and not (isinstance(kind, SubGroupType) and call.args)

    def _called(self, call: Any) -> Any:
        """Return the called function, or ``None`` if it is not a global or a module's attribute."""
        function = self._definition(call.func)
        if isinstance(function, ir.Expr) and function.op == "getattr":
            module = self._definition(function.value)
            return getattr(_value(module), function.attr, None)
        found = _value(function)
        return found if callable(found) and getattr(found, "__hash__", None) else None
