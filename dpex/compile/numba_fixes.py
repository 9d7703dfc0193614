"""Replacements of numba functions that are wrong or slow for kernels.

They fix pointers in address spaces, the walrus operator ``:=``, and slow type inference of operators on arrays.
``docs/upstream.md`` has the text of a report to numba for the first two.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir, types
from numba.core.interpreter import Interpreter
from numba.core.typing import npydecl
from numba.core.typing.templates import Registry


def pointer_add(builder: Any, ptr: Any, offset: Any, return_type: Any = None) -> Any:
    """Emit a pointer plus an offset in bytes, in the pointer's address space; numba's function casts it to space 0."""
    if isinstance(offset, int):
        offset = cgutils.intp_t(offset)
    base = builder.bitcast(ptr, cgutils.int8_t.as_pointer(getattr(ptr.type, "addrspace", 0)))
    return builder.bitcast(builder.gep(base, [offset]), return_type or ptr.type)


def remove_unused_temporaries(interpreter: Any) -> None:
    """Replace ``t = value; x = t`` in a block by ``x = value``, unless ``t`` is used again.

    numba's method replaces it also where the block uses ``t`` again, as for ``(x := value)``.
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
    """Replace numba's functions by `pointer_add` and `remove_unused_temporaries`."""
    cgutils.pointer_add = pointer_add
    Interpreter._remove_unused_temporaries = remove_unused_temporaries


class _OfArrays:
    """A mixin for numba's templates of array operators: without an array argument, it skips the search for loops."""

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
"""numba's typing registry of numpy, with templates of array operators that return at once for numbers.

Kernels have no memory for the result of array operators, which are typed only for a good error message.
"""
numpy_registry.functions, numpy_registry.attributes = npydecl.registry.functions, npydecl.registry.attributes
numpy_registry.globals = [(value, _asked_later(kind)) for value, kind in npydecl.registry.globals]
