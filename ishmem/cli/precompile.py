"""``ishmem precompile``: compile the device functions of usual calls, for all programs' new kernels to load.

A kernel is compiled together with the device functions that it calls. They depend on the widths or dtypes of its
arrays and on a few settings of the job. The command stores those for jobs on one node, with the settings of this
process, and for contiguous arrays beside the installed package. Programs compile other functions themselves and store
them in the user's cache. Run the command again after a new version of ishmem, numba or Python.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import ishmem  # first: it reads ISHMEM_DEVICE
from ishmem import dpex
from ishmem.common.constants import Cmp, SignalOp
from ishmem.common.errors import IshmemError
from ishmem.dpex import kernel_api as kapi
from ishmem.dpex.cache import key, store
from ishmem.dpex.extension import installed
from ishmem.dpex.front_end import COMPILER
from ishmem.dpex.launch.kinds import ArrayKind, ItemKind
from ishmem.runtime.kernel_loading import INSTALLED, VERSION

ELEMENTS = ("int32", "int64", "float32", "float64")
INTEGERS = ("int32", "int64", "uint64")


def _as_in_a_program(function: Any) -> Any:
    """Return a kernel of ``function`` that is compiled as a program's kernel, with call sites, not as one of ishmem."""
    function.__code__ = function.__code__.replace(co_filename="precompile")
    return dpex.kernel(function)


@_as_in_a_program
def _move(item: kapi.Item, dest, source, index, count, pe):  # type: ignore[no-untyped-def]
    ishmem.put(dest, source, pe)
    ishmem.put(dest, source, pe, nelems=count)
    ishmem.put_nbi(dest, source, pe)
    ishmem.put_nbi(dest, source, pe, nelems=count)
    ishmem.get(dest, source, pe)
    ishmem.get(dest, source, pe, nelems=count)
    ishmem.p(dest, source[index], pe)
    ishmem.p(dest, source[index], pe, index)
    dest[index] = ishmem.g(source, pe)
    dest[index] = ishmem.g(source, pe, index)


@_as_in_a_program
def _move_by_strides(item: kapi.Item, dest, source, index, count, pe):  # type: ignore[no-untyped-def]
    ishmem.iput(dest, source, index, index, count, pe)
    ishmem.iget(dest, source, index, index, count, pe)
    ishmem.ibput(dest, source, index, index, index, count, pe)
    ishmem.ibget(dest, source, index, index, index, count, pe)


@_as_in_a_program
def _move_by_group(item: kapi.NdItem, dest, source, count, pe):  # type: ignore[no-untyped-def]
    group = item.get_group()
    ishmem.put_work_group(dest, source, pe, group)
    ishmem.put_work_group(dest, source, pe, group, nelems=count)
    ishmem.put_nbi_work_group(dest, source, pe, group)
    ishmem.put_nbi_work_group(dest, source, pe, group, nelems=count)
    ishmem.get_work_group(dest, source, pe, group)
    ishmem.get_work_group(dest, source, pe, group, nelems=count)


@_as_in_a_program
def _signal(item: kapi.Item, dest, source, sig_addr, count, pe):  # type: ignore[no-untyped-def]
    ishmem.put_signal(dest, source, sig_addr, 1, SignalOp.SET, pe)
    ishmem.put_signal(dest, source, sig_addr, 1, SignalOp.ADD, pe, nelems=count)
    ishmem.signal_set(sig_addr, 1, pe)
    ishmem.signal_add(sig_addr, 1, pe)
    ishmem.signal_wait_until(sig_addr, Cmp.GE, ishmem.signal_fetch(sig_addr))


@_as_in_a_program
def _signal_by_group(item: kapi.NdItem, dest, source, sig_addr, count, pe):  # type: ignore[no-untyped-def]
    group = item.get_group()
    ishmem.put_signal_work_group(dest, source, sig_addr, 1, SignalOp.SET, pe, group)
    ishmem.put_signal_work_group(dest, source, sig_addr, 1, SignalOp.ADD, pe, group, nelems=count)
    ishmem.signal_wait_until_work_group(sig_addr, Cmp.GE, 1, group)


