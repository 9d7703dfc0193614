"""Trips to the host that calls in kernels take on cards like an Arc: counted, and as docs/performance-kernels.md says.

Such cards reach each other's memory by loads and stores, without atomics, and have one compute engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest
import test_chapters_on_nodes
import test_inference
import test_moe
from common import dpex, kapi, one_line

import ishmem
from ishmem import _core
from ishmem.testing import Pes

ARC = {
    "ISHMEM_SIM_PEERS": "access",
    "ISHMEM_SIM_HOST_ATOMICS": "0",
    "ISHMEM_SIM_ENGINES": "1",
    "ISHMEM_SIM_IPC": "opaque",
    "ISHMEM_SIM_STRICT": "1",
}
PAGE = Path(__file__).parents[2] / "docs" / "performance-kernels.md"


@pytest.fixture(scope="module")
def arc() -> Iterator[Pes]:
    with Pes(2, ARC) as pool:
        yield pool


@dpex.kernel
def rma(item: kapi.Item, a, b, out, pe):
    ishmem.put(a, b, pe)
    ishmem.put_nbi(a, b, pe)
    ishmem.get(b, a, pe)
    ishmem.p(a, 1, pe)
    out[0] = ishmem.g(a, pe)
    ishmem.iput(a, b, 2, 1, 2, pe)
    ishmem.ibget(b, a, 2, 2, 2, 2, pe)
    ishmem.fence()
    ishmem.quiet()


@dpex.kernel
def collectives(item: kapi.NdItem, a, b, out, pe):
    group = item.get_group()
    ishmem.broadcast_work_group(a, b, 0, group)
    ishmem.fcollect_work_group(a, b, group, nelems=4)
    ishmem.alltoall_work_group(a, b, group, nelems=4)
    ishmem.sum_reduce_work_group(a, b, group)
    ishmem.barrier_all_work_group(group)


CALLS = {
    "put_signal": "ishmem.put_signal(a[8:], b[8:], a, 1, ishmem.SIGNAL_SET, pe)",
    "signal_add": "ishmem.signal_add(a, 1, pe)",
    "signal_set": "ishmem.signal_set(a, 1, pe)",
    "atomic_add": "ishmem.atomic_add(a, 1, pe)",
    "atomic_fetch_add": "out[0] = ishmem.atomic_fetch_add(a, 1, pe)",
    "atomic_fetch": "out[0] = ishmem.atomic_fetch(a, pe)",
    "atomic_set": "ishmem.atomic_set(a, 1, pe)",
    "waits": "ishmem.wait_until(a, ishmem.CMP_GE, 0); ishmem.wait_until_all(a, ishmem.CMP_GE, 0); "
             "out[0] = ishmem.signal_fetch(a); ishmem.signal_wait_until(a, ishmem.CMP_GE, 0)",
    "barriers": "ishmem.barrier_all(); ishmem.sync_all()",
    "set_lock": "ishmem.set_lock(a); ishmem.clear_lock(a)",
}  # fmt: skip
ORDINARY = {name: dpex.kernel(one_line(text, "a", "b", "out", "pe", called=name)) for name, text in CALLS.items()}
KERNELS: dict[str, Callable[..., Any]] = {"rma": rma, **ORDINARY, "collectives": collectives}


def trips(call: Callable[[], object]) -> int:
    """Return how many requests of this PE's kernels the host has served for a call."""
    ishmem.barrier_all()
    before = _core.proxy_served()
    call()
    ishmem.barrier_all()
    return _core.proxy_served() - before


def count(name: str, to_peer: bool) -> int:
    a, b, out = (ishmem.zeros(16, dtype="i8") for _ in range(3))
    pe = (ishmem.my_pe() + to_peer) % ishmem.n_pes()
    shape = kapi.NdRange((8,), (8,)) if name == "collectives" else kapi.Range(1)
    alone = ishmem.my_pe() == 0 or name in ("barriers", "collectives")
    return trips(lambda: alone and dpex.call_kernel(KERNELS[name], shape, a, b, out, pe))


def documented() -> dict[str, tuple[int, int]]:
    """Return the trips of the table, whose rows have the order of the kernels: to another card and to the own."""
    _, _, section = PAGE.read_text().partition("## Trips to the host on an Arc\n")
    rows = re.findall(r"^\| .* \| (\d) \| (\d) \|$", section, re.M)
    assert len(rows) == len(KERNELS) + 1
    return {name: (int(other), int(own)) for name, (other, own) in zip([*KERNELS, "layers"], rows)}


@pytest.mark.slow_cases("collectives", "rma")
@pytest.mark.parametrize("name", KERNELS)
def test_trips(arc: Pes, name: str) -> None:
    assert (arc.run(count, name, True)[0], arc.run(count, name, False)[0]) == documented()[name]


@pytest.mark.slow("test_routes.py, with fewer settings at once")
@pytest.mark.parametrize("chapter", test_chapters_on_nodes.CHAPTERS)
def test_chapters(arc: Pes, chapter: str) -> None:
    function, arguments = test_chapters_on_nodes.CHAPTERS[chapter]
    arc.run(function, *arguments)


LAYERS: dict[str, tuple[Any, ...]] = {
    "all_reduce": (test_inference.check_all_reduce, "float16", (7, 5001)),
    "all_gather and reduce_scatter": (test_inference.test_gather_and_scatter, "float32"),
    "rms_norm": (test_inference.test_all_reduce_with_rms_norm, "float32"),
    "experts": (test_moe.check_layers, "float32"),
    "experts with hooks": (test_moe.check_layers, "float32", ("random", "random"), True),
}


def check_layer(name: str) -> int:
    function, *arguments = LAYERS[name]
    return trips(lambda: function(*arguments))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_none(arc: Pes, name: str) -> None:
    """Inference and experts."""
    assert documented()["layers"] == (0, 0) == tuple(arc.run(check_layer, name))
