"""Elements of tuples by an index that is not a constant.

numba merges the elements by a phi, and LLVM's SPIR-V back end fails at a phi of constant structures, such as tuples and
complex numbers. Here the element is stored in a variable, whose members LLVM merges one by one.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import RefType, impl_ret_borrowed, iternext_impl

from ..compile.target import overrides


@overrides.lower(operator.getitem, types.UniTuple, types.intp)  # type: ignore[untyped-decorator, unused-ignore]
@overrides.lower(operator.getitem, types.UniTuple, types.uintp)  # type: ignore[untyped-decorator, unused-ignore]
@overrides.lower(operator.getitem, types.NamedUniTuple, types.intp)  # type: ignore[untyped-decorator, unused-ignore]
@overrides.lower(operator.getitem, types.NamedUniTuple, types.uintp)  # type: ignore[untyped-decorator, unused-ignore]
def _element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return the element; an index out of bounds ends the work-item by an exception."""
    kind, (whole, index) = signature.args[0], arguments
    found = cgutils.alloca_once(builder, context.get_value_type(kind.dtype))
    outside, end = (builder.append_basic_block(name) for name in ("outside", "end"))
    switch = builder.switch(index, outside)
    with builder.goto_block(outside):
        context.call_conv.return_user_exc(builder, IndexError, ("tuple index out of range",))
    for place in range(kind.count):
        block = builder.append_basic_block(f"element.{place}")
        for number in (place, place - kind.count):
            switch.add_case(context.get_constant(types.intp, number), block)
        with builder.goto_block(block):
            builder.store(builder.extract_value(whole, place), found)
            builder.branch(end)
    builder.position_at_end(end)
    return impl_ret_borrowed(context, builder, signature.return_type, builder.load(found))


@overrides.lower("iternext", types.UniTupleIter)  # type: ignore[untyped-decorator, unused-ignore]
@iternext_impl(RefType.BORROWED)  # type: ignore[untyped-decorator, unused-ignore]
def _next(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
    """Emit an iteration of a loop over a tuple; ``result`` receives the element and whether there is one."""
    kind = signature.args[0]
    state = context.make_helper(builder, kind, value=arguments[0])
    number = builder.load(state.index)
    result.set_valid(builder.icmp_signed("<", number, context.get_constant(types.intp, kind.container.count)))
    with builder.if_then(result.is_valid()):
        element = kind.container.dtype(kind.container, types.intp)
        result.yield_(_element(context, builder, element, [state.tuple, number]))
        builder.store(builder.add(number, context.get_constant(types.intp, 1)), state.index)
