"""Decodes and encodes SPIR-V modules, and sets their specialisation constants."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable, Iterator, Sequence

MAGIC = 0x07230203
HEADER = 5  # words
DECORATE, CONSTANT, SPEC_CONSTANT, FUNCTION = 71, 43, 50, 54  # instructions
SPEC_ID = 1  # decoration

Instruction = tuple[int, tuple[int, ...]]
"""Opcode and operands of an instruction."""


def patched(code: bytes, values: dict[int, int]) -> bytes:
    """Return ``code`` with new default values of 64-bit specialisation constants: ``values``, by constant id.

    Raises:
        ValueError: ``code`` is not valid SPIR-V.
    """
    words = bytearray(code)
    numbers: dict[int, int] = {}
    for at, op, operands in _declarations(code):
        if op == DECORATE and len(operands) == 3 and operands[1] == SPEC_ID:
            numbers[operands[0]] = operands[2]
        if op == SPEC_CONSTANT and len(operands) == 4 and numbers.get(operands[1]) in values:
            # Level Zero device addresses start at 0xff00 << 48; negative values are taken modulo 2**64, too.
            struct.pack_into("<Q", words, 4 * (at + 3), values[numbers[operands[1]]] % (1 << 64))
    return bytes(words)


def has_constant(code: bytes, low: int, high: int) -> bool:
    """Return whether module ``code`` has a 64-bit constant, no specialisation one, from ``low`` to below ``high``."""
    wide = (operands for _at, op, operands in _declarations(code) if op == CONSTANT and len(operands) == 4)
    return any(low <= operands[2] + (operands[3] << 32) < high for operands in wide)


def bound_of(code: bytes) -> int:
    """Return the id bound of module ``code``; all its ids are below it."""
    return int(struct.unpack_from("<I", code, 12)[0])


def kernel_module(instructions: Sequence[tuple[int, ...]], bound: int) -> bytes:
    """Return a SPIR-V 1.0 module of instructions, tuples of opcode and operands; all ids are below ``bound``."""
    return _encoded([MAGIC, 0x10000, 0, bound, 0], ((op, operands) for op, *operands in instructions))


def assembled(code: bytes, module: list[Instruction], bound: int) -> bytes:
    """Return a SPIR-V module of instructions with the header of ``code`` and the id bound ``bound``."""
    magic, version, generator, _, schema = struct.unpack("<5I", code[: 4 * HEADER])
    return _encoded([magic, version, generator, bound, schema], module)


def _encoded(words: list[int], module: Iterable[tuple[int, Sequence[int]]]) -> bytes:
    """Return the words of a header and the instructions as little-endian bytes."""
    for op, operands in module:
        words += [(len(operands) + 1) << 16 | op, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def _declarations(code: bytes) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield word offset, opcode and operands of the instructions before the first function."""
    return itertools.takewhile(lambda each: each[1] != FUNCTION, _placed(code))


def instructions(code: bytes) -> Iterator[Instruction]:
    """Yield opcode and operands of all instructions.

    Raises:
        ValueError: ``code`` is not valid SPIR-V.
    """
    for _at, op, operands in _placed(code):
        yield op, operands


def _placed(code: bytes) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield word offset, opcode and operands of all instructions."""
    words = struct.unpack(f"<{len(code) // 4}I", code[: len(code) // 4 * 4])
    if len(code) % 4 or len(words) < HEADER or words[0] != MAGIC:
        raise ValueError("not SPIR-V")
    at = HEADER
    while at < len(words):
        count, op = words[at] >> 16, words[at] & 0xFFFF
        if count == 0 or at + count > len(words):
            raise ValueError("an instruction's length is wrong")
        yield at, op, words[at + 1 : at + count]
        at += count
