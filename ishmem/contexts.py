"""Contexts: streams of operations of this PE, each ordered and completed independently of the others.

Contexts exist on the host only. The methods of a context are the routines of the same names; they take numbers of PEs
in the context's team. ``quiet`` of a context waits for the operations of that context, and on PEs of other nodes for
those of all contexts; copies by the copy engine that other contexts have started may go on.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntFlag
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ishmem import _core, amo, indexed, order, rma, signals, strided
from ishmem.common.constants import CtxOption, SessionOption
from ishmem.common.errors import IshmemError, StateError
from ishmem.common.routines import ROUTINES, exported
from ishmem.runtime import check, job, stubs
from ishmem.runtime.copy_engine import CopyEngine
from ishmem.teams import TEAM_INVALID, TEAM_WORLD, Team, find

__all__ = ["CTX_DEFAULT", "CTX_INVALID", "Ctx", "CtxSession", *exported(__name__)]

F = TypeVar("F", bound=IntFlag)

MAX_CONTEXTS = 256
"""Largest number of contexts of a PE at a time: each has a command list of the device."""

NO_OPTION = SessionOption(0)


@dataclass(frozen=True)
class CtxSession:
    """Hints of a session of a context (OpenSHMEM 1.6, 9.9.1).

    Attributes:
        options: ``SessionOption`` flags: 0, or ``CTX_SESSION_BATCH``.
        total_ops: The largest number of puts, gets and atomics in the session; None if unknown.
    """

    options: SessionOption = NO_OPTION
    total_ops: int | None = None


class RunningSession:
    """Session of a context; as a context manager, it restores the context's previous hints at the end of the block."""

    def __init__(self, ctx: Ctx, before: CtxSession | None) -> None:
        self._ctx, self._before = ctx, before

    def __enter__(self) -> Ctx:
        """Return the context of the session."""
        return self._ctx

    def __exit__(self, *_: object) -> None:
        """Restore the hints that the context had before this session."""
        self._ctx.session = self._before