@_as_in_a_program
def _update_first(item: kapi.Item, dest, index, pe):  # type: ignore[no-untyped-def]
    ishmem.atomic_add(dest, 1, pe)
    ishmem.atomic_inc(dest, pe)
    ishmem.atomic_set(dest, 1, pe)
    dest[index] = ishmem.atomic_fetch(dest, pe)
    dest[index] = ishmem.atomic_fetch_add(dest, 1, pe)
    dest[index] = ishmem.atomic_fetch_inc(dest, pe)
    dest[index] = ishmem.atomic_swap(dest, 1, pe)
    dest[index] = ishmem.atomic_compare_swap(dest, 0, 1, pe)
    ishmem.wait_until(dest, Cmp.EQ, 1)


@_as_in_a_program
def _update(item: kapi.Item, dest, index, pe):  # type: ignore[no-untyped-def]
    ishmem.atomic_add(dest, 1, pe, index)
    ishmem.atomic_inc(dest, pe, index)
    ishmem.atomic_set(dest, 1, pe, index)
    dest[index] = ishmem.atomic_fetch(dest, pe, index)
    dest[index] = ishmem.atomic_fetch_add(dest, 1, pe, index)
    dest[index] = ishmem.atomic_fetch_inc(dest, pe, index)
    dest[index] = ishmem.atomic_swap(dest, 1, pe, index)
    dest[index] = ishmem.atomic_compare_swap(dest, 0, 1, pe, index)
    ishmem.wait_until(dest, Cmp.EQ, 1, index)


@_as_in_a_program
def _complete(item: kapi.Item, numbers, team, pe):  # type: ignore[no-untyped-def]
    numbers[0] = ishmem.my_pe() + ishmem.n_pes()
    numbers[1] = ishmem.team_my_pe(team) + ishmem.team_n_pes(team) + ishmem.team_translate_pe(team, pe, team)
    ishmem.fence()
    ishmem.quiet()
    ishmem.sync_all()
    ishmem.barrier_all()


@_as_in_a_program
def _complete_by_group(item: kapi.NdItem):  # type: ignore[no-untyped-def]
    group = item.get_group()
    ishmem.fence_work_group(group)
    ishmem.quiet_work_group(group)
    ishmem.barrier_all_work_group(group)


def _array(dtype: str) -> ArrayKind:
    return ArrayKind(is_dpnp=True, dtype=dtype, ndim=1, layout="C", writable=True)


def _kernels() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """Yield each kernel to compile with the kinds of its arguments."""
    item, group, number = ItemKind(1, has_groups=False), ItemKind(1, has_groups=True), "int64"
    for dtype in ELEMENTS:
        pair = _array(dtype), _array(dtype)
        yield _move, (item, *pair, number, number, number)
        yield _move_by_strides, (item, *pair, number, number, number)
        yield _move_by_group, (group, *pair, number, number)
        yield _signal, (item, *pair, _array("uint64"), number, number)
        yield _signal_by_group, (group, *pair, _array("uint64"), number, number)
    for dtype in INTEGERS:
        for kernel in (_update_first, _update):
            yield kernel, (item, _array(dtype), number, number)
    yield _complete, (item, _array("int64"), number, number)
    yield _complete_by_group, (group,)


def version() -> str:
    """Return a hash of the versions, settings and sources on which all device functions depend."""
    return key.digest((key.key_parts(), installed().sources))


def fill(folder: Path) -> None:
    """Compile the device functions and store them in ``folder``, in place of its old files; starts and ends a job.

    Raises:
        OSError: The folder cannot be written.
        StateError: ishmem is initialised.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".", dir=folder) as fresh:
        shown = click.progressbar(list(_kernels()), label="Compiling device functions")
        with ishmem.init("1M"), shown:
            store.use(Path(fresh))
            for kernel, kinds in shown:
                kernel.code_for(kinds)
        for old in folder.glob("*.function"):
            old.unlink()
        for new in Path(fresh).glob("*.function"):
            shutil.move(new, folder)
    (folder / VERSION).write_text(version())


@click.command()
def command() -> None:
    """Compile the device functions of usual calls, beside the installed package: new kernels compile faster."""
    if not COMPILER.compiles_ahead:
        raise IshmemError(f"precompile is for ishmem.dpex; here kernels are compiled by {COMPILER.name}")
    try:
        fill(INSTALLED)
    except OSError as error:
        raise IshmemError(f"cannot write to {INSTALLED}: {error.strerror}") from error
