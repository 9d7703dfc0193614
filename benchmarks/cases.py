"""Cases, their axes and plans: the definition of a benchmark, independent of how it is run."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Callable, Union

import numpy as np

Body = Callable[..., "Plan"]
Axis = Union[tuple[Any, ...], Callable[[int], tuple[Any, ...]]]
Point = dict[str, Any]
Check = Callable[[int], Any]

SIDES = ("host", "queue", "device", "group", "program")
"""The callers of an operation: the host, a queue, a work-item, a work-group, or a whole program."""


class Skip(Exception):
    """Raised by a body at a point that is not applicable; the text is the reason."""


class Wrong(Exception):
    """Raised by a check when the data are wrong."""


@dataclass
class Plan:
    """The statement to time at a point, and its data; a body returns it.

    Attributes:
        statement: The statement to time. ``i`` counts its runs if ``setup`` is ``"i = done"``.
        names: The namespace of the statement.
        check: A function of the number of operations that raises `Wrong` if this PE's data are wrong after them.
        nbytes: Bytes that one operation moves.
        operations: Number of operations in one run of the statement.
        counted: Whether the statement does ``count`` operations, a name that the worker sets: a loop inside a kernel.
        active: The PEs that run the statement at the same time; None: all PEs.
        setup: A statement that runs before each batch, untimed.
        limit: Another statement over the same names, with as many operations: the fastest way on this machine.
        limit_copies: Whether the limit moves the same number of bytes.
        limit_counted: Whether the limit does ``count`` operations; None: as the statement.
    """

    statement: str
    names: dict[str, Any]
    check: Check | None = None
    nbytes: int = 0
    operations: int = 1
    counted: bool = False
    active: tuple[int, ...] | None = None
    setup: str = "pass"
    limit: str | None = None
    limit_counted: bool | None = None
    limit_copies: bool = True

    def is_counted(self, which: str) -> bool:
        """Return whether the statement (``which`` is ``main``) or the ``limit`` does ``count`` operations."""
        return self.counted if which == "main" or self.limit_counted is None else self.limit_counted


@dataclass
class Case:
    """An operation on one side, with its axes and one body per contender.

    Attributes:
        name: The operation.
        side: One of `SIDES`.
        axes: The default values of each axis; None for ``size`` if those of ``--size`` are used.
        pes: The default numbers of PEs.
        limit: A description of the limit of the plans.
        bodies: The body of each contender; ishmem's is the first.
    """

    name: str
    side: str
    axes: dict[str, Axis | None]
    pes: tuple[int, ...]
    limit: str
    bodies: dict[str, Body] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """Name and side, joined by a slash."""
        return f"{self.name}/{self.side}"

    @property
    def module(self) -> str:
        """The name of the module that defines the case."""
        return next(iter(self.bodies.values())).__module__.rpartition(".")[2]

    def peer(self, contender: str) -> Callable[[Body], Body]:
        """Return a decorator that registers a body for the same operation by another library, named ``contender``."""

        def register(body: Body) -> Body:
            self.bodies[contender] = body
            return body

        return register

    def points(self, n_pes: int, sizes: tuple[int, ...], chosen: dict[str, tuple[str, ...]]) -> Iterator[Point]:
        """Yield the points for ``n_pes`` PEs and chosen sizes and axis values; none if the case lacks a chosen axis."""
        names = list(self.axes)
        if any(name not in names for name in chosen):
            return
        for point in itertools.product(*(self._values(name, n_pes, sizes, chosen) for name in names)):
            yield dict(zip(names, point))

    def _values(
        self, name: str, n_pes: int, sizes: tuple[int, ...], chosen: dict[str, tuple[str, ...]]
    ) -> tuple[Any, ...]:
        axis = self.axes[name]
        if name == "size":
            assert not callable(axis)
            return sizes_of(axis, sizes)
        assert axis is not None
        known = axis(n_pes) if callable(axis) else axis
        wanted = chosen.get(name)
        return known if wanted is None else tuple(value for value in known if str(value) in wanted)


def sizes_of(axis: Any, chosen: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sizes at which a case is measured.

    Args:
        axis: The default sizes of the case; chosen ones must be multiples of their gcd. None: any size is valid.
        chosen: The sizes from the command line; empty: those of the case, or `SIZES`.
    """
    if axis is None or not chosen:
        return chosen or axis or SIZES
    unit = math.gcd(*axis)
    return tuple(size for size in chosen if size % unit == 0)


SIZES = (8, *(16 << 2 * step for step in range(12)))
"""The default sizes of a case for which any size is valid: 8 bytes, and 16 bytes to 64 MiB by factors of 4."""

CASES: dict[str, Case] = {}
"""All registered cases, by `Case.key`; `suite.load` registers them."""


def case(
    name: str, side: str, *, size: bool | tuple[int, ...] = False, pes: tuple[int, ...] = (2,), limit: str = "",
    peers: tuple[str, ...] = (), **axes: Axis,
) -> Callable[[Body], Case]:  # fmt: skip
    """Return a decorator that registers a case with the function as body for ishmem, and for ``peers``, too.

    See the package's docstring.
    """
    if side not in SIDES:
        raise ValueError(f"side is {side!r}; allowed are {', '.join(SIDES)}")
    every: dict[str, Axis | None] = {} if size is False else {"size": None if size is True else size}
    every.update(axes)
    new = Case(name, side, every, pes, limit)

    def register(body: Body) -> Case:
        new.bodies.update(dict.fromkeys(("local" if side == "program" else "ishmem", *peers), body))
        CASES[new.key] = new
        return new

    return register


def values(nbytes: int, seed: int) -> np.ndarray[Any, Any]:
    """Return ``nbytes`` bytes of test data that depend on ``seed``: int64, or uint8 if not a multiple of 8 bytes."""
    dtype = np.dtype("int64" if nbytes % 8 == 0 else "uint8")
    return (np.arange(nbytes // dtype.itemsize, dtype="int64") * 3 + 7 * seed + 1).astype(dtype)
