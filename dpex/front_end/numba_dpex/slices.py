"""Parts of arrays in kernels: views as in numpy, at the cost of one comparison if a slice lies in the array.

numba-dpex implements single integers and slices only; ``x[i, 1:3]`` is added here.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.np.arrayobj import make_array, normalize_indices
from numba_dpex.core.types import USMNdArray
from numba_dpex.kernel_api_impl.spirv.arrayobj import _getitem_array_generic, make_view
from numba_dpex.kernel_api_impl.spirv.overloads._registry import registry

from ...language.clipping import sliced


@registry.lower(operator.getitem, USMNdArray, types.BaseTuple)  # type: ignore[untyped-decorator, unused-ignore]
def _getitem(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return an element or a view, for an index that is a tuple."""
    kind, index = signature.args
    array = make_array(kind)(context, builder, arguments[0])
    parts = cgutils.unpack_tuple(builder, arguments[1], count=len(index))
    kinds, parts = normalize_indices(context, builder, index.types, parts)
    result = _getitem_array_generic(context, builder, signature.return_type, kind, array, kinds, parts)
    return impl_ret_borrowed(context, builder, signature.return_type, result)


@registry.lower(operator.getitem, USMNdArray, types.slice2_type)  # type: ignore[untyped-decorator, unused-ignore]
def _slice(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit and return the view ``array[start:stop]``."""
    array = make_array(signature.args[0])(context, builder, arguments[0])
    part = sliced(context, builder, signature, array, arguments[1])
    view = make_view(context, builder, array, signature.return_type, *part)
    return impl_ret_borrowed(context, builder, signature.return_type, view._getvalue())
