"""Words of 4 bytes as float32 numbers: one of float32, or two of float16 or bfloat16.

Arrays of 16-bit numbers are read and written as integers, so their elements need no type of the compiler.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from .combining import elementwise
from .front_end import device_func
from .intrinsics import GLOBAL, I32, I64, device_intrinsic

I16, FLOAT = ir.IntType(16), ir.FloatType()
UNIT_BYTES = 16


class FloatWords(NamedTuple):
    """How kernels read a dtype.

    Attributes:
        lanes: Elements in a word.
        load: ``load(address, last)`` returns the word at an address; ``last`` says that it has one element only.
        store: ``store(address, word, last)`` writes it.
        numbers: ``numbers(word)`` returns its elements as a tuple of float32.
        word: ``word(numbers)`` returns the word of a tuple of float32, each rounded to the nearest, ties to even.
    """

    lanes: int
    load: Any
    store: Any
    numbers: Any
    word: Any


def _of_kind(kind: Any, like: Any) -> Any:
    """Return a type, or the type of vectors of it if a value is a vector."""
    return ir.VectorType(kind, like.type.count) if isinstance(like.type, ir.VectorType) else kind


def _constant(number: int, like: Any) -> Any:
    """Return a number as an integer of 32 bits, or as a vector of them if a value is a vector."""
    kind = _of_kind(I32, like)
    return ir.Constant(kind, number if kind is I32 else [number] * kind.count)


def _wide_of_float16(builder: Any, bits: Any) -> Any:
    return builder.fpext(builder.bitcast(bits, _of_kind(ir.HalfType(), bits)), _of_kind(FLOAT, bits))


def _float16_of(builder: Any, number: Any) -> Any:
    return builder.bitcast(builder.fptrunc(number, _of_kind(ir.HalfType(), number)), _of_kind(I16, number))


def _wide_of_bfloat16(builder: Any, bits: Any) -> Any:
    wide = builder.shl(builder.zext(bits, _of_kind(I32, bits)), _constant(16, bits))
    return builder.bitcast(wide, _of_kind(FLOAT, bits))


def _bfloat16_of(builder: Any, number: Any) -> Any:
    bits, sixteen = builder.bitcast(number, _of_kind(I32, number)), _constant(16, number)
    odd = builder.and_(builder.lshr(bits, sixteen), _constant(1, number))
    rounded = builder.add(bits, builder.add(odd, _constant(0x7FFF, number)))
    quiet = builder.or_(bits, _constant(1 << 22, number))  # a NaN stays one, whichever of its bits are cut off
    chosen = builder.select(builder.fcmp_unordered("uno", number, number), quiet, rounded)
    return builder.trunc(builder.lshr(chosen, sixteen), _of_kind(I16, number))


def _bits_of_float32(builder: Any, number: Any) -> Any:
    return builder.bitcast(number, _of_kind(I32, number))


def _float32_of_bits(builder: Any, bits: Any) -> Any:
    return builder.bitcast(bits, _of_kind(FLOAT, bits))


_CONVERSIONS = {
    "float32": (_float32_of_bits, _bits_of_float32),
    "float16": (_wide_of_float16, _float16_of),
    "bfloat16": (_wide_of_bfloat16, _bfloat16_of),
}

DTYPES = tuple(_CONVERSIONS)


def _numbers(kind: Any, lanes: int, widen: Any) -> Any:
    """Make the intrinsic that returns the elements of a word."""

    def numbers(_context, word):
        result = types.UniTuple(types.float32, lanes)

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            elements = [
                widen(builder, builder.trunc(builder.lshr(arguments[0], I64(kind.width * lane)), kind))
                for lane in range(lanes)
            ]
            return context.make_tuple(builder, result, elements)

        return result(types.int64), code

    return device_intrinsic(numbers)


def _word(kind: Any, narrow: Any) -> Any:
    """Make the intrinsic that returns the word of a tuple of elements."""

    def word(_context, numbers):
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            bits = I64(0)
            for lane, number in enumerate(cgutils.unpack_tuple(builder, arguments[0])):
                part = builder.zext(narrow(builder, number), I64)
                bits = builder.or_(bits, builder.shl(part, I64(kind.width * lane)))
            return bits

        return types.int64(numbers), code

    return device_intrinsic(word)


def _load(kind: Any, lanes: int) -> Any:
    """Make the intrinsic that loads a word."""

    def load(_context, address, last):
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], kind.as_pointer(GLOBAL))
            first = builder.zext(builder.load(pointer), I64)
            if lanes == 1:
                return first
            before = builder.block
            with builder.if_then(builder.not_(arguments[1])):
                second = builder.zext(builder.load(builder.gep(pointer, [I64(1)])), I64)
                both, loaded = builder.or_(first, builder.shl(second, I64(kind.width))), builder.block
            word = builder.phi(I64)
            word.add_incoming(first, before)
            word.add_incoming(both, loaded)
            return word

        return types.int64(types.int64, types.boolean), code

    return device_intrinsic(load)


def _store(kind: Any, lanes: int) -> Any:
    """Make the intrinsic that stores a word."""

    def store(_context, address, word, last):
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = builder.inttoptr(arguments[0], kind.as_pointer(GLOBAL))
            builder.store(builder.trunc(arguments[1], kind), pointer)
            if lanes > 1:
                with builder.if_then(builder.not_(arguments[2])):
                    second = builder.trunc(builder.lshr(arguments[1], I64(kind.width)), kind)
                    builder.store(second, builder.gep(pointer, [I64(1)]))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64, types.boolean), code

    return device_intrinsic(store)


def float_words(dtype: str) -> FloatWords:
    """Return how kernels read a dtype of `DTYPES`."""
    widen, narrow = _CONVERSIONS[dtype]
    kind, lanes = (I32, 1) if dtype == "float32" else (I16, 2)
    return FloatWords(lanes, _load(kind, lanes), _store(kind, lanes), _numbers(kind, lanes, widen), _word(kind, narrow))


def weighted_sum(dtype: str, addends: int = 0) -> Any:
    """Make the intrinsic that stores a weighted sum of units of 16 bytes.

    Of ``weighted_sum(to, (base, row), slots, weights, count, (first, apart))``, unit ``i`` of ``count`` is at
    ``base + slots[i] * row``, with ``weights[i]``; there is none if the slot is negative. The sum begins with
    ``addends`` units, which are ``apart`` bytes from each other, from ``first`` on. All but ``row``, ``count`` and
    ``apart`` are addresses; slots are int64, and weights float32.
    """
    widen, narrow = _CONVERSIONS[dtype]
    kind = I32 if dtype == "float32" else I16
    unit, numbers = ir.VectorType(kind, 128 // kind.width), ir.VectorType(FLOAT, 128 // kind.width)

    def at(builder: Any, address: Any, kind: Any) -> Any:
        return builder.inttoptr(address, kind.as_pointer(GLOBAL))

    def weighted_sum(_context, to, rows, slots, weights, count, before):
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            to, rows, slots, weights, count, before = arguments
            (base, row), (first, apart) = (cgutils.unpack_tuple(builder, pair) for pair in (rows, before))
            start = ir.Constant(numbers, [0.0] * numbers.count)
            for number in range(addends):
                place = at(builder, builder.add(first, builder.mul(apart, I64(number))), unit)
                start = builder.fadd(start, widen(builder, builder.load(place, align=UNIT_BYTES)))
            total = cgutils.alloca_once_value(builder, start)
            with cgutils.for_range(builder, count, intp=I64) as loop:
                slot = builder.load(builder.gep(at(builder, slots, I64), [loop.index]))
                with builder.if_then(builder.icmp_signed(">=", slot, I64(0))):
                    place = at(builder, builder.add(base, builder.mul(slot, row)), unit)
                    terms = widen(builder, builder.load(place, align=UNIT_BYTES))
                    weight = builder.load(builder.gep(at(builder, weights, FLOAT), [loop.index]))
                    factors = ir.Constant(numbers, ir.Undefined)
                    for lane in range(numbers.count):
                        factors = builder.insert_element(factors, weight, I32(lane))
                    builder.store(builder.fadd(builder.load(total), builder.fmul(terms, factors)), total)
            builder.store(narrow(builder, builder.load(total)), at(builder, to, unit), align=UNIT_BYTES)
            return context.get_dummy_value()

        number, pair = types.int64, types.UniTuple(types.int64, 2)
        return types.void(number, pair, number, number, number, pair), code

    return device_intrinsic(weighted_sum)


@device_func
def _sum(a, b):
    return a + b


@device_func
def _product(a, b):
    return a * b


@device_intrinsic
def add(typing_context, a, b):
    """Return the sums of the elements of two tuples of float32."""
    return a(a, b), elementwise(typing_context, _sum, a)


@device_intrinsic
def multiply(typing_context, a, b):
    """Return the products of the elements of two tuples of float32."""
    return a(a, b), elementwise(typing_context, _product, a)


@device_intrinsic
def dot(_context, a, b):
    """Return the sum of the products of two tuples of float32."""

    def code(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pairs = zip(*(cgutils.unpack_tuple(builder, each) for each in arguments))
        return functools.reduce(builder.fadd, [builder.fmul(*pair) for pair in pairs])

    return types.float32(a, b), code


@device_intrinsic
def scaled(_context, numbers, factor):
    """Return a tuple of float32 times a float32."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        products = [builder.fmul(each, arguments[1]) for each in cgutils.unpack_tuple(builder, arguments[0])]
        return context.make_tuple(builder, signature.return_type, products)

    return numbers(numbers, types.float32), code
