"""Functions of numba that are wrong or slow for kernels.

One assumes one address space, one loses ``:=``, one takes long for operators on arrays. ``docs/upstream.md`` has the
text of a report to numba for the first two.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.interpreter import Interpreter
from numba.core.typing import npydecl
from numba.core.typing.templates import Registry


def pointer_add(builder: Any, ptr: Any, offset: Any, return_type: Any = None) -> Any:
    """Add bytes to a pointer, in the address space of the pointer; numba's function casts it to address space 0."""
    if isinstance(offset, int):
        offset = cgutils.intp_t(offset)
    base = builder.bitcast(ptr, cgutils.int8_t.as_pointer(getattr(ptr.type, "addrspace", 0)))
    return builder.bitcast(builder.gep(base, [offset]), return_type or ptr.type)


def remove_unused_temporaries(interpreter: Any) -> None:
    """Let a block assign a value to its variable at once, and keep the temporary where ``(x := value)`` is used.

    numba's method replaces ``t = value; x = t`` by ``x = value``, also where the block uses ``t`` again.
    """
    before = [each for each in interpreter.current_block.body if isinstance(each, ir.Assign)]
    made = {each.target.name: each for each in before}
    _remove(interpreter)
    body = interpreter.current_block.body
    used = {each.name for statement in body for each in statement.list_vars()}
    used.update(interpreter.dfainfo.outgoing_phis.values())
    for each in before:
        name = each.value.name if isinstance(each.value, ir.Var) and each.value.is_temp else None
        merged = made.get(name) if name in used else None
        if merged and merged is not each and merged.target is each.target:
            body.insert(body.index(merged) + 1, ir.Assign(each.target, each.value, each.loc))
            interpreter.definitions[name].append(each.target)


_remove = Interpreter._remove_unused_temporaries


def install() -> None:
    """Replace the functions."""
    cgutils.pointer_add = pointer_add
    Interpreter._remove_unused_temporaries = remove_unused_temporaries


class _OfArrays:
    """Looks for an array before numba looks for a loop of the ufunc that takes the types."""

    def generic(self, args: Any, kws: Any) -> Any:
        """Return the signature for these arguments; None if none of them is an array."""
        certain = (each.type if isinstance(each, types.Optional) else each for each in args)
        is_array = any(isinstance(each, types.ArrayCompatible) for each in certain)
        return super().generic(args, kws) if is_array else None  # type: ignore[misc]


def _asked_later(kind: Any) -> Any:
    template = kind.templates[0] if isinstance(kind, types.Function) else None
    if template is None or not issubclass(template, npydecl.NumpyRulesArrayOperator):
        return kind
    return types.Function(type(template.__name__, (_OfArrays, template), {"key": template.key}))


numpy_registry = Registry()
"""What numba knows of numpy's functions, with types of operators on whole arrays that take no time for numbers.

Kernels have no memory for the result, so these only serve an error that says so.
"""
numpy_registry.functions, numpy_registry.attributes = npydecl.registry.functions, npydecl.registry.attributes
numpy_registry.globals = [(value, _asked_later(kind)) for value, kind in npydecl.registry.globals]
