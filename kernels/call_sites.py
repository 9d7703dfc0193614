"""Call sites of ishmem in kernels, for error reports.

With ``ISHMEM_CHECK``, `store_call_site` follows each call: the work-item that has recorded a violation writes kernel,
file and line into the record. Before a call of a group, all its work-items store the call site; the error of a lost
device names it. Calls that wait receive the words of their call site as argument ``call_site``. Functions that several
calls share have no such argument: reports of their waits name the call that this PE's kernels have begun last.
"""

from __future__ import annotations

import functools
import inspect
from pathlib import Path
from typing import Any

from numba.core import cgutils, ir, types
from numba.core.rewrites import register_rewrite

from ishmem.common import kernel_wait, packed_text
from ishmem.runtime import kernel_constants

from . import runtime_checks
from .intrinsics import IntrinsicCode, device_intrinsic, registered
from .long_waits import store_begun_call, store_group_call_site
from .options import COPIES_BY_PROXY, PROXIED
from .rewrites import CallRewrite, with_arguments


@device_intrinsic
def store_call_site(words):
    """Write the ``words`` of a call site into the violation record, if this work-item made it and it has none yet."""

    def emit(code: IntrinsicCode, values):
        runtime_checks.emit_note(code.builder, cgutils.unpack_tuple(code.builder, values))

    return types.void(words), emit


@register_rewrite("before-inference")
class CallSites(CallRewrite):
    """Inserts `store_call_site` after each ishmem call in kernels, and `store_group_call_site` before group calls."""

    def applies(self) -> bool:
        """Return whether the function being compiled is the program's, in a job with ``ISHMEM_CHECK``."""
        bound = kernel_constants.bound()
        return bound is not None and bound[0].check and super().applies()

    def replaced_call(self, statement: Any, called: Any) -> list[Any]:
        """Return ``statement``, a call of ``called``, then the store of its call site; for groups also one before."""
        loc, before = statement.loc, []
        if _takes(called, "group"):
            before = self.call_of(store_group_call_site, loc, _words_of(self.func_ir, statement, called))
        words = runtime_checks.words_of(self.func_ir.func_id.func_name, loc.filename, loc.line)
        return [*before, statement, *self.call_of(store_call_site, loc, words)]


@register_rewrite("before-inference")
class WaitSites(CallRewrite):
    """Passes call sites to those calls in the program's device code that wait."""

    def applies(self) -> bool:
        """Return whether a function is code of the program, in a job."""
        return kernel_constants.bound() is not None and super().applies()

    def replaced_call(self, statement: Any, called: Any) -> list[Any] | None:
        """Return ``statement`` with its call site as argument, or stored before; None if ``called`` does not wait.

        A call that already passes an argument at that position is unchanged; its check raises the error.
        """
        call, loc = statement.value, statement.loc
        takes = _takes(called, "call_site")
        if _has_site(called, call) if takes else not _waits(called):
            return None
        words = _words_of(self.func_ir, statement, called)
        if not takes:
            return [*self.call_of(store_begun_call, loc, words), statement]
        call_site = self.assigned(ir.Const(words, loc))
        return [call_site, with_arguments(statement, call.args, (*call.kws, ("call_site", call_site.target)))]


def _words_of(func_ir: Any, statement: Any, called: Any) -> tuple[int, ...]:
    """Return the words of the call site of a ``statement`` that calls the function ``called``."""
    loc = statement.loc
    name, place = func_ir.func_id.func_name, f"{Path(loc.filename).name}:{loc.line}"
    text = kernel_wait.site_text(name, place, called.__name__, _first_argument(func_ir, statement.value))
    return packed_text.pack(text, kernel_wait.WORDS)


@functools.cache
def _takes(called: Any, argument: str) -> bool:
    """Return whether the device form of a function has a parameter ``argument``, such as ``group``."""
    return argument in inspect.signature(registered[called]).parameters


def _has_site(called: Any, call: Any) -> bool:
    """Return whether a call of the program passes an argument at the position of ``call_site``."""
    place = list(inspect.signature(registered[called]).parameters).index("call_site")
    return len(call.args) > place or "call_site" in dict(call.kws)


def _waits(called: Any) -> bool:
    """Return whether a routine may wait in kernels although its device form has no parameter ``call_site``."""
    module = called.__module__.rpartition(".")[2]
    by_proxy = PROXIED if module in _ATOMICS else COPIES_BY_PROXY
    return by_proxy or module in _COLLECTIVES


_ATOMICS = ("amo", "signals")
_COLLECTIVES = ("collectives", "reductions", "vcollectives")


def _first_argument(func_ir: Any, call: Any) -> str:
    """Return the name of the variable that is a call's first argument; empty if it is no variable."""
    variable = next(iter(call.args), None)
    while isinstance(variable, ir.Var):
        if not variable.name.startswith("$"):
            return str(variable.unversioned_name)
        variable = func_ir._definitions.get(variable.name, [None])[0]
    return ""
