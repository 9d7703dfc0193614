"""Calls every public routine with random good and bad arguments, on every PE at once.

    ishmem run -n 2 tests/reliability/calls_pe.py 10000 1     (calls, seed)

A call may only raise the exceptions that the documentation names; after each call a put and a get must work. To a
collective routine the PEs pass the same bad arguments or each its own; all must raise, or none.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import decimal
import faulthandler
import inspect
import json
import logging
import mmap
import operator
import os
import random
import sys
import threading
import time
import warnings
from collections import Counter
from typing import Any, Callable

import dpctl.memory
import dpnp
import numpy as np

import ishmem
from ishmem import collectives, collectives_on_queue, vcollectives
from ishmem.environment.arrays import tensor

DOCUMENTED = (ishmem.IshmemError, TypeError, ValueError, IndexError, MemoryError)
PATIENCE = 30.0
"""Seconds that one call may take."""

NEVER = {"finalize", "free_all", "lock"}  # would end the job, or what this program works with; a generator
ON_QUEUE = set(collectives_on_queue.__all__)
COLLECTIVE = {
    "align", "arange", "array", "barrier_all_on_queue", "calloc", "deregister", "empty", "empty_like", "free", "full",
    "full_like", "malloc", "malloc_with_hints", "ones", "ones_like", "realloc", "register", "shrink", "static",
    "sync_all_on_queue", "team_destroy", "team_split_2d", "team_split_strided", "team_sync_on_queue", "zeros",
    "zeros_like",
    *collectives.__all__, *vcollectives.__all__, *ON_QUEUE,
    *(name for name in ishmem.__all__ if name.endswith(("_reduce", "scan"))),
}  # fmt: skip
ARRAYS = {"dest", "source", "ivar", "ivars", "sig_addr", "fetch", "a", "lock", "ret"}
TEAMS = {"team", "parent_team", "src_team", "dest_team"}
DTYPES = ("int32", "int64", "uint32", "uint64", "float32", "float64", "int8", "complex128", "float16", "bool")


class Pool:
    """The values that arguments are drawn from: as many, and in the same order, on every PE."""

    def __init__(self) -> None:
        self.symmetric = {name: ishmem.zeros(64, dtype=name) for name in DTYPES}
        self.locks = ishmem.zeros(4, dtype="int64")
        self.static = ishmem.static("bad calls", 64, "int64")
        self.arrays = [*self._views(), *self._freed(), *_foreign_arrays(), *_buffers()]
        self.team = ishmem.TEAM_WORLD.split_strided(0, 1, ishmem.n_pes())
        destroyed = ishmem.TEAM_WORLD.split_strided(0, 1, ishmem.n_pes())
        destroyed.destroy()
        self.teams = [ishmem.TEAM_WORLD, ishmem.TEAM_SHARED, ishmem.TEAM_NODE, 0]
        closed = ishmem.ctx_create()
        closed.destroy()
        self.contexts = [ishmem.CTX_DEFAULT, ishmem.ctx_create(), ishmem.ctx_create(ishmem.TEAM_NODE)]
        self.odd_things = [self.team, destroyed, ishmem.TEAM_INVALID, closed, ishmem.CTX_INVALID, 63, 64, -1]
        self.things = [*_scalars(), *_objects(), *self.odd_things]
        self.queues = [None, *(thing for thing in self.things if isinstance(thing, dpctl.SyclQueue))]

    def _views(self) -> list[Any]:
        a, f = self.symmetric["int64"], self.symmetric["float64"]
        square = a[:36].reshape(6, 6)
        usm = a.get_array()
        return [a[3:], a[:0], a[::2], a[::-1], square.T, square[:, 2], square[1:3, 1:3], f[1:9], usm, usm.usm_data,
                ishmem.ptr(a, ishmem.n_pes() - 1), self.static, self.static[::-1], self.static[5:6]]  # fmt: skip

    def _freed(self) -> list[Any]:
        freed = [ishmem.zeros(1000, dtype=name) for name in ("int64", "uint64", "int32")]
        for one in freed:
            ishmem.free(one)
        return freed


def _foreign_arrays() -> list[Any]:
    read_only = np.zeros(8, "i8")
    read_only.flags.writeable = False
    fields = np.zeros(4, [("x", "i4"), ("y", "f8")])
    return [
        dpnp.zeros(64, dtype="i8"), dpnp.zeros((4, 4), dtype="f4").T, dpnp.zeros(0), dpnp.asarray(3),
        tensor.zeros(8, dtype="i8", usm_type="host"), tensor.zeros(8, dtype="u8", usm_type="shared"),
        np.zeros(64, "i8"), np.zeros(64, "u8"), np.zeros(8, ">i8"), np.zeros(8, object), np.zeros(8, "M8[s]"),
        np.zeros(8, "U3"), np.zeros(8, "V5"), np.zeros(8, "g"), fields, fields["x"], np.array(7), np.zeros((3, 0)),
        np.broadcast_to(np.int64(3), (8,)), np.zeros((8, 8))[::2, ::-1], np.zeros(8, "f2"), read_only,
        np.ma.zeros(8), np.zeros(8, "c16"), np.zeros(1 << 20, "u1"),
    ]  # fmt: skip


def _buffers() -> list[Any]:
    return [
        b"bytes", bytearray(64), memoryview(bytearray(64))[::2], memoryview(b"abc"), array.array("q", range(8)),
        array.array("u", "abc"), (ctypes.c_long * 8)(), ctypes.c_double(1), mmap.mmap(-1, 4096),
        dpctl.memory.MemoryUSMDevice(64), dpctl.memory.MemoryUSMHost(64), dpctl.memory.MemoryUSMShared(64),
    ]  # fmt: skip


def _scalars() -> list[Any]:
    sizes = [0, 1, 2, 7, -1, -2, 127, 255, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, -(2**63), 2**70]
    numpy_ones = [np.int8(1), np.uint64(2**64 - 1), np.float32(1), np.float64("nan"), np.bool_(True)]
    floats = [0.0, 1.5, -0.0, 1e308, float("nan"), float("inf"), -float("inf"), 1j]
    return [None, True, False, *sizes, *floats, *numpy_ones, decimal.Decimal(1), ishmem.CMP_EQ, ishmem.SIGNAL_ADD]


class NoInteger:
    """An object that claims to be an integer but is not."""

    def __index__(self) -> int:
        raise TypeError("no integer after all")

    def __float__(self) -> float:
        raise TypeError("no number after all")


class NoArray:
    """An object that claims to be an array but is not."""

    _array_obj = "nothing"
    shape = ("x",)
    dtype = "int64"
    __sycl_usm_array_interface__ = {"data": None}


def _objects() -> list[Any]:
    texts = ["", "x", "int64", "f8", "O", "\0", "s" * 1000, "\udcff", b"\xff"]
    sequences = [[], [0], [None], (), (2, 3), (-1,), (2**40, 2**40), range(3), iter([1]), [[1], [2, 3]], {}, {"a": 1}]
    things = [object(), len, int, np.dtype("i8"), np.datetime64(1, "s"), Ellipsis, slice(1), NoInteger(), NoArray()]
    return [*texts, *sequences, *things, dpctl.SyclQueue(), dpctl.SyclEvent(), threading.Lock()]


class Caller:
    """Makes the calls of one PE; ``shared`` draws the same random numbers on every PE, ``own`` this PE's."""

    def __init__(self, seed: int) -> None:
        self.me, self.n = ishmem.my_pe(), ishmem.n_pes()
        self.shared, self.own = random.Random(seed), random.Random(f"{seed} {self.me}")
        self.pool = Pool()
        self.routines = _routines()
        self.check = ishmem.zeros((self.n, 5), dtype="int64")
        self.outcomes = ishmem.zeros(self.n, dtype="int64")
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.number, self.doing, self.since = 0, "", time.monotonic()

    def run(self, calls: int) -> None:
        """Make calls, each followed by a put, a get and a comparison."""
        for self.number in range(calls):
            name = self._choice(self.shared)
            self.since = time.monotonic()
            if name in COLLECTIVE:
                self._collective(name)
            else:
                while (name := self._choice(self.own)) in COLLECTIVE:
                    pass
                self._alone(name)
            self._round_trip(self.number)
        self.since = float("inf")

    def _choice(self, draw: random.Random) -> str:
        """Choose a routine; those that are for kernels refuse all, so they come less often."""
        names = list(self.routines)
        return draw.choices(names, [1 if name.endswith("_work_group") else 20 for name in names])[0]

    def _alone(self, name: str) -> None:
        result = self._call(name, *self._arguments(name, self.own, self.own))
        if name == "set_lock" or (name == "test_lock" and result is True):
            with contextlib.suppress(ishmem.IshmemError, *DOCUMENTED):
                ishmem.clear_lock(self.pool.locks, self.me)
        if isinstance(result, ishmem.Ctx) and result and result not in self.pool.contexts:
            result.destroy()

    def _collective(self, name: str) -> None:
        may_differ = name in ON_QUEUE or not name.endswith("_on_queue")  # a kernel hears of no refusal
        each = self.own if self.shared.random() < 0.5 and may_differ else self.shared
        with contextlib.suppress(*DOCUMENTED):  # errors of earlier calls
            self._settle()
        fresh = ishmem.zeros(8, dtype="int64") if name in ("free", "realloc") else None
        result = self._call(name, *self._arguments(name, self.shared, each, fresh))
        raised = isinstance(result, Exception)
        ishmem.barrier_all()  # all have read the outcomes of the collective before
        for pe in range(self.n):
            ishmem.p(self.outcomes, 2 * self.number + raised, pe, self.me)
        ishmem.barrier_all()
        numbers, seen = np.divmod(self.outcomes.asnumpy(), 2)
        if (numbers != self.number).any():
            raise SystemExit(f"out of step ({numbers.tolist()}): a PE took no part in {self.doing}")
        if seen.any() and not seen.all():
            self.wrong.append(f"raised on some PEs only ({seen.tolist()}): {self.doing}")
        self._give_back(fresh, result)

    def _give_back(self, fresh: Any, result: Any) -> None:
        for one in (fresh, result):
            if one is not None and hasattr(one, "__sycl_usm_array_interface__"):
                with contextlib.suppress(*DOCUMENTED):  # freed by the call
                    ishmem.free(one)
        for team in result if isinstance(result, tuple) else [result]:
            if isinstance(team, ishmem.Team) and team:
                team.destroy()

    def _call(self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self.doing = f"call {self.number}: {name}{_words(arguments, keywords)}"
        try:
            result = self.routines[name](*arguments, **keywords)
            if isinstance(result, dpctl.SyclEvent):
                result.wait()
            if name in ON_QUEUE:
                self._settle()
            self.counts["returned"] += 1
            self.doing += " returned"
        except Exception as error:
            self._count(error)
            self.doing += f" -> {type(error).__name__}: {str(error)[:300]}"
            return error
        return result

    def _settle(self) -> None:
        """Raise the errors of earlier on-queue calls."""
        for queue in self.pool.queues:
            ishmem.quiet_on_queue(queue).wait()

    def _count(self, error: Exception) -> None:
        self.counts[type(error).__name__] += 1
        if not isinstance(error, DOCUMENTED) or not str(error) or "incompatible function" in str(error):
            self.wrong.append(f"{self.doing} -> {type(error).__name__}: {str(error)[:300]}")

    def _round_trip(self, number: int) -> None:
        values, back = np.arange(number, number + 5) * (self.me + 1), np.zeros(5, "int64")
        right = (self.me + 1) % self.n
        ishmem.put(self.check[self.me], values, right)
        ishmem.get(back, self.check[self.me], right)
        if not np.array_equal(values, back):
            self.wrong.append(f"a put and a get differ after {self.doing}: {back} is not {values}")

    # ---- arguments

    def _arguments(self, name: str, common: random.Random, each: random.Random, fresh: Any = None) -> Any:
        """Return positional and keyword arguments: which, and the teams, by ``common``, the others by ``each``."""
        kind, values = each.choice(DTYPES), {}
        for parameter in inspect.signature(self.routines[name]).parameters.values():
            if parameter.kind == parameter.VAR_KEYWORD or parameter.name == "_routine":
                continue
            left_out = 0.01 if parameter.default is parameter.empty else 0.6
            if common.random() < left_out and parameter.name != "timeout":
                continue
            draw = common if parameter.name in TEAMS else each
            values[parameter.name] = self._value(name, parameter.name, kind, draw, fresh)
        if common.random() < 0.01:
            values["nothing"] = 1
        return _split(self.routines[name], values) if common.random() < 0.5 else ((), values)

    def _value(self, routine: str, name: str, kind: str, draw: random.Random, fresh: Any) -> Any:
        if fresh is not None and name == "a":
            return draw.choice([fresh, fresh[2:], fresh[::2], None, *_scalars(), *self.pool.arrays[14:]])
        if _may_wait_for_ever(routine) and name in ARRAYS:
            return draw.choice([*_scalars(), *self.pool.arrays[14:]])
        if name == "timeout":
            return draw.choice([0, 0.0, 0.001, np.float32(0), float("nan"), -1, -0.5, "x", [], object(), 1j])
        if draw.random() < 0.7:
            return self._good(name, kind, draw)
        if draw.random() < 0.5:
            return draw.choice([*self.pool.arrays, *self.pool.symmetric.values()])
        return draw.choice(self.pool.things)

    def _good(self, name: str, kind: str, draw: random.Random) -> Any:
        if name in ARRAYS:
            return self.pool.locks if name == "lock" else self.pool.symmetric["uint64" if name == "sig_addr" else kind]
        if name in TEAMS:
            return draw.choice(self.pool.teams)
        if name == "ctx":
            return draw.choice(self.pool.contexts)
        return draw.choice(_plain(name, self.n))


def _split(routine: Callable[..., Any], values: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Pass as many arguments by position as can be."""
    leading = []
    for parameter in inspect.signature(routine).parameters.values():
        if parameter.kind == parameter.KEYWORD_ONLY or parameter.name not in values:
            break
        leading.append(values.pop(parameter.name))
    return tuple(leading), values


def _may_wait_for_ever(routine: str) -> bool:
    return routine == "set_lock" or ("wait" in routine and routine.endswith("_on_queue"))


def _plain(name: str, n: int) -> list[Any]:
    """Return good values of an argument that is neither array nor team."""
    known: dict[str, list[Any]] = {
        "pe": list(range(n)), "src_pe": list(range(n)), "root": list(range(n)), "index": [0, 1, 63],
        "nelems": [0, 1, 5, None], "counts": [[1] * n, [0] * n, range(n)],
        "cmp": list(ishmem.common.constants.Cmp), "sig_op": [0, 1], "sycl_queue": [None], "depends": [None, []],
        "device": [None], "order": ["C", "F"], "dtype": list(DTYPES), "usm_type": ["device"], "timeout": [0],
        "shape": [3, (2, 3), (), 0, [4]], "name": ["bad calls", "other"], "alignment": [1, 64, 4096],
        "nbytes": [0, 1, 1000], "size": [0, 1, 8, 100], "hints": [0, 1, 3], "cmp_values": [np.zeros(64, "i8")],
        "status": [None, np.zeros(64, "i4")], "indices": [np.zeros(64, "u8")], "requested": [0, 3], "team": [0],
        "options": [0, 1], "xrange": [1, 2], "start": [0], "stride": [1, -1, 0], "heap_size": [None, "8M"],
    }  # fmt: skip
    return known.get(name, [0, 1, 2, 3])


def _routines() -> dict[str, Callable[..., Any]]:
    """Return the public routines, and the methods of contexts, whose first argument is the context."""
    found = {}
    for name in ishmem.__all__:
        routine = getattr(ishmem, name)
        if inspect.isfunction(routine) and name not in NEVER:
            found[name] = routine
    found["global_exit"] = lambda status: ishmem.global_exit(-1 if _is_exit_status(status) else status)
    for name, method in inspect.getmembers(ishmem.Ctx, inspect.isfunction):
        if not name.startswith("_") and name not in ("close", "destroy"):
            found[f"ctx.{name}"] = _method(name, method)
    return found


def _is_exit_status(value: Any) -> bool:
    """Return whether ``global_exit`` would accept the value, and end the job."""
    try:
        return 0 <= operator.index(value) <= 255
    except TypeError:
        return False


def _method(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    def call(ctx: Any, **keywords: Any) -> Any:
        target = ctx if isinstance(ctx, ishmem.Ctx) else ishmem.CTX_DEFAULT
        return getattr(target, name)(**keywords)

    signature = inspect.signature(method)
    first, *rest = signature.parameters.values()
    call.__signature__ = signature.replace(parameters=[first.replace(name="ctx"), *rest])  # type: ignore[attr-defined]
    return call


def _words(arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str:
    words = [_word(value) for value in arguments] + [f"{name}={_word(value)}" for name, value in keywords.items()]
    return f"({', '.join(words)})"


def _word(value: Any) -> str:
    try:
        if hasattr(value, "shape") and hasattr(value, "dtype"):
            return f"<{type(value).__module__} {value.dtype}{value.shape} strides {getattr(value, 'strides', None)}>"
        return repr(value)[:100]
    except Exception:
        return f"<{type(value).__name__}>"


def watch(caller: Caller) -> None:
    """End the process when a call takes too long."""
    while True:
        time.sleep(1)
        if time.monotonic() - caller.since > PATIENCE:
            sys.stderr.write(f"PE {caller.me}: no end of {caller.doing}\n")
            time.sleep(3)  # the others report too
            os._exit(3)


def collect(caller: Caller) -> list[dict[str, Any]]:
    """Return on PE 0 what every PE has found."""
    text = json.dumps({"counts": caller.counts, "wrong": caller.wrong[:20]}).encode()[: 1 << 16]
    rows = ishmem.zeros((caller.n, 1 << 16), dtype="uint8")
    ishmem.put(rows[caller.me, : len(text)], np.frombuffer(text, "uint8"), 0)
    ishmem.barrier_all()
    return [json.loads(bytes(row).rstrip(b"\0")) for row in rows.asnumpy()] if caller.me == 0 else []


def main(calls: int, seed: int) -> int:
    """Run as a PE: make so many calls, on all PEs together."""
    faulthandler.enable()
    warnings.simplefilter("ignore")
    logging.getLogger("ishmem").setLevel(logging.CRITICAL)  # tells of the errors that on-queue calls keep for later
    ishmem.init("16M")
    caller = Caller(seed)
    threading.Thread(target=watch, args=(caller,), daemon=True).start()
    caller.run(-(-calls // caller.n))
    found = collect(caller)
    if found:
        counts = sum((Counter(one["counts"]) for one in found), Counter())
        wrong = [f"PE {pe}: {text}" for pe, one in enumerate(found) for text in one["wrong"]]
        print(json.dumps({"pe": 0, "done": dict(counts.most_common()), "wrong": wrong}))
    ishmem.barrier_all()
    return 1 if caller.wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
