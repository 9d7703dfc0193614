"""Teams: numbered groups of PEs, created by splitting an existing team.

On a PE that is not in a new team, the result is ``TEAM_INVALID``: it is false, and its ``my_pe`` and ``n_pes`` are -1.
``TEAM_WORLD`` has all PEs, ``TEAM_SHARED`` and ``TEAM_NODE`` those of this PE's node.
The same names work on the host and in kernels. On the host they take a `Team`, not an integer. In a kernel a team is
its handle, an integer: a kernel may use a global name, as in ``ishmem.team_sync(ishmem.TEAM_WORLD)``, or have the team
or ``team.handle`` as an argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

import ishmem
from ishmem import memory
from ishmem.common import error_texts
from ishmem.common.errors import IshmemError, StateError
from ishmem.common.layout import FEW_MEMBERS, TWIN
from ishmem.common.routines import exported
from ishmem.common.team_shape import Shape
from ishmem.ipc.wire import Census
from ishmem.runtime import agreement, check, job, long_waits, losses, stubs

if TYPE_CHECKING:
    from dpnp import ndarray

__all__ = ["TEAM_INVALID", "TEAM_NODE", "TEAM_SHARED", "TEAM_WORLD", "Team", "TeamConfig", *exported(__name__)]

INVALID = -1


@dataclass(frozen=True)
class TeamConfig:
    """The configuration of a team (OpenSHMEM 1.5, 9.4, shmem_team_config_t).

    Attributes:
        num_contexts: The number of contexts that the program plans to create from the team; a hint.
    """

    num_contexts: int = 0


class Team:
    """A team of PEs: predefined, or made by ``split_strided``, ``split_2d``, ``active_set`` or ``shrink``.

    True where this PE is a member. As a context manager it is destroyed on exit, unless an exception ended the block.

    Attributes:
        handle: The integer that represents the team in kernels; -1 for a team that this PE is not in.
    """

    def __init__(self, handle: int, shape: Shape | None = None, config: TeamConfig = TeamConfig()) -> None:
        self.handle = handle
        self._shape = shape  # None for those that live from init to finalize
        self._config = config

    @property
    def shape(self) -> Shape:
        """First PE, stride and number of the members, as PE numbers in TEAM_WORLD.

        Raises:
            StateError: Destroyed, or not between ``init`` and ``finalize``; TEAM_NODE and TEAM_SHARED where the PEs
                of this node have no common stride.
            ValueError: This PE is not in the team.
        """
        current = job.current().teams.get(self.handle)
        if current is None and (why := job.current().why_no_team(self.handle)):
            raise StateError(f"{self!r} does not exist: {why}")
        if self.handle == INVALID:
            raise ValueError("the team is TEAM_INVALID: this PE is not in it; test it with `if team:`")
        if current is None or (self._shape is not None and current is not self._shape):
            raise StateError(f"{self!r} was destroyed")
        return current

    def my_pe(self) -> int:
        """Return the number of this PE in the team, or -1 if it is not a member; not collective.

        Raises:
            StateError: Destroyed, or not between ``init`` and ``finalize``; TEAM_NODE and TEAM_SHARED where the PEs
                of this node have no common stride.

        Source: OpenSHMEM 1.5, 9.4.1 (shmem_team_my_pe); ishmem_team_my_pe.
        """
        return self.shape.index(job.current().pe) if self else INVALID

    def n_pes(self) -> int:
        """Return the number of PEs of the team, or -1 if this PE is not a member; not collective.

        Raises:
            StateError: As for ``my_pe``.

        Source: OpenSHMEM 1.5, 9.4.2 (shmem_team_n_pes); ishmem_team_n_pes.
        """
        return self.shape.size if self else INVALID

    def translate_pe(self, pe: int, dest_team: Team) -> int:
        """Return the number in ``dest_team`` of PE ``pe`` of this team, or -1 if it is not a member of ``dest_team``.

        Also -1 if this team has no PE ``pe``, or either team is TEAM_INVALID. Not collective.

        Raises:
            StateError: A team was destroyed, or not between ``init`` and ``finalize``.
            TypeError: ``pe`` is not an integer, or ``dest_team`` no team.

        Source: OpenSHMEM 1.5, 9.4.5 (shmem_team_translate_pe); ishmem_team_translate_pe.
        """
        dest, number = find(dest_team), check.integer(pe, "pe")
        if not self or not dest or not 0 <= number < self.shape.size:
            return INVALID
        return dest.shape.index(self.shape.pe(number))

    def world_pe(self, pe: int, name: str = "pe") -> int:
        """Return the number in TEAM_WORLD of PE ``pe`` of this team; ``name`` is its argument name in errors.

        Raises:
            IndexError: There is no such PE.
            TypeError: ``pe`` is not an integer.
            StateError, ValueError: As for ``sync``.
        """
        shape, number = self.shape, check.integer(pe, name)
        if not 0 <= number < shape.size:
            raise IndexError(error_texts.no_pe(name, number, shape.size, repr(self)))
        return shape.pe(number)

    def split_strided(self, start: int, stride: int, size: int, *, num_contexts: int = 0) -> Team:
        """Split the team: return the new team of its PEs ``start``, ``start + stride``, ..., ``size`` of them.

        Collective over this team, blocking. The result is TEAM_INVALID on a PE that is not in the new team, and if the
        team to split is TEAM_INVALID.

        Args:
            start: Number of the first PE of the new team, as numbered in the team to split.
            stride: Stride between PEs of the new team, in the same numbers. May be negative; 0 only if ``size`` is 1.
            size: Number of PEs of the new team, at least 1.
            num_contexts: Number of contexts that the program plans to create from the team; a hint, at least 0.

        Raises:
            ValueError: PEs that this team does not have, or a negative ``num_contexts``.
            TypeError: Not integers.
            SymmetryError: The PEs request different teams, or the arguments of another PE are invalid.
            IshmemError: Too many teams are alive; on every PE of this team. Destroying some makes room.
            StateError: Destroyed, or not between ``init`` and ``finalize``.
            PeerLost: A PE died, or finalised without this call.

        Source: OpenSHMEM 1.5, 9.4.6 (shmem_team_split_strided); ishmem_team_split_strided.
        """
        if not self:
            return TEAM_INVALID

        def layers() -> list[list[Shape]]:
            return [[strided(self.shape, start, stride, size)]]

        request = f"with start={start!r}, stride={stride!r}, size={size!r}, num_contexts={num_contexts!r}"
        return _split(self, "split_strided", request, layers, num_contexts)[0]

    def split_2d(self, xrange: int, *, num_contexts: int = 0) -> tuple[Team, Team]:
        """Split the team as a 2-D grid with rows of ``xrange`` PEs; return the teams of this PE's row and column.

        Collective over this team, blocking. PE ``n`` is in column n % xrange and row n // xrange; the last row, and
        with it the last columns, may be shorter. An ``xrange`` above the size of the team stands for that size. The
        result for TEAM_INVALID is TEAM_INVALID twice. Errors as for ``split_strided``.

        Args:
            xrange: Number of PEs in a row, at least 1.
            num_contexts: Number of contexts that the program plans to create from the team; a hint, at least 0.

        Source: OpenSHMEM 1.5, 9.4.7 (shmem_team_split_2d); ishmem_team_split_2d.
        """
        if not self:
            return TEAM_INVALID, TEAM_INVALID

        def layers() -> list[list[Shape]]:
            width, size = min(_at_least_one(xrange, "xrange"), self.shape.size), self.shape.size
            rows = [strided(self.shape, first, 1, min(width, size - first)) for first in range(0, size, width)]
            columns = [strided(self.shape, x, width, (size - x + width - 1) // width) for x in range(width)]
            return [rows, columns]

        request = f"with xrange={xrange!r}, num_contexts={num_contexts!r}"
        x_team, y_team = _split(self, "split_2d", request, layers, num_contexts)
        return x_team, y_team

    def sync(self) -> None:
        """Wait until all members have called, without completing any operation.

        Collective over the team, blocking.

        Raises:
            ValueError: This PE is not in the team.
            StateError: Destroyed, or not between ``init`` and ``finalize``.
            PeerLost: A PE died, or finalised without this call.
            SymmetryError: Another member has called another collective routine.

        Source: OpenSHMEM 1.5, 9.9.3 (shmem_team_sync); ishmem_team_sync.
        """
        _require_alive(self)
        job.current().barrier("team_sync", self.handle)

    def destroy(self) -> None:
        """Destroy the team and the contexts created from it.

        Collective over the team, blocking: returns when all members have called. TEAM_INVALID is ignored.

        Raises:
            ValueError: A predefined team.
            StateError: Destroyed before, or not between ``init`` and ``finalize``.
            SymmetryError: The PEs destroy different teams.
            PeerLost: A PE died, or finalised without this call.

        Source: OpenSHMEM 1.5, 9.4.8 (shmem_team_destroy); ishmem_team_destroy.
        """
        if not self:
            return
        if self._shape is None:
            raise ValueError(f"{self!r} lives from init to finalize and cannot be destroyed")
        this, shape = job.current(), self.shape
        for context in [context for context in this.contexts if context.team == self]:
            context.close()
        agreement.agree(this, "team_destroy", f"{shape.start}, {shape.stride}, {shape.size}", self.handle)
        # No PE reads the agreement or waits for this team any more: another team may use its cache lines.
        this.barrier("team_destroy", self.handle)
        this.remove_team(self.handle)

    def get_config(self) -> TeamConfig:
        """Return the configuration of the team, with the hint that its split was given; not collective.

        Raises:
            ValueError: This PE is not in the team.
            StateError: Destroyed, or not between ``init`` and ``finalize``.

        Source: OpenSHMEM 1.5, 9.4.4 (shmem_team_get_config); ishmem_team_get_config.
        """
        _require_alive(self)
        return self._config

    def create_ctx(self, options: int = 0) -> ishmem.Ctx:
        """Return a new context of this team: see ``ishmem.ctx_create``.

        ``options`` and errors are those of ``ctx_create``. Not collective.

        Source: OpenSHMEM 1.5, 9.5.2 (shmem_team_create_ctx).
        """
        return ishmem.ctx_create(self, options)

    def twin(self) -> Team:
        """Return the twin of this team: a team of the same PEs for on-queue collectives, independent of host calls.

        Raises:
            StateError: Destroyed, or not between ``init`` and ``finalize``.
            ValueError: This PE is not in the team.
        """
        _require_alive(self)
        return Team(self.handle + TWIN, self._shape, self._config)

    def __int__(self) -> int:
        return self.handle

    def __bool__(self) -> bool:
        return self.handle != INVALID

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Team):
            return NotImplemented
        return self.handle == other.handle and self._shape is other._shape

    def __hash__(self) -> int:
        return hash((self.handle, id(self._shape)))

    def __repr__(self) -> str:
        name = _NAMES.get(self.handle)
        if name:
            return f"ishmem.{name}"
        if self.handle >= TWIN:
            return f"{Team(self.handle - TWIN, self._shape)!r} on-queue"
        return f"<team {self.handle}: {self._shape}>"

    def __enter__(self) -> Team:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error the other PEs may not destroy the team, and waiting for them would hide the error.
        if kind is None:
            self.destroy()


_NAMES = {job.WORLD: "TEAM_WORLD", job.SHARED: "TEAM_SHARED", job.NODE: "TEAM_NODE", INVALID: "TEAM_INVALID"}

TEAM_WORLD = Team(job.WORLD)
TEAM_SHARED = Team(job.SHARED)
TEAM_NODE = Team(job.NODE)
TEAM_INVALID = Team(INVALID)


def find(team: Team) -> Team:
    """Return ``team`` unchanged; raise ``TypeError`` if it is not a `Team`, for example a number of elements."""
    if isinstance(team, Team):
        return team
    allowed = "a Team: ishmem.TEAM_WORLD, the result of a split, or ishmem.active_set(start, stride, size)"
    is_number = isinstance(team, Integral)
    hint = f"; a number of elements is nelems={team}, and handles are for kernels" if is_number else ""
    raise TypeError(f"team is {allowed}; got {team!r} ({type(team).__name__}){hint}")


def _require_alive(team: Team) -> None:
    """Raise if this PE is not in the team, or the team was destroyed."""
    team.shape  # noqa: B018


def _at_least_one(value: Any, name: str) -> int:
    number = check.integer(value, name)
    if number < 1:
        raise ValueError(f"{name} is {number}; it must be at least 1")
    return number


def strided(parent: Shape, start: Any, stride: Any, size: Any) -> Shape:
    """Return PEs ``start``, ``start + stride``, ..., ``size`` of them, of ``parent``, as numbers in TEAM_WORLD.

    Raises ``ValueError`` for PEs that ``parent`` does not have and wrong sizes, ``TypeError`` for other objects.
    """
    first, step, count = check.integer(start, "start"), check.integer(stride, "stride"), _at_least_one(size, "size")
    if step == 0 and count > 1:
        raise ValueError(f"stride is 0 and size is {count}; a stride of 0 is allowed only for a team of one PE")
    last = first + (count - 1) * step
    for pe in (first, last):
        if not 0 <= pe < parent.size:
            raise ValueError(
                f"start={first}, stride={step}, size={count} reaches PE {pe}; PEs are numbered 0 to {parent.size - 1}"
            )
    return Shape.of([parent.pe(first + member * step) for member in range(count)])


def _split(
    parent: Team, routine: str, request: str, layers: Callable[[], list[list[Shape]]], num_contexts: int
) -> list[Team]:
    """Create the teams of each layer, at most one for each PE; return this PE's team of each layer, or TEAM_INVALID.

    Every PE of ``parent`` computes the handles of all new teams from the handles that are free on all PEs of the
    parent, or, if these are too few, from the free handles of each PE. So the split fails on every PE or on none.
    ``request`` is a text of the arguments, equal on all PEs; ``layers`` checks them and returns the shapes.
    """
    this, shape = job.current(), parent.shape

    def make() -> tuple[list[list[Shape]], TeamConfig]:
        contexts = check.integer(num_contexts, "num_contexts")
        if contexts < 0:
            raise ValueError(f"num_contexts is {contexts}; it must not be negative")
        return layers(), TeamConfig(contexts)

    (wanted, config), agreed = agreement.check_and_agree(
        this, routine, make, lambda _made: request, parent.handle, free_handles()
    )
    try:
        handles = _assign(wanted, dict.fromkeys(shape, agreed.free), routine)
    except IshmemError:
        handles = _assign(wanted, agreement.free_of_each(this, parent.handle), routine)
    mine: list[Team] = []
    for layer, numbers in zip(wanted, handles):
        own = [Team(number, part, config) for number, part in zip(numbers, layer) if part.index(this.pe) >= 0]
        mine.append(own[0] if own else TEAM_INVALID)
    for team in mine:
        if team._shape:
            this.set_team(team.handle, team._shape, agreed.highest, config)
    return mine


def _assign(wanted: list[list[Shape]], masks: dict[int, int], routine: str) -> list[list[int]]:
    """Return a handle for each team of each layer; remove it from the members' bit masks of free handles, ``masks``."""
    return [[take(part, masks, routine) for part in layer] for layer in wanted]


