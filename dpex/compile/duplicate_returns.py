"""Merges the copies of a function's end in its bytecode.

CPython copies a short end of a function (at most four instructions) to each branch before it, so
``return f(group, x if c else y)`` has two calls. If ``f`` is a group operation, all work-items of the group must make
the same call. Both compilers of kernels use this.
"""

from __future__ import annotations

import dis
import itertools
import operator
from types import CodeType
from typing import Any, NamedTuple

from numba.core.untyped_passes import ExtractByteCode

_RETURNS = {"RETURN_VALUE", "RETURN_CONST"}
_JUMPS = {*dis.hasjrel, *dis.hasjabs}
_UNIT = 2
"""The size of an instruction in bytes, without its inline caches."""


def share_ends(state: Any) -> None:
    """Replace the bytecode in numba's compiler state by that of `with_shared_ends`."""
    code = with_shared_ends(state.func_id.code)
    if code is not state.func_id.code:
        state.func_id.code = code
        ExtractByteCode().run_pass(state)


def with_shared_ends(code: CodeType) -> CodeType:
    """Return code in which each copy of an end with a call is replaced by a jump to the last copy.

    This includes inner functions. The code is returned unchanged if there is no such copy.
    """
    constants = tuple(with_shared_ends(each) if isinstance(each, CodeType) else each for each in code.co_consts)
    bytecode = bytearray(code.co_code)
    ends = _ends(code)
    for count, end in enumerate(ends):
        for last in reversed(ends[count + 1 :]):
            if length := _shared(end, last):
                _jump(bytecode, end[-length:], last[-length].start)
                break
    if bytecode == code.co_code and all(map(operator.is_, constants, code.co_consts)):
        return code
    return code.replace(co_code=bytes(bytecode), co_consts=constants)


class _Instruction(NamedTuple):
    name: str
    arg: int | None
    line: int | None
    start: int
    """Its offset in bytes, that of the first ``EXTENDED_ARG`` before it if there is one."""


def _ends(code: CodeType) -> list[list[_Instruction]]:
    """Return, for each return, the straight-line instructions up to it, without jumps and jump targets in between."""
    lines = {offset: line for start, stop, line in code.co_lines() for offset in range(start, stop, _UNIT)}
    ends: list[list[_Instruction]] = []
    current: list[_Instruction] = []
    start = None
    for each in dis.get_instructions(code):
        if each.is_jump_target and start is None:
            current = []
        start = each.offset if start is None else start
        if each.opname == "EXTENDED_ARG":
            continue
        current.append(_Instruction(each.opname, each.arg, lines[each.offset], getattr(each, "start_offset", start)))
        start = None
        if each.opname in _RETURNS:
            ends.append(current)
        if each.opname in _RETURNS or each.opcode in _JUMPS:
            current = []
    return ends


def _shared(end: list[_Instruction], last: list[_Instruction]) -> int:
    """Return the number of equal final instructions of two ends, lines included; 0 if there is no call among them."""
    pairs = zip(reversed(end), reversed(last))
    same = list(itertools.takewhile(lambda pair: pair[0][:-1] == pair[1][:-1], pairs))
    return len(same) if any("CALL" in one.name for one, _ in same) else 0


def _jump(bytecode: bytearray, end: list[_Instruction], target: int) -> None:
    """Overwrite an end by a forward jump to byte offset ``target``, which fits in place of a call and a return."""
    start, stop = end[0].start, end[-1].start + _UNIT
    size = _UNIT
    while (distance := (target - start - size) // _UNIT) >= 1 << 8 * size // _UNIT:
        size += _UNIT
    args = distance.to_bytes(size // _UNIT, "big")
    names = ["EXTENDED_ARG"] * (len(args) - 1) + ["JUMP_FORWARD"]
    jump = bytes(itertools.chain.from_iterable(zip(map(dis.opmap.__getitem__, names), args)))
    nothing = bytes([dis.opmap["NOP"], 0]) * ((stop - start - size) // _UNIT)
    bytecode[start:stop] = jump + nothing
