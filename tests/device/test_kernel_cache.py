"""The kernel cache: what its keys depend on, its files, and programs that find kernels of an earlier run."""

from __future__ import annotations

import enum
import math
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable

import numpy as np
import pytest
from common import dpex, dpnp, kapi
from compilations import Compilations, cache_in, key, keys
from subprocesses import program, run_program

import ishmem
from ishmem.dpex import spirv
from ishmem.dpex.cache import store as stores
from ishmem.dpex.cache.key import NoKeyError
from ishmem.dpex.cache.store import Store
from ishmem.dpex.extension import installed
from ishmem.environment.settings import Settings
from ishmem.runtime import kernel_constants
from ishmem.runtime.kernel_extension import Ishmem
from ishmem.testing import Pes

HEAP_ID, PE_ID = kernel_constants.FIRST, kernel_constants.FIRST + 1
KEY, OTHER = "ab" * 32, "cd" * 32


# Files


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kernels", 1 << 20)


def test_store_keeps_values(store: Store) -> None:
    assert store.get(KEY) is None
    for value in (b"", b"one", bytes(range(256)) * 100):
        store.put(KEY, value)
        assert store.get(KEY) == value
    assert store.get(OTHER) is None
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert not [path for path in store.folder.iterdir() if path.suffix != ".kernel"]


@pytest.mark.parametrize("damage", ["empty", "short", "long", "flipped", "magic", "text", "renamed", "folder"])
def test_store_ignores_damage(store: Store, damage: str) -> None:
    store.put(KEY, b"the value of the key")
    (path,) = store.folder.glob("*.kernel")
    good = path.read_bytes()
    bad = {"empty": b"", "short": good[:-1], "long": good + b"x", "text": b"nothing\n" * 20, "magic": b"I" + good[1:]}
    bad["flipped"] = good[:-3] + bytes([good[-3] ^ 1]) + good[-2:]
    if damage == "renamed":
        path.rename(store.folder / f"{OTHER}.kernel")
        assert store.get(OTHER) is None
    elif damage == "folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_bytes(bad[damage])
    assert store.get(KEY) is None
    if damage != "folder":
        store.put(KEY, b"again")
        assert store.get(KEY) == b"again"


def test_store_ignores_files_of_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put(KEY, b"value")
    monkeypatch.setattr(os, "getuid", lambda: os.stat(store.folder).st_uid + 1)
    assert store.get(KEY) is None


def test_store_without_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = Store(tmp_path / "file", 1000)
    store.put(KEY, b"value")
    with store.turn(KEY):
        assert store.get(KEY) is None


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes everywhere")
def test_store_in_a_folder_that_cannot_be_written(store: Store) -> None:
    store.put(KEY, b"value")
    store.folder.chmod(0o500)
    with store.turn(OTHER):
        store.put(OTHER, b"other")
    assert (store.get(KEY), store.get(OTHER)) == (b"value", None)


def test_store_removes_what_was_not_used_for_longest(tmp_path: Path) -> None:
    store = Store(tmp_path, 10_000)
    names = [f"{n:02x}" * 32 for n in range(8)]
    for n, name in enumerate(names):
        store.put(name, bytes(1000))
        os.utime(tmp_path / f"{name}.kernel", (n, n))
    assert all(map(store.get, names[:2]))  # used, so newer than the others
    store.put("ff" * 32, bytes(3000))
    left = [name for name in names if (tmp_path / f"{name}.kernel").exists()]
    assert left[:2] == names[:2]
    assert names[2] not in left
    assert store.get("ff" * 32) is not None
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10_000