def free_handles() -> int:
    """Return the bit mask of the team handles that are free on this PE."""
    this = job.current()
    taken = {*job.PREDEFINED, *this.teams}
    return sum(1 << handle for handle in range(this.settings.teams_max) if handle not in taken)


def is_alive(team: Team) -> bool:
    """Return whether ``team`` still exists on this PE: it was not destroyed."""
    return job.current().teams.get(team.handle) is team._shape


def take(part: Shape, masks: dict[int, int], routine: str) -> int:
    """Return the first team handle that is free for all members of ``part``, and remove it from ``masks``.

    ``masks`` has a bit mask of free handles for each PE. Raises ``IshmemError``, in ``routine``'s name, without one.
    """
    common = (1 << TWIN) - 1
    for pe in part:
        common &= masks[pe]
    layout = job.current().heap.layout
    if part.size > FEW_MEMBERS and common and not layout.handles_for(part.size, common):
        raise IshmemError(
            f"{routine}: too many teams of more than {FEW_MEMBERS} PEs are alive; a job of {layout.n_pes} PEs allows "
            f"{layout.wide}, with the {len(job.PREDEFINED)} predefined ones; destroy some"
        )
    common = layout.handles_for(part.size, common)
    if not common:
        limit = job.current().settings.teams_max
        raise IshmemError(
            f"{routine}: too many teams are alive; ISHMEM_TEAMS_MAX is {limit}, with the {len(job.PREDEFINED)} "
            "predefined ones, and a new team needs a handle that is free on all its members; destroy some teams"
        )
    handle = (common & -common).bit_length() - 1
    for pe in part:
        masks[pe] &= ~(1 << handle)
    return handle


