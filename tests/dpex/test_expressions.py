"""Random expressions of integers, with variables that change in loops and branches, have the values of Python.

Unsigned integers of 64 bits are compared with numpy's scalars, which wrap as kernels do; smaller ones with Python's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from edge_values import edges
from hypothesis import HealthCheck, given, settings, strategies as st
from launching import own_compiler, run

pytestmark = own_compiler

BLOCKS = 3
SMALL = ("int8", "uint8", "int16", "uint16", "int32")
CONSTANTS = ("0", "1", "2", "3", "7", "255", "12345")


class Python(int):
    """An integer of Python that an int64 holds; operations of others are left out."""

    def _checked(self, value: int) -> Python:
        if not -(1 << 63) <= value < 1 << 63:
            raise OverflowError
        return Python(value)


def _operator(name: str) -> Any:
    def operate(self: Python, *other: int) -> Python:
        return self._checked(getattr(int, name)(self, *other))

    return operate


for _name in ("add", "sub", "mul", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift", "radd", "rsub", "rmul",
              "rand", "ror", "rxor", "neg"):  # fmt: skip
    setattr(Python, f"__{_name}__", _operator(f"__{_name}__"))


def expressions(names: tuple[str, ...], operators: tuple[str, ...], constants: tuple[str, ...]) -> Any:
    """Return the strategy of expressions of three operators, of which an operand is ``x`` or ``y``."""
    leaves = st.sampled_from(names * 2 + constants)
    safe = {"//": "({} | 1)", "%": "({} | 1)", "<<": "({} & 7)", ">>": "({} & 15)"}

    def joined(left: str, operator: str, right: str) -> str:
        return f"({left} {operator} {safe.get(operator, '{}').format(right)})"

    def joined_after(left: str, operator: str, right: str) -> str:
        return joined(right, operator, left) if operator not in safe else joined(left, operator, right)

    one = st.builds(joined, st.sampled_from(names[:2]), st.sampled_from(operators), leaves)
    two = st.one_of(*(st.builds(each, one, st.sampled_from(operators), leaves) for each in (joined, joined_after)))
    return st.builds(joined, two, st.sampled_from(operators), leaves)


@st.composite
def functions(draw: Any, is_wide: bool) -> str:
    """Draw the source of a kernel of blocks, each with a loop and a branch."""
    operators = ("+", "*", "&", "|", "^", "//", "%", ">>", "<<" if is_wide else "-")
    lines = ["def kernel(item, a, b, out):", "    i = item.get_id(0)", "    x, y = a[i], b[i]"]
    for number in range(BLOCKS):
        term = expressions(("x", "y", "z"), operators, CONSTANTS)
        lines += [f"    z = {draw(st.sampled_from(('x', '0', '1', 'x if y > 5 else 0', '3 if x > y else y')))}"]
        lines += [
            "    for q in range(2):",
            f"        z = {draw(expressions(('x', 'y', 'z', 'q'), operators, CONSTANTS))}",
        ]
        lines += [f"    if {draw(term)} > {draw(term)}:", f"        z = {draw(term)}"]
        lines += [f"    z {draw(st.sampled_from(('+', '^', '*')))}= {draw(term)}", f"    out[{number}, i] = z"]
    return "\n".join(lines)


class Item:
    """A work-item in plain Python."""

    def __init__(self, place: int) -> None:
        self.place = place

    def get_id(self, _axis: int) -> int:
        return self.place


def check(source: str, dtypes: tuple[str, str], is_wide: bool) -> None:
    scope: dict[str, Any] = {}
    exec(source, scope)
    rng = np.random.default_rng(len(source))
    a, b = (rng.choice(edges(each), 12) for each in dtypes)
    if not is_wide:
        a, b = (each % 50 for each in (a, b))
    out = np.zeros((BLOCKS, len(a)), np.uint64)
    found = run(scope["kernel"], len(a), a, b, out)[-1]
    for place in range(len(a)):
        wanted = np.zeros((BLOCKS, len(a)), object)
        given = (a, b) if is_wide else ([Python(each) for each in its] for its in (a, b))
        try:
            with np.errstate(all="ignore"):
                scope["kernel"](Item(place), *given, wanted)
        except OverflowError:
            continue
        assert found[:, place].tolist() == [int(each) % (1 << 64) for each in wanted[:, place]], source


@pytest.mark.slow_cases("fewer random expressions", "small-many", "uint64-many")
@pytest.mark.parametrize("count", [3, 60], ids=["few", "many"])
@pytest.mark.parametrize("is_wide", [True, False], ids=["uint64", "small"])
def test_same_values(is_wide: bool, count: int) -> None:
    left = st.just("uint64") if is_wide else st.sampled_from(SMALL)
    right = st.just("uint64") if is_wide else st.sampled_from(SMALL)

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck))
    @given(source=functions(is_wide), dtypes=st.tuples(left, right))
    def same(source: str, dtypes: tuple[str, str]) -> None:
        check(source, dtypes, is_wide)

    same()
