"""Reductions and scans over a team: ``sum_reduce`` and the other reductions, ``sum_inscan`` and ``sum_exscan``.

The rules are those of `ishmem.collectives`; scans do not accept 2-D tiles. The same names work on the host and in
kernels. All work elementwise, and elements are combined in an order that depends on team, size and algorithm only: a
floating-point result has the same bits on every PE and in every run; they may depend on the number of nodes. Integers
wrap around. float16 and bfloat16 are combined in float32 in the order of the members and rounded once, to the nearest,
ties to even, when the result is stored: partial results between PEs and nodes are not rounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from ishmem import _core, tiles
from ishmem.common import type_tables
from ishmem.common.routines import exported
from ishmem.host_collectives import checks
from ishmem.host_collectives.collective_call import ROUTINES, Given
from ishmem.runtime import docstrings
from ishmem.runtime.stubs import fast_path, named, work_group_forms
from ishmem.teams import TEAM_WORLD, Team, find

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = exported(__name__)

_DTYPES = {
    type_tables.BIT_TYPES: "any integer dtype",
    type_tables.ARITHMETIC_TYPES: "any integer dtype, bfloat16, float16, float32 or float64",
    type_tables.NUMBER_TYPES: "any integer dtype, bfloat16, float16, float32, float64, complex64 or complex128",
}
_OVERLAP = "It may be ``source`` (in place), but may not overlap it in part."
_ARGUMENTS = {
    "source": "Symmetric contiguous array of the dtype and size of ``dest``.",
    "team": "A team; by default all PEs.",
    "nelems": "Number of elements, from the start of both arrays; by default all. Not for the tiles of reductions.",
    "dtype": '"bfloat16" for arrays of 16-bit integers that hold its bits; by default that of the arrays.',
}


def _made(name: str, text: str, before: str, after: str, standard: bool = True) -> Callable[..., None]:
    """Return the public routine ``name``: a reduction, which is ``standard`` in OpenSHMEM, or a scan.

    ``text`` begins its docstring; ``before`` and ``after`` are Python expressions for the elements of its example.
    """
    types, run = type_tables.REDUCTIONS[name], tiles.run if standard else _refuse

    def of_bits(dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None) -> None:
        run(routine, dest, source, find(team), Given(nelems))

    def of_numbers(
        dest: ndarray, source: ndarray, team: Team = TEAM_WORLD, nelems: int | None = None, dtype: str | None = None
    ) -> None:
        run(routine, dest, source, find(team), Given(nelems, dtype=dtype))

    form = of_bits if types is type_tables.BIT_TYPES else of_numbers
    dest = f"Symmetric contiguous array of {_DTYPES[types]}. {_OVERLAP}"
    made = f">>> a = ishmem.full(4, {before}, dtype='i4')"
    example = f"{made}\n>>> ishmem.{name}(a, a)\n>>> bool((a == {after}).all())\nTrue"
    sections = docstrings.sections(form, {"dest": dest, **_ARGUMENTS}, example)
    text = f"{text}\n\nCollective over the team, blocking. Errors as for ``broadcast``.\n\n{sections}"
    source = f"OpenSHMEM 1.5, 9.9.9 (shmem_{name}); ishmem_{name}" if standard else f"Intel SHMEM, ishmem_{name}"
    routine = fast_path(_core.collective(ROUTINES[name]))(named(form, name, __name__, text, source))
    return routine


def _refuse(scan: Callable[..., None], dest: Any, source: Any, team: Team, given: Given) -> None:
    """Raise the error for the arguments of a scan that the core declined."""
    checks.refuse(scan.__name__, dest, source, team, given)


_TO_ALL = "over all members of a team, into ``dest`` of every member."
_NAN = "\n\nNaN where any element is NaN."
_PREFIX = "prefix sum of ``source`` over the members of a team, elementwise.\n\n``dest`` of member ``i`` is the sum"
sum_reduce = _made("sum_reduce", f"Sum ``source`` elementwise {_TO_ALL}", "1", "n")
prod_reduce = _made("prod_reduce", f"Multiply ``source`` elementwise {_TO_ALL}", "1", "1")
max_reduce = _made("max_reduce", f"Take the elementwise maximum of ``source`` {_TO_ALL}{_NAN}", "me", "n - 1")
min_reduce = _made("min_reduce", f"Take the elementwise minimum of ``source`` {_TO_ALL}{_NAN}", "me", "0")
and_reduce = _made("and_reduce", f"Combine ``source`` elementwise by bitwise AND {_TO_ALL}", "1", "1")
or_reduce = _made("or_reduce", f"Combine ``source`` elementwise by bitwise OR {_TO_ALL}", "1", "1")
xor_reduce = _made("xor_reduce", f"Combine ``source`` elementwise by bitwise XOR {_TO_ALL}", "1", "n % 2")
sum_inscan = _made("sum_inscan", f"Compute the inclusive {_PREFIX} over members 0 to ``i``.", "1", "me + 1", False)
sum_exscan = _made("sum_exscan", f"Compute the exclusive {_PREFIX} over members before ``i``, or 0.", "1", "me", False)

globals().update(work_group_forms(__name__))