class Ctx:
    """A context, created by ``ctx_create``; false if this PE is not in the team.

    Its methods are ``put get p g put_nbi get_nbi iput iget ibput ibget ixput ixget``, all atomics, ``put_signal``,
    ``put_signal_nbi``, ``signal_add`` and ``signal_set``. They raise the errors of the routines, ``IndexError`` for a
    PE that is not in the team, ``StateError`` for a context that was destroyed or is private to another thread, and
    ``ValueError`` for CTX_INVALID. As a context manager it is destroyed on exit.

    Attributes:
        team: The team whose PE numbers its methods take.
        options: The ``CtxOption`` flags of its creation.
        session: Hints of the running session, a ``CtxSession``; None without a session.
    """

    session: CtxSession | None = None

    def __init__(self, team: Team, options: CtxOption, engine: CopyEngine | None) -> None:
        self.team, self.options = team, options
        self._engine = engine
        self._thread = threading.get_ident()

    def _usable(self) -> job.Job:
        """Return the job of this PE; raise ``StateError`` or ``ValueError`` if this thread may not use the context."""
        this = job.current()
        if self is CTX_INVALID:
            raise ValueError("the context is CTX_INVALID: this PE is not in the team; test it with `if ctx:`")
        if self is not CTX_DEFAULT and self not in this.contexts:
            raise StateError("the context was destroyed")
        if self.options & CtxOption.PRIVATE and threading.get_ident() != self._thread:
            raise StateError("the context was created with CTX_PRIVATE; only the thread that created it may use it")
        return this

    def fence(self) -> None:
        """Order the delivery of the puts, atomics and stores of this context on each PE.

        It completes them, as ``quiet`` of the context. CTX_INVALID is ignored. Not collective, blocking.

        Raises:
            StateError: Destroyed, private to another thread, or not between ``init`` and ``finalize``.

        Source: OpenSHMEM 1.5, 9.11.1 (shmem_ctx_fence).
        """
        self.quiet()

    def quiet(self) -> None:
        """Wait for remote completion of all operations of this context.

        On PEs of other nodes it waits for those of all contexts. CTX_INVALID is ignored. Not collective, blocking.

        Raises:
            StateError: Destroyed, private to another thread, or not between ``init`` and ``finalize``.
            PeerLost: A PE of another node is lost.
            LevelZeroError: The device is lost.

        Source: OpenSHMEM 1.5, 9.11.2 (shmem_ctx_quiet).
        """
        if not self:
            return
        this = self._usable()
        (self._engine or this.default_engine).quiet()
        if not _core.fence():
            this.raise_lost("ctx_quiet")

    def flush(self) -> None:
        """Wait for local completion of the operations of this context: see ``ishmem.flush``.

        On PEs of other nodes it covers all contexts. CTX_INVALID is ignored. Not collective, blocking.

        Raises:
            StateError, LevelZeroError: As for ``quiet``.
            PeerLost: A PE of another node is lost.

        Source: NVSHMEM 3.7 (flush); not in OpenSHMEM.
        """
        if self:
            order.flush_engine(self._usable(), self._engine)

    def pe_quiet(self, target_pes: int | Sequence[int]) -> None:
        """Wait for remote completion of all operations of this context on the PEs ``target_pes``.

        It waits for the operations of this context on the other PEs too, and for none if ``target_pes`` is empty.
        CTX_INVALID is ignored. Not collective, blocking.

        Args:
            target_pes: A number of a PE in the team, or a sequence or 1-D array of them.

        Raises:
            IndexError: The team has no such PE.
            TypeError: Not integers.
            StateError, LevelZeroError: As for ``quiet``.

        Source: OpenSHMEM 1.6, 9.12.3 (shmem_ctx_pe_quiet).
        """
        if not self:
            return
        self._usable()
        if [self.team.world_pe(pe, "target_pes") for pe in order.listed(target_pes)]:
            self.quiet()

    def session_start(self, options: int = 0, *, total_ops: int | None = None) -> RunningSession:
        """Start a session: set hints for the operations that follow on this context.

        If a session is running, the options are added to its options, and ``total_ops`` replaces its number. The
        attribute ``session`` has the hints; operations are not delayed. CTX_INVALID is ignored. Not collective.

        Args:
            options: 0 or ``CTX_SESSION_BATCH``: a series of operations, each of which may take longer.
            total_ops: The largest number of puts, gets and atomics in the session; by default unknown.

        Returns:
            A context manager that restores the previous hints on exit. Without ``with``, ``session_stop`` removes them.

        Raises:
            ValueError: Other ``options``, or a negative ``total_ops``.
            TypeError: Not integers.
            StateError: Destroyed, private to another thread, or not between ``init`` and ``finalize``.

        Example:
            >>> with ishmem.ctx_create() as ctx, ctx.session_start(ishmem.CTX_SESSION_BATCH, total_ops=10):
            ...     for number in range(10):
            ...         ctx.atomic_inc(counter, right)

        Source: OpenSHMEM 1.6, 9.9.2 (shmem_ctx_session_start).
        """
        before = self.session
        if not self:
            return RunningSession(self, before)
        self._usable()
        flags = _flags(options, SessionOption, "CTX_SESSION")
        if total_ops is not None and check.integer(total_ops, "total_ops") < 0:
            raise ValueError(f"total_ops is {total_ops}; it must not be negative")
        now = self.session or CtxSession()
        self.session = CtxSession(now.options | flags, now.total_ops if total_ops is None else total_ops)
        return RunningSession(self, before)

    def session_stop(self) -> None:
        """End the session of this context, if there is one: its hints are removed, also those of an outer session.

        CTX_INVALID is ignored. Not collective.

        Raises:
            StateError: Destroyed, private to another thread, or not between ``init`` and ``finalize``.

        Source: OpenSHMEM 1.6, 9.9.3 (shmem_ctx_session_stop).
        """
        if self:
            self._usable()
            self.session = None

    def destroy(self) -> None:
        """Complete the operations of the context and destroy it.

        CTX_INVALID is ignored. Not collective, blocking.

        Raises:
            ValueError: The context is CTX_DEFAULT.
            StateError: Destroyed before, private to another thread, or not between ``init`` and ``finalize``.
            LevelZeroError: The device is lost.

        Source: OpenSHMEM 1.5, 9.5.3 (shmem_ctx_destroy).
        """
        if self is CTX_DEFAULT:
            raise ValueError("CTX_DEFAULT lives from init to finalize and cannot be destroyed")
        if self:
            self._usable()
            self.close()

    def close(self) -> None:
        """Complete the operations of the context and release its resources, without the checks of ``destroy``."""
        job.current().contexts.discard(self)
        if self._engine:
            self._engine.close()
        _core.fence()

    def get_team(self) -> Team:
        """Return the team of the context, or TEAM_INVALID for CTX_INVALID; not collective.

        Source: OpenSHMEM 1.5, 9.5.4 (shmem_ctx_get_team).
        """
        return self.team

    def __bool__(self) -> bool:
        return bool(self.team)

    def __repr__(self) -> str:
        names = {id(CTX_DEFAULT): "ishmem.CTX_DEFAULT", id(CTX_INVALID): "ishmem.CTX_INVALID"}
        return names.get(id(self), f"<context of {self.team!r}>")

    def __enter__(self) -> Ctx:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.destroy()

    if TYPE_CHECKING:  # the operations, which are set below

        def __getattr__(self, name: str) -> Any: ...


