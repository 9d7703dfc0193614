"""Compile-time constants of kernels: the options and addresses of this process between ``init`` and ``finalize``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Callable, NamedTuple

from ishmem.common.errors import StateError

if TYPE_CHECKING:
    from ishmem.common.layout import Layout


@dataclass(frozen=True)
class CompileOptions:
    """Options that change the code of a kernel; they are part of its cache key.

    Those of all PEs of a job are the same, since collectives in kernels depend on them.

    Attributes:
        check: Whether operations check their arguments.
        spans: Whether the job has PEs on other nodes, which kernels reach through the proxy.
        routed: Whether kernels of some PE reach PEs of its node, or do atomics there, through the proxy; see
            `ishmem.runtime.proxy`.
        wide: In a large job (``Layout.is_large``) with its short rendezvous slots, the number of handles whose teams
            have slots for all PEs; 0 in other jobs.
        no_waits: The reason why kernels of this job must not wait for other PEs; empty when they may.
        levels: Whether collectives have two levels in teams that span nodes: kernels need no proxy within any node,
            and ``ISHMEM_ALGORITHM`` does not force ``mapped``.
        late: Whether the proxy holds operations on other PEs of this node: see `ishmem.runtime.late_delivery`.
        staged: Whether kernels of some PE reach PEs of its node through the proxy only.
    """

    check: bool = False
    spans: bool = False
    routed: bool = False
    wide: int = 0
    no_waits: str = ""
    levels: bool = False
    late: bool = False
    staged: bool = False

    @property
    def copies_by_proxy(self) -> bool:
        """Whether puts and gets to some PE go through the proxy."""
        return self.spans or self.staged

    @property
    def proxied(self) -> bool:
        """Whether kernels use the proxy at all."""
        return self.spans or self.routed


class ProcessConstants(NamedTuple):
    """Constants that differ between processes; a cached kernel gets those of the process that loads it.

    Device code reads them only through the functions in ``ishmem.kernels.spec_constants``. All fields but PE numbers,
    counts and sizes are device addresses in this PE's heap; `ishmem.common.layout` describes the contents.
    ``regions`` is 0 where kernels look for no registered memory.
    ``near_count`` is the number of PEs of this node; the first ``run`` have consecutive numbers from ``first_near`` on.
    """

    heap: int
    my_pe: int
    n_pes: int
    teams: int
    sync: int
    sync_bytes: int
    rendezvous: int
    rendezvous_bytes: int
    turn: int
    violation: int
    wait: int
    proxy: int
    tickets: int
    routes: int
    user: int
    end: int
    places: int
    tiles: int
    tile_bytes: int
    meetings: int
    meeting_bytes: int
    near_count: int
    first_near: int
    run: int
    simd_width: int
    xe_cores: int
    regions: int

    @classmethod
    def of(
        cls, heap: int, size: int, pe: int, layout: Layout, near: Sequence[int], simd_width: int, xe_cores: int,
        regions: bool = False,
    ) -> ProcessConstants:
        """Return the constants of a PE.

        Args:
            heap: Device address of its heap.
            size: Bytes of the heap.
            pe: Its number.
            layout: Layout of the heap.
            near: The PEs of its node, ascending.
            simd_width: Work-items that its device executes in lockstep.
            xe_cores: Xe cores of its device.
            regions: Whether kernels look for registered memory.
        """
        offsets = {
            "heap": 0, "teams": layout.team(0), "sync": layout.device_sync(0), "rendezvous": layout.rendezvous(0),
            "turn": layout.turn, "violation": layout.violation, "proxy": layout.proxy, "tickets": layout.tickets,
            "wait": layout.kernel_wait, "routes": layout.routes, "user": layout.size, "end": size,
            "places": layout.places, "tiles": layout.tiles, "meetings": layout.meeting(0),
        }  # fmt: skip
        return cls(
            my_pe=pe,
            n_pes=layout.n_pes,
            sync_bytes=layout.sync_bytes,
            rendezvous_bytes=layout.rendezvous_bytes,
            tile_bytes=layout.tile_bytes,
            meeting_bytes=layout.meeting_bytes,
            near_count=len(near),
            first_near=near[0],
            run=sum(pe == near[0] + place for place, pe in enumerate(near)),
            simd_width=simd_width,
            xe_cores=xe_cores,
            regions=heap + layout.regions if regions else 0,
            **{name: heap + offset for name, offset in offsets.items()},
        )


OUTSIDE = "a kernel that uses ishmem was compiled outside ishmem.init() to ishmem.finalize()"

FIRST = 0x15A0
"""The specialisation number in SPIR-V of the first field of `ProcessConstants`; the others follow."""


def numbered(process: ProcessConstants) -> dict[int, int]:
    """Return the constants of a process, keyed by specialisation number."""
    return dict(enumerate(process, FIRST))


_bound: tuple[CompileOptions, ProcessConstants] | None = None
_former: CompileOptions | None = None
_callbacks: list[Callable[[CompileOptions], None]] = []


def when_bound(call: Callable[[CompileOptions], None]) -> None:
    """Call a function with the options now, if they are bound, and each time that they are bound later."""
    _callbacks.append(call)
    if _bound is not None:
        call(_bound[0])


def bind(options: CompileOptions, process: ProcessConstants) -> None:
    """Set the options and constants for kernels that are compiled or loaded from now on.

    Raises:
        StateError: This process was in a job with other options, for which its kernels are compiled.
    """
    global _bound, _former
    if _former not in (None, options):
        raise StateError(
            f"the kernels of this process are compiled for its former job, of {_former}, and this one has {options}; "
            "start a new process"
        )
    _bound, _former = (options, process), options
    for call in _callbacks:
        call(options)


def unbind() -> None:
    """Remove the options and constants; compiling a kernel that uses ishmem raises ``TypingError`` from now on."""
    global _bound
    _bound = None


def options() -> CompileOptions:
    """Return the compile options of this job; ``TypingError`` if the call is not between ``init`` and ``finalize``."""
    return _needed()[0]


def process() -> ProcessConstants:
    """Return the constants of this process; ``TypingError`` if the call is not between ``init`` and ``finalize``."""
    return _needed()[1]


def bound() -> tuple[CompileOptions, ProcessConstants] | None:
    """Return the options and constants, or ``None`` outside a job."""
    return _bound


def _needed() -> tuple[CompileOptions, ProcessConstants]:
    if _bound is None:
        from numba.core.errors import TypingError  # here, because a kernel that is in the cache needs no numba

        raise TypingError(OUTSIDE)
    return _bound
