"""Functions of numba that are wrong for kernels, replaced: one assumes one address space, one loses ``:=``.

``docs/upstream.md`` has the text of a report to numba for each.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, ir
from numba.core.interpreter import Interpreter


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