def _method(operation: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``operation`` as a method of ``Ctx``, with PE numbers of its team and copies by its copy engine."""
    place = list(inspect.signature(operation).parameters).index("pe")

    @functools.wraps(operation)
    def run(self: Ctx, *arguments: Any, **keywords: Any) -> Any:
        this = self._usable()
        if len(arguments) > place:
            pe = self.team.world_pe(arguments[place])
            arguments = (*arguments[:place], pe, *arguments[place + 1 :])
        elif "pe" in keywords:
            keywords["pe"] = self.team.world_pe(keywords["pe"])
        previous = this.use_engine(self._engine)
        try:
            return operation(*arguments, **keywords)
        finally:
            this.use_engine(previous)

    return run


for _module in (amo, indexed, rma, signals, strided):
    for _name in exported(_module.__name__):
        if _name in ROUTINES and ROUTINES[_name].has_contexts:
            setattr(Ctx, _name, _method(getattr(_module, _name)))

CTX_DEFAULT = Ctx(TEAM_WORLD, CtxOption(0), None)
CTX_INVALID = Ctx(TEAM_INVALID, CtxOption(0), None)


def ctx_create(team: Team = TEAM_WORLD, options: int = 0) -> Ctx:
    """Return a new context of a team, or CTX_INVALID if ``team`` is TEAM_INVALID.

    Not collective.

    Args:
        team: The team whose PE numbers the context uses; by default all PEs.
        options: 0, or one or more of these, joined by ``|``: ``CTX_SERIALIZED`` (never used by two threads at once),
            ``CTX_PRIVATE`` (calls of other threads raise), ``CTX_NOSTORE`` (its quiet and fence need not order stores).

    Raises:
        IshmemError: 256 contexts of this PE are alive; destroying some makes room.
        ValueError: Options that do not exist.
        TypeError: ``team`` is no team, or ``options`` no integer.
        StateError: The team was destroyed, or not between ``init`` and ``finalize``.

    Example:
        >>> box = ishmem.zeros(4)
        >>> with ishmem.ctx_create() as ctx:
        ...     ctx.put_nbi(box, np.ones(4), right)
        ...     ctx.quiet()  # waits for the operations of this context only

    Source: OpenSHMEM 1.5, 9.5.1 (shmem_ctx_create).
    """
    this, group, flags = job.current(), find(team), _flags(options, CtxOption, "CTX")
    if not group:
        return CTX_INVALID
    group.n_pes()  # raises when the team was destroyed
    if len(this.contexts) >= MAX_CONTEXTS:
        raise IshmemError(f"ctx_create: {MAX_CONTEXTS} contexts are alive, which is the limit; destroy some")
    context = Ctx(group, flags, this.new_engine())
    this.contexts.add(context)
    return context


def _flags(options: Any, kind: type[F], prefix: str) -> F:
    """Return ``options`` as flags of enum ``kind``, or raise; ``prefix`` begins their public names in the error."""
    number, allowed = check.integer(options, "options"), [f"{prefix}_{option.name}" for option in kind]
    if not 0 <= number < 2 ** len(allowed):
        raise ValueError(f"options is {number}; allowed are 0, {', '.join(allowed)}, joined by |")
    return kind(number)


def _context(ctx: Any) -> Ctx:
    """Return ``ctx`` unchanged; raise ``TypeError`` if it is not a context."""
    if not isinstance(ctx, Ctx):
        raise TypeError(f"ctx is a context made by ctx_create, got {type(ctx).__name__}")
    return ctx


def _of_context(method: str, arguments: str = "", result: str = "") -> Callable[..., Any]:
    """Return the function ``ctx_<method>(ctx, ...)``; ``arguments`` and ``result`` complete the call in its example."""
    example = f">>> ctx = ishmem.ctx_create()\n>>> ishmem.ctx_{method}(ctx{arguments}){result}"
    example += "\n>>> ctx.destroy()" * (method != "destroy")
    words = {"ctx": "A context that ``ctx_create`` has created, or ``CTX_DEFAULT``."}
    return stubs.function_of(getattr(Ctx, method), "ctx", _context, words, example)


ctx_destroy = _of_context("destroy")
ctx_get_team = _of_context("get_team", result="\nishmem.TEAM_WORLD")
ctx_fence = _of_context("fence")
ctx_quiet = _of_context("quiet")
ctx_flush = _of_context("flush")
ctx_pe_quiet = _of_context("pe_quiet", ", [right]")
ctx_session_stop = _of_context("session_stop")


def ctx_session_start(ctx: Ctx, options: int = 0, *, total_ops: int | None = None) -> RunningSession:
    """Start a session of a context: set hints for the operations that follow: see ``Ctx.session_start``.

    Not collective. Returns a context manager that restores the previous hints at the end of its block. Errors as for
    ``Ctx.session_start``, and ``TypeError`` if ``ctx`` is no context.

    Args:
        ctx: A context that ``ctx_create`` has created, or ``CTX_DEFAULT``; CTX_INVALID is ignored.
        options: 0 or ``CTX_SESSION_BATCH``: a series of operations, each of which may take longer.
        total_ops: The largest number of puts, gets and atomics in the session; by default unknown.

    Example:
        >>> with ishmem.ctx_session_start(ishmem.CTX_DEFAULT, ishmem.CTX_SESSION_BATCH, total_ops=100):
        ...     ishmem.quiet()

    Source: OpenSHMEM 1.6, 9.9.2 (shmem_ctx_session_start).
    """
    return _context(ctx).session_start(options, total_ops=total_ops)