def _of_team(method: Callable[..., Any], result: str) -> Callable[..., Any]:
    """Return the function ``team_<method>(team, ...)``; ``result`` ends the call in its example."""
    made = ">>> everyone = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 1, n)"
    example = f"{made}\n>>> ishmem.team_{method.__name__}(everyone){result}"
    return stubs.function_of(method, "team", find, {"team": "A team."}, example)


team_my_pe = _of_team(Team.my_pe, " == me\nTrue")
team_n_pes = _of_team(Team.n_pes, " == n\nTrue")
team_get_config = _of_team(Team.get_config, "\nTeamConfig(num_contexts=0)")
team_destroy = _of_team(Team.destroy, "")
_PARENT = {"parent_team": "The team to split; all its PEs call."}
team_split_strided = stubs.function_of(
    Team.split_strided, "parent_team", find, _PARENT,
    ">>> even = ishmem.team_split_strided(ishmem.TEAM_WORLD, 0, 2, (n + 1) // 2)\n"
    ">>> bool(even) == (me % 2 == 0)\nTrue",
)  # fmt: skip
team_split_2d = stubs.function_of(
    Team.split_2d, "parent_team", find, _PARENT,
    ">>> row, column = ishmem.team_split_2d(ishmem.TEAM_WORLD, 2)\n"
    ">>> (row.my_pe(), column.my_pe()) == (me % 2, me // 2)\nTrue",
)  # fmt: skip


