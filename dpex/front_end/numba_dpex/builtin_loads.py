"""Rewrites loads of built-in variables, such as work-item ids, into a form that every Intel GPU compiler accepts.

LLVM reads a component of a built-in vector by a load from the component's address. Intel's compiler in Debian 12 (IGC
1.0.12504) crashes on such a load; newer versions accept it. This module replaces it by a load of the whole vector and
an extraction of the component.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from numba_dpex.kernel_api_impl.spirv import spirv_generator

from ...spirv import Instruction, assembled, bound_of, instructions

NAME, DECORATE, CONSTANT, VARIABLE, LOAD, STORE, BITCAST = 5, 71, 43, 59, 61, 62, 124  # SPIR-V opcodes
TYPE_INT, TYPE_VECTOR, TYPE_POINTER, EXTRACT, EXTRACT_DYNAMIC, CONVERT = 21, 23, 32, 81, 77, 113
ACCESS_CHAINS, PTR_ACCESS_CHAINS = (65, 66), (67, 70)  # each also "in bounds"
ADDRESSES = (*ACCESS_CHAINS, *PTR_ACCESS_CHAINS, BITCAST)
TAKE_ANY = (57, STORE, 112, 117, 121, 169, 245)  # calls, stores, conversions, selects and phis accept any address
BUILT_IN = 11  # SPIR-V decoration


class Vector(NamedTuple):
    """SPIR-V ids of a built-in vector: its variable, its type and its component type."""

    variable: int
    whole: int
    part: int


class Component(NamedTuple):
    """A component of a built-in vector.

    Attributes:
        vector: The vector.
        number: The index of the component; if the index is not a constant, its negated SPIR-V id.
        narrow: Whether the pointer is cast to a narrower integer type, so that a load reads the low part.
    """

    vector: Vector
    number: int
    narrow: bool = False


def whole_loads(code: bytes) -> bytes:
    """Return SPIR-V that loads whole built-in vectors and extracts their components.

    A module that uses the address of a component for anything but a load is returned unchanged.

    Raises:
        ValueError: ``code`` is not valid SPIR-V.
    """
    module = list(instructions(code))
    components = _components(module)
    if not components or any(_escapes(components, op, operands) for op, operands in module):
        return code
    fresh = bound_of(code)
    result: list[Instruction] = []
    for op, operands in module:
        if op == LOAD and operands[2] in components:
            result += _extraction(components[operands[2]], operands[:2], fresh)
            fresh += 2
        elif not _defines(components, op, operands):
            result.append((op, operands))
    return assembled(code, result, fresh)


def _defines(components: dict[int, Component], op: int, operands: tuple[int, ...]) -> bool:
    """Return whether an instruction computes, names or decorates the address of a component."""
    return (op in ADDRESSES and operands[1] in components) or (op in (NAME, DECORATE) and operands[0] in components)


def _escapes(components: dict[int, Component], op: int, operands: tuple[int, ...]) -> bool:
    """Return whether an instruction uses a component's address other than for a load or another component's address."""
    if op in ADDRESSES and operands[2] in components:
        return operands[1] not in components
    ids = operands[:2] if op == STORE else operands
    return op in TAKE_ANY and any(operand in components for operand in ids)


def _extraction(component: Component, to: tuple[int, ...], fresh: int) -> list[Instruction]:
    """Return instructions that load the vector into id ``fresh`` and extract a component into ``to``, a type and id."""
    (variable, whole, part), index, narrow = component
    target = (part, fresh + 1) if narrow else to
    extract: Instruction = (EXTRACT, (*target, fresh, index))
    if index < 0:
        extract = (EXTRACT_DYNAMIC, (*target, fresh, -index))
    return [(LOAD, (whole, fresh, variable)), extract, *([(CONVERT, (*to, fresh + 1))] if narrow else [])]


def _vectors(module: list[Instruction]) -> dict[int, Vector]:
    """Return the built-in vectors, keyed by the ids of their variables."""
    parts = {operands[0]: operands[1] for op, operands in module if op == TYPE_VECTOR}
    pointees = {operands[0]: operands[2] for op, operands in module if op == TYPE_POINTER}
    builtins = {operands[0] for op, operands in module if op == DECORATE and operands[1] == BUILT_IN}
    variables = [operands for op, operands in module if op == VARIABLE and operands[1] in builtins]
    kinds = {variable: pointees[pointer] for pointer, variable, *_ in variables}
    return {variable: Vector(variable, whole, parts[whole]) for variable, whole in kinds.items() if whole in parts}


def _components(module: list[Instruction]) -> dict[int, Component]:
    """Return the components, keyed by the ids of their addresses."""
    vectors = _vectors(module)
    numbers = {operands[1]: operands[2] for op, operands in module if op == CONSTANT}
    integers = {operands[0] for op, operands in module if op == TYPE_INT}
    pointees = {operands[0]: operands[2] for op, operands in module if op == TYPE_POINTER}
    found: dict[int, Component] = {}
    for op, operands in module if vectors else ():
        if op in ADDRESSES and operands[2] in (*vectors, *found):
            steps = operands[3:]
            if op in PTR_ACCESS_CHAINS and operands[2] in vectors:
                steps = steps[1:]  # the first index selects a vector; there is only one
            base = found.get(operands[2]) or Component(vectors[operands[2]], 0)
            index = numbers.get(steps[0], -steps[0]) if steps else 0
            kind = pointees[operands[0]]
            if kind in integers and (index == 0 or not (base.number or base.narrow)):
                found[operands[1]] = Component(base.vector, base.number or index, kind != base.vector.part)
    return found


def install() -> None:
    """Apply `whole_loads` to all kernels that numba-dpex compiles after this call."""
    spirv_generator.llvm_to_spirv = _translate


_llvm_to_spirv = spirv_generator.llvm_to_spirv


@functools.wraps(_llvm_to_spirv)
def _translate(*arguments: Any) -> bytes:
    return whole_loads(_llvm_to_spirv(*arguments))
