"""The slice ``array[start:stop]`` in kernels."""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import make_array, make_view

from ..compile.target import registry
from ..compile.types import USMNdArray
from .clipping import sliced


@registry.lower(operator.getitem, USMNdArray, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the view."""
    kind = signature.args[0]
    array = make_array(kind)(context, builder, arguments[0])
    part = sliced(context, builder, signature, array, arguments[1])
    view = make_view(context, builder, kind, array, signature.return_type, *part)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())
