"""Conversion of words of 4 bytes, one float32 or two of float16 or bfloat16, from and to float32 numbers.

Arrays of 16-bit numbers are read and written as integers, so their elements need no type of the compiler.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from .combining import elementwise
from .front_end import device_func
from .intrinsics import I32, I64, IntrinsicCode, device_intrinsic

I16, FLOAT = ir.IntType(16), ir.FloatType()
UNIT_BYTES = 16


class FloatWords(NamedTuple):
    """The device functions with which kernels read and write words of a dtype.

    Attributes:
        lanes: Elements in a word.
        load: ``load(address, last)`` returns the word at an address; ``last``: whether it contains one element only.
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
    """Return LLVM type ``kind``, or vectors of it as long as ``like`` if that value is a vector."""
    return ir.VectorType(kind, like.type.count) if isinstance(like.type, ir.VectorType) else kind


def _constant(number: int, like: Any) -> Any:
    """Return a 32-bit integer constant, or a vector of it as long as ``like`` if that value is a vector."""
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
    """Make the intrinsic that returns the elements of a word as a tuple of float32."""

    def numbers(word):
        def emit(code: IntrinsicCode, value):
            shifted = [code.builder.lshr(value, I64(kind.width * lane)) for lane in range(lanes)]
            return code.tuple_of([widen(code.builder, code.builder.trunc(each, kind)) for each in shifted])

        return types.UniTuple(types.float32, lanes)(types.int64), emit

    return device_intrinsic(numbers)


def _word(kind: Any, narrow: Any) -> Any:
    """Make the intrinsic that returns the word of a tuple of float32."""

    def word(numbers):
        def emit(code: IntrinsicCode, elements):
            bits, builder = I64(0), code.builder
            for lane, number in enumerate(cgutils.unpack_tuple(builder, elements)):
                part = builder.zext(narrow(builder, number), I64)
                bits = builder.or_(bits, builder.shl(part, I64(kind.width * lane)))
            return bits

        return types.int64(numbers), emit

    return device_intrinsic(word)


def _load(kind: Any, lanes: int) -> Any:
    """Make `FloatWords.load` for words of ``lanes`` elements of LLVM type ``kind``."""

    def load(address, last):
        def emit(code: IntrinsicCode, address, last):
            builder, pointer = code.builder, code.pointer(address, kind)
            first = builder.zext(builder.load(pointer), I64)
            if lanes == 1:
                return first
            before = builder.block
            with builder.if_then(builder.not_(last)):
                second = builder.zext(builder.load(builder.gep(pointer, [I64(1)])), I64)
                both, loaded = builder.or_(first, builder.shl(second, I64(kind.width))), builder.block
            word = builder.phi(I64)
            word.add_incoming(first, before)
            word.add_incoming(both, loaded)
            return word

        return types.int64(types.int64, types.boolean), emit

    return device_intrinsic(load)


def _store(kind: Any, lanes: int) -> Any:
    """Make `FloatWords.store` for words of ``lanes`` elements of LLVM type ``kind``."""

    def store(address, word, last):
        def emit(code: IntrinsicCode, *given):
            builder, pointer = code.builder, code.pointer(given[0], kind)
            builder.store(builder.trunc(given[1], kind), pointer)
            if lanes > 1:
                with builder.if_then(builder.not_(given[2])):
                    second = builder.trunc(builder.lshr(given[1], I64(kind.width)), kind)
                    builder.store(second, builder.gep(pointer, [I64(1)]))

        return types.void(types.int64, types.int64, types.boolean), emit

    return device_intrinsic(store)


def float_words(dtype: str) -> FloatWords:
    """Return the device functions for words of a dtype of `DTYPES`."""
    widen, narrow = _CONVERSIONS[dtype]
    kind, lanes = (I32, 1) if dtype == "float32" else (I16, 2)
    return FloatWords(lanes, _load(kind, lanes), _store(kind, lanes), _numbers(kind, lanes, widen), _word(kind, narrow))


def weighted_sum(dtype: str, addends: int = 0) -> Any:
    """Make the intrinsic that stores a weighted sum of units of 16 bytes.

    ``weighted_sum(to, (base, row), slots, weights, count, (first, apart))`` stores at ``to`` a sum of ``count`` units:
    unit ``i`` is that at ``base + slots[i] * row`` times ``weights[i]``, negative slots are skipped. The sum starts
    with ``addends`` units from ``first`` on, ``apart`` bytes apart. All but ``row``, ``count`` and ``apart`` are
    addresses; slots are int64, weights float32.
    """
    widen, narrow = _CONVERSIONS[dtype]
    kind = I32 if dtype == "float32" else I16
    unit, numbers = ir.VectorType(kind, 128 // kind.width), ir.VectorType(FLOAT, 128 // kind.width)

    def weighted_sum(to, rows, slots, weights, count, before):
        def emit(code: IntrinsicCode, *given):
            builder, (to, rows, slots, weights, count, before) = code.builder, given
            (base, row), (first, apart) = (cgutils.unpack_tuple(builder, pair) for pair in (rows, before))
            start = ir.Constant(numbers, [0.0] * numbers.count)
            for number in range(addends):
                place = code.pointer(builder.add(first, builder.mul(apart, I64(number))), unit)
                start = builder.fadd(start, widen(builder, builder.load(place, align=UNIT_BYTES)))
            total = cgutils.alloca_once_value(builder, start)
            with cgutils.for_range(builder, count, intp=I64) as loop:
                slot = builder.load(builder.gep(code.pointer(slots, I64), [loop.index]))
                with builder.if_then(builder.icmp_signed(">=", slot, I64(0))):
                    place = code.pointer(builder.add(base, builder.mul(slot, row)), unit)
                    terms = widen(builder, builder.load(place, align=UNIT_BYTES))
                    weight = builder.load(builder.gep(code.pointer(weights, FLOAT), [loop.index]))
                    factors = ir.Constant(numbers, ir.Undefined)
                    for lane in range(numbers.count):
                        factors = builder.insert_element(factors, weight, I32(lane))
                    builder.store(builder.fadd(builder.load(total), builder.fmul(terms, factors)), total)
            builder.store(narrow(builder, builder.load(total)), code.pointer(to, unit), align=UNIT_BYTES)

        number, pair = types.int64, types.UniTuple(types.int64, 2)
        return types.void(number, pair, number, number, number, pair), emit

    return device_intrinsic(weighted_sum)


def _elementwise(operator: Any) -> Any:
    """Make the intrinsic that combines the elements of two tuples of float32 by ``operator``."""
    function = device_func(operator)
    return device_intrinsic(lambda a, b: (a(a, b), elementwise(function, a)))


add = _elementwise(lambda a, b: a + b)
"""Return the sums of the elements of two tuples of float32."""

multiply = _elementwise(lambda a, b: a * b)
"""Return the products of the elements of two tuples of float32."""


@device_intrinsic
def dot(a, b):
    """Return the float32 sum of the products of the elements of two tuples of float32, ``a`` and ``b``."""

    def emit(code: IntrinsicCode, *tuples):
        pairs = zip(*(cgutils.unpack_tuple(code.builder, each) for each in tuples))
        return functools.reduce(code.builder.fadd, [code.builder.fmul(*pair) for pair in pairs])

    return types.float32(a, b), emit


@device_intrinsic
def scaled(numbers, factor):
    """Return the tuple ``numbers`` of float32 with each element multiplied by the float32 ``factor``."""

    def emit(code: IntrinsicCode, elements, number):
        return code.tuple_of([code.builder.fmul(each, number) for each in cgutils.unpack_tuple(code.builder, elements)])

    return numbers(numbers, types.float32), emit