def team_translate_pe(src_team: Team, src_pe: int, dest_team: Team) -> int:
    """Return the number in ``dest_team`` of PE ``src_pe`` of ``src_team``, or -1; errors as for ``Team.translate_pe``.

    -1 if there is no such PE, it is not in ``dest_team``, or a team is TEAM_INVALID. Not collective.

    Args:
        src_team: A team.
        src_pe: Number of a PE in ``src_team``.
        dest_team: The team in which the number of that PE is returned.

    Example:
        >>> last = ishmem.team_split_strided(ishmem.TEAM_WORLD, n - 1, 1, 1)
        >>> ishmem.team_translate_pe(last, 0, ishmem.TEAM_WORLD) == (n - 1 if last else -1)
        True

    Source: OpenSHMEM 1.5, 9.4.5 (shmem_team_translate_pe); ishmem_team_translate_pe.
    """
    return find(src_team).translate_pe(src_pe, dest_team)


def shrink(team: Team = TEAM_WORLD) -> Team:
    """Return a new team of the remaining members of a team after the loss of a PE, in the same order.

    Collective over the remaining members, blocking; the supervisor of the job decides which PEs are lost. It first
    waits for this PE's kernels, whose waits end after a loss. From then on waits do not end because of the PEs that are
    lost now. After ``shrink(TEAM_WORLD)`` allocations and ``free`` are collective over the remaining PEs. The old team
    stays and counts as one of ``ISHMEM_TEAMS_MAX``; its collective calls raise ``PeerLost``.

    Args:
        team: A team. After a further loss, pass TEAM_WORLD again or the result of the last ``shrink``.

    Raises:
        TypeError: Not a team.
        ValueError: This PE is not in the team.
        StateError: The job ends with the first loss, or not between ``init`` and ``finalize``.
        IshmemError: Too many teams are alive.
        PeerLost: The supervisor is lost.

    Example:
        >>> everyone = ishmem.shrink(ishmem.TEAM_WORLD)  # doctest: +SKIP

    Source: MPI 5's fault tolerance, MPIX_Comm_shrink.
    """
    this, group = job.current(), find(team)
    if not this.losses.goes_on:
        raise StateError(f"shrink: this job ends with the first loss; {losses.HOW}")
    members = tuple(group.shape)
    with long_waits.patience(this) as report:
        this.losses.await_kernels(report)
        mine = Census(free_handles(), this.highest_sequence, this.losses.heap_digest(), members)
        census = this.links.agree_on_survivors(mine, report)
    this.losses.acknowledge(census, members)
    shape = Shape.of(census.pes)
    handle = take(shape, dict.fromkeys(shape, census.free), "shrink")
    this.set_team(handle, shape, census.highest, TeamConfig())
    if group.handle in (job.WORLD, this.everyone):
        this.everyone = handle
    return Team(handle, shape)


def team_ptr(team: Team, a: ndarray, pe: int) -> ndarray | None:
    """Return an array on the memory of ``a`` on PE ``pe`` of a team, as ``ptr``; ``None`` also if this PE is not in it.

    Not collective, not blocking.

    Args:
        team: A team.
        a: As for ``ptr``.
        pe: Number of the PE in the team.

    Raises:
        StateError: Destroyed, or not between ``init`` and ``finalize``.
        SymmetryError: ``a`` is not on the symmetric heap.
        IndexError: The team has no such PE.
        TypeError: ``team`` is no team, ``a`` no array, or ``pe`` no integer.

    Example:
        >>> mine = ishmem.team_ptr(ishmem.TEAM_WORLD, ishmem.zeros(4), me)

    Source: OpenSHMEM 1.6, 9.1.10 (shmem_team_ptr).
    """
    group = find(team)
    return memory.ptr(a, group.world_pe(pe)) if group else None