def test_store_with_eight_processes(tmp_path: Path) -> None:
    shutil.copy(stores.__file__, tmp_path)
    command = [sys.executable, str(program("store_used_at_once")), str(tmp_path / "kernels")]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    racers = [subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    made = [int(racer.communicate(timeout=60)[0]) for racer in racers]
    assert all(racer.returncode == 0 for racer in racers)
    assert sum(made) >= 60  # more when the limit removed some before all had them
    assert not [path for path in (tmp_path / "kernels").iterdir() if path.suffix not in (".kernel", ".lock")]


def test_a_lock_that_is_not_given_back_is_no_hang(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ishmem.dpex.cache.store.PATIENCE", 0.05)
    with store.turn(KEY), store.turn(KEY):
        store.put(KEY, b"value")
    assert store.get(KEY) == b"value"


def test_another_process_begins_first(store: Store) -> None:
    """A head start ends when another process holds the lock or has written the value."""
    with ThreadPoolExecutor() as pool:
        with store.turn(KEY):
            later = pool.submit(turn_of, store, KEY, 1000)
            store.put(KEY, b"value")
        assert later.result() == b"value"
    assert turn_of(store, KEY, 1000) == b"value"
    assert turn_of(store, OTHER, 0.05) is None


def turn_of(store: Store, key: str, head_start: float) -> bytes | None:
    with store.turn(key, head_start):
        return store.get(key)


# Words


def module(*instructions: tuple[int, ...]) -> bytes:
    return spirv.kernel_module(instructions, 100)


def test_patched() -> None:
    def code(heap: int, pe: int) -> bytes:
        numbers = [(71, 7, 1, PE_ID), (71, 5, 1, HEAP_ID), (71, 6, 1, 99), (71, 8, 5)]
        halves = [heap & 0xFFFFFFFF, heap >> 32]
        return module(*numbers, (50, 2, 5, *halves), (50, 2, 6, 4, 0), (43, 2, 9, *halves), (50, 2, 7, pe, 0), (54, 1))

    heap = 0x7F12_3456_7000
    mine = code(heap, 3)
    assert spirv.patched(mine, {HEAP_ID: heap, PE_ID: 3}) == mine
    both = spirv.patched(mine, {HEAP_ID: 5 << 40, PE_ID: 1})
    changed = np.flatnonzero(np.frombuffer(both, "<u4") != np.frombuffer(mine, "<u4"))
    assert len(changed) == 3
    assert spirv.patched(both, {HEAP_ID: heap, PE_ID: 3}) == mine
    assert spirv.has_constant(mine, heap, heap + 1)
    assert not spirv.has_constant(mine, heap + 1, heap + 100)


@pytest.mark.parametrize("bad", [b"", b"abc", bytes(20), module((71, 1, 2))[:-4], module((71, 1)) + bytes(4)])
def test_patched_refuses(bad: bytes) -> None:
    with pytest.raises(ValueError, match=r"SPIR-V|length"):
        spirv.patched(bad, {HEAP_ID: 0})


# Keys


class Colour(enum.IntEnum):
    RED = 1


NUMBER = 1
LIST = [1]


def helper_in(number: Any) -> Any:
    @dpex.device_func
    def helper(a):
        return a + number

    return helper


def plain(x: Any) -> Any:
    return x


def with_value(value: Any, **options: Any) -> Any:
    def kernel(item: kapi.Item, a):
        a[0] = value

    return dpex.kernel(kernel, **options) if options else dpex.kernel(kernel)


def with_call(function: Any) -> Any:
    @dpex.kernel
    def kernel(item: kapi.Item, a):
        a[0] = function(a[0])

    return kernel


@dpex.kernel
def adds_number(item: kapi.Item, a):
    a[0] = NUMBER


@dpex.kernel
def adds_list(item: kapi.Item, a):
    a[0] = LIST[0]


@dpex.kernel
def names_modules(item: kapi.Item, a):
    a[0] = math.sqrt(np.pi) + ishmem.my_pe() + Colour.RED


@dpex.kernel
def keeps_a_module(item: kapi.Item, a):
    m = math
    a[0] = m.sqrt(4.0)


@dpex.kernel
def has_a_function(item: kapi.Item, a):
    a[0] = (lambda x: x + 1)(a[0])


def check_keys() -> None:
    global NUMBER
    seen = [key(with_value(value)) for value in (1, 2, 1.0, True, np.int32(1), np.int64(1), Colour.RED, 0.0, -0.0)]
    seen += [key(with_call(function)) for function in (helper_in(1), helper_in(2), helper_in(1.0), math.sqrt, math.sin)]
    seen += [key(with_value(1), dtype) for dtype in ("i4", "f8")]
    seen += [key(with_value(1), ndim=2), key(with_value(1), nd=True), key(with_value(1), "i8", "i8")]
    seen += [key(with_value(1, fastmath=True)), key(names_modules)]
    NUMBER = 1
    seen.append(key(adds_number))
    NUMBER = 2
    seen.append(key(adds_number))
    assert len(set(seen)) == len(seen)
    NUMBER = 1
    same = [key(with_value(1)), key(with_call(helper_in(1))), key(adds_number), key(names_modules)]
    assert set(same) <= set(seen)


def test_keys(pes: Pes) -> None:
    results = pes.run(check_keys)
    assert len(results) == pes.n


@pytest.mark.ishmem(1)
def test_keys_of_surroundings() -> None:
    seen = [key(with_value(1)), key(names_modules)]
    facts, process = kernel_constants.bound()

    def change(target: Any, name: str, value: Any, expected: int) -> None:
        old = getattr(target, name)
        setattr(target, name, value)
        now = [key(with_value(1)), key(names_modules)]
        setattr(target, name, old)
        assert len(set(now) - set(seen)) == expected, name

    change(installed(), "sources", "another version of ishmem", 2)
    change(keys, "key_parts", lambda: ("another version of numba",), 2)
    # These are only in the keys of kernels that use ishmem, and what differs from PE to PE is in none.
    other = {"check": not facts.check, "spans": True, "routed": True, "no_waits": "it is a test"}
    for name, value in other.items():
        changed = type(facts)(**{**vars(facts), name: value})
        # The own compiler checks the indices of all kernels.
        change(kernel_constants, "_bound", (changed, process), 2 if name == "check" else 1)
    change(kernel_constants, "_bound", (facts, type(process)(*(value + 1 for value in process))), 0)


@pytest.mark.ishmem(1)
def test_no_key() -> None:
    no_key = [
        with_call(plain), with_value([1]), with_value({1: 2}), with_value(np.zeros(2)), with_value(SimpleNamespace()),
        adds_list, keeps_a_module, has_a_function,
    ]  # fmt: skip
    for kernel in no_key:
        with pytest.raises(NoKeyError):
            key(kernel)


# Launches


def launched(kernel: Callable[..., Any]) -> int:
    a = dpnp.full(1, 10, dtype="i8")
    dpex.call_kernel(kernel, kapi.Range(1), a)
    return int(a[0])


def check_stale(folder: str) -> None:
    """Kernels that differ only in what they refer to have different keys, in memory and on disk."""
    global NUMBER
    with cache_in(Path(folder)):
        for expected in (4, 0):  # compiled, then loaded
            with Compilations() as found:
                assert [launched(with_value(n)) for n in (1, 2)] == [1, 2]
                assert [launched(with_call(helper_in(n))) for n in (3, 4)] == [13, 14]
            assert len(found.kernels) == expected
        NUMBER = 1
        helper = dpex.device_func(lambda a: a + NUMBER)
        assert launched(with_call(helper)) == 11
        NUMBER = 2
        # numba keeps what it compiled of the helper, so a kernel that is compiled now must not be kept for NUMBER 2.
        launched(with_call(helper))
        assert launched(with_call(dpex.device_func(lambda a: a + NUMBER))) == 12
        NUMBER = 1


@pytest.mark.ishmem(1)
def test_stale(pes: Pes, tmp_path: Path) -> None:
    pes.run(check_stale, str(tmp_path / "kernels"))


def check_shared() -> int:
    """A kernel compiled by one PE uses the addresses and the PE number of the process that loads it."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    a = ishmem.zeros(2, dtype="i8")
    ishmem.barrier_all()
    with Compilations() as found:
        dpex.call_kernel(tells_who, kapi.Range(1), a)
    ishmem.barrier_all()
    assert a.asnumpy().tolist() == [(me - 1) % n, me]
    return len(found.kernels)


@dpex.kernel
def tells_who(item: kapi.Item, a):
    me = ishmem.my_pe()
    ishmem.p(a, me, (me + 1) % ishmem.n_pes(), 0)
    a[1] = me


@pytest.mark.ishmem([2, 4])
def test_pes_share_kernels(pes: Pes) -> None:
    assert sum(pes.run(check_shared)) <= 1


def output(
    n: int, folder: Path | str, *arguments: str, name: str = "kernels_of_a_cache", forked: bool = True, **settings: str
) -> str:
    """Run the program, with two of its kernels or all; return what it prints."""
    env = {"ISHMEM_KERNEL_CACHE": str(folder), **settings}
    done = run_program(program(name), n, *arguments, env=env, timeout=120, forked=forked)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compiled(n: int, folder: Path | str, *arguments: str, **settings: str) -> int:
    """Run the program; return how many kernels its PEs compiled."""
    found = output(n, folder, *arguments, **settings)
    return len(re.findall(r"kernel (?:one|two|three|four|five|six) is compiled", found))


def test_only_the_first_run_compiles(tmp_path: Path) -> None:
    """Not even a run with another number of PEs or another heap; but kernels whose files are damaged."""
    folder = tmp_path / "kernels"
    assert compiled(4, folder) == 6
    assert compiled(3, folder, ISHMEM_SYMMETRIC_SIZE="3M") == 0
    damaged = sorted(folder.glob("*.kernel"))[:3]
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-4])
    assert compiled(2, folder) == len(damaged)


@pytest.mark.slow("test_only_the_first_run_compiles")
@pytest.mark.skipif(dpex.HAS_NUMBA_DPEX, reason="numba-dpex launches by numba")
def test_kernels_in_the_cache_need_no_numba(tmp_path: Path) -> None:
    assert "imported: ishmem.kernels llvmlite numba\n" in output(2, tmp_path, forked=False)
    assert output(2, tmp_path, forked=False).count("imported:\n") == 2


@pytest.mark.slow("test_only_the_first_run_compiles")
def test_kernels_of_inference(tmp_path: Path) -> None:
    """Those that ishmem makes for a dtype are in the cache, too."""
    made = ["all_gather", "all_reduce", "all_reduce_add_rms_norm", "combine", "dispatch", "reduce_scatter"]
    for wanted in (made, []):
        found = output(2, tmp_path, name="kernels_of_inference")
        assert sorted(re.findall(rf"kernel ({'|'.join(made)}) is compiled", found)) == wanted


@pytest.mark.slow("test_only_the_first_run_compiles")
def test_cache_turned_off(tmp_path: Path) -> None:
    for _ in range(2):
        assert compiled(1, "off", "few", XDG_CACHE_HOME=str(tmp_path)) == 2
    assert not list(tmp_path.rglob("*.kernel"))


def test_edited_sources() -> None:
    """A process whose device functions are not those in its keys stores no kernel."""
    extension = Ishmem()
    assert extension.storable(b"code") == b"code"
    extension.sources = "those of an hour ago"
    extension.load()
    assert extension.storable(b"code") is None


# Settings


def test_settings() -> None:
    wheres = {"auto": "auto", "on": "auto", "0": "off", "OFF": "off", "/x": "/x", "./y": str(Path("y").absolute())}
    for text, where in wheres.items():
        assert Settings(kernel_cache=text).kernel_cache == where
    with pytest.raises(ValueError, match="not a folder"):
        Settings(kernel_cache="of")
