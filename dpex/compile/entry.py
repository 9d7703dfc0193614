"""The entry point of a kernel, which the driver calls; its parameters are pointers and numbers.

An array is passed as pointer, shape and, unless it is contiguous in C order, strides. The number of elements and the
strides of contiguous arrays are computed in the kernel, so that the optimiser can use their relation to the shape.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.np.arrayobj import make_array, populate_array

from .spirv_calls import I64, SPIR_FUNC, SPIR_KERNEL
from .target import target
from .types import IndexSpaceType, USMNdArray

_ELEMENTS = {
    "char": ir.IntType(8), "short": ir.IntType(16), "int": ir.IntType(32), "long": ir.IntType(64),
    "half": ir.HalfType(), "float": ir.FloatType(), "double": ir.DoubleType(),
}  # fmt: skip
"""Element types of OpenCL C's vector types, such as ``int4``."""


def entry_module(name: str, result: Any, hint: str) -> Any:
    """Return the LLVM module of a kernel's entry point, which builds numba's arguments and calls the function.

    Args:
        name: The name of the kernel.
        result: numba's compile result of the function.
        hint: The option ``vec_type_hint``, or an empty string.

    Raises:
        ValueError: ``hint`` is not a vector type of OpenCL C.
    """
    context, kinds = target.target_context, result.fndesc.argtypes
    module = context.create_module("kernel")
    inner = ir.Function(module, context.call_conv.get_function_type(types.none, kinds), result.fndesc.llvm_func_name)
    inner.calling_convention = SPIR_FUNC
    parameters = [each for kind in kinds for each in _parameters(context, kind)]
    outer = ir.Function(module, ir.FunctionType(ir.VoidType(), parameters), name)
    outer.calling_convention = SPIR_KERNEL
    if hint:
        _set_hint(outer, hint)
    builder = ir.IRBuilder(outer.append_basic_block())
    given = iter(outer.args)
    values = [_value(context, builder, kind, given) for kind in kinds]
    context.call_conv.call_function(builder, inner, types.none, kinds, values)
    builder.ret_void()
    return module


def _set_hint(function: Any, hint: str) -> None:
    kind, lanes = hint.rstrip("0123456789"), hint.lstrip("abcdefghijklmnopqrstuvwxyz")
    if kind not in _ELEMENTS or lanes not in ("2", "4", "8", "16"):
        raise ValueError(f"vec_type_hint is {hint!r}; allowed are {', '.join(_ELEMENTS)} with 2, 4, 8 or 16 elements")
    sample = ir.Constant(ir.VectorType(_ELEMENTS[kind], int(lanes)), ir.Undefined)
    function.set_metadata("vec_type_hint", function.module.add_metadata([sample, ir.Constant(ir.IntType(32), 1)]))


def _parameters(context: Any, kind: Any) -> list[Any]:
    """Return the LLVM types of the kernel parameters for an argument of a type."""
    if isinstance(kind, IndexSpaceType):
        return []
    if isinstance(kind, USMNdArray):
        pointer = context.get_data_type(kind.dtype).as_pointer(kind.addrspace)
        return [pointer] + [I64] * (kind.ndim * (1 if kind.layout == "C" else 2))
    if isinstance(kind, types.Complex):
        return [context.get_data_type(kind.underlying_float)] * 2
    if isinstance(kind, types.BaseTuple):
        return [each for part in kind for each in _parameters(context, part)]
    return [context.get_data_type(kind)]


def _value(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    """Emit and return the value of an argument; its parameters are the next items of the iterator ``given``."""
    if isinstance(kind, IndexSpaceType):
        return context.get_constant_null(kind)
    if isinstance(kind, USMNdArray):
        return _array(context, builder, kind, given)
    if isinstance(kind, types.Complex):
        number = context.make_complex(builder, kind)
        number.real, number.imag = next(given), next(given)
        return number._getvalue()
    if isinstance(kind, types.BaseTuple):
        parts = [_value(context, builder, part, given) for part in kind]
        return context.make_tuple(builder, kind, parts)
    return context.data_model_manager[kind].from_data(builder, next(given))


def _array(context: Any, builder: Any, kind: Any, given: Any) -> Any:
    data = next(given)
    item = I64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    shape = [next(given) for _ in range(kind.ndim)]
    if kind.layout == "C":
        strides: list[Any] = []
        step = item
        for extent in reversed(shape):
            strides.insert(0, step)
            step = builder.mul(step, extent)
    else:
        strides = [next(given) for _ in range(kind.ndim)]
    array = make_array(kind)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=item, meminfo=None)
    return array._getvalue()
