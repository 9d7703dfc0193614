"""One test of each chapter on emulated nodes, and collectives in two levels on three nodes, for ``make test``.

``make test-mpi`` runs all tests of the chapters on 2 + 2 and on 1 + 3 PEs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import collective_calls as calls
import collective_model as model
import numpy as np
import pytest
import test_active_sets
import test_amo
import test_collectives
import test_kernels_collectives
import test_kernels_reductions
import test_locks
import test_memory_extras
import test_on_queue
import test_on_queue_collectives
import test_order
import test_reductions
import test_register
import test_rma
import test_runtime_checks_collectives
import test_signals
import test_strided
import test_teams
import test_wait
import test_wait_sets
from common import dpex, same, symmetric

import ishmem
from ishmem.common.collective_table import COLLECTIVES
from ishmem.common.type_tables import HALVES
from ishmem.testing import Pes

BY_ROUNDS = ["broadcast", "alltoall", "sum_reduce"]
Check = tuple[Callable[..., Any], tuple[Any, ...]]
CHAPTERS: dict[str, Check] = {
    "register, collectives": (test_register.check_collectives, ("int32", (3, 700))),
    "register, moves": (test_register.check_moves, (33,)),
    "rma": (test_rma.check_host_cases, ("int32", test_rma.SAMPLE)),
    "amo": (test_amo.test_host_atomics_at_the_limits_of_a_type, ("int64",)),
    "signals": (test_signals.check_ordering, (200, 20)),
    "strided": (test_strided.test_host_strides_of_each_type, ("int16",)),
    "wait": (test_wait.host_ring, (20,)),
    "wait_sets": (test_wait_sets.check_few, ()),
    "order": (test_order.check_order, ("kernel", "host", 200)),
    "teams": (test_teams.check_kernel, (3,)),
    "active_sets": (test_active_sets.test_collectives_take_active_sets, ()),
    "locks": (test_locks.check_host, (12, 0)),
    "memory_extras": (test_memory_extras.test_atomics_signals_and_waits_of_static_objects, ("int32",)),
    "on_queue": (test_on_queue.check_chain, (3,)),
    "on_queue_collectives": (test_on_queue_collectives.check_results, ((3, 1000),)),
    "kernels_collectives": (test_kernels_collectives.check_all, ("int32", "group", (1, 1000))),
    "kernels_reductions": (test_kernels_reductions.check_bits, ()),
    "kernels_reductions, by group": (test_kernels_reductions.check_all, ("float64", "few by group", (3, 700))),
}


if not dpex.HAS_NUMBA_DPEX:
    CHAPTERS |= {f"kernels, {each}": (test_kernels_reductions.check_halves, (each, (1, 700, 4099))) for each in HALVES}


@pytest.fixture(scope="module")
def spread(pool_with: Callable[..., Pes]) -> Pes:
    """PEs on two nodes, alone on the first."""
    return pool_with(4, nodes=[1, 3])


@pytest.mark.slow_cases("float16", "kernels, bfloat16")
@pytest.mark.slow_cases(
    "the other chapters; `make test-mpi` runs all of them",
    "kernels_collectives",
    "kernels_reductions, by group",
    "kernels_reductions",
    "on_queue_collectives",
    "order",
)
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter(spread: Pes, chapter: str) -> None:
    function, arguments = CHAPTERS[chapter]
    spread.run(function, *arguments)


@pytest.fixture(scope="module")
def three_nodes(pool_with: Callable[..., Pes]) -> Pes:
    """PEs on three nodes, two of them on the last."""
    return pool_with(4, nodes=[1, 1, 2])


def check_collectives(algorithms: tuple[str, ...], counts: tuple[int, ...], routines: list[str]) -> None:
    """Every routine on the world, and on a team whose first member is the last PE."""
    n = ishmem.n_pes()
    backwards = ishmem.TEAM_WORLD.split_strided(n - 1, -1, n)
    for routine in routines:
        dest, source = calls.arrays(routine, "int64", n, max(counts))
        for seed, count in enumerate(counts):
            for algorithm in algorithms:
                calls.force(algorithm)
                for team in (ishmem.TEAM_WORLD, backwards):
                    calls.compare(routine, dest, source, team, count, seed % n, seed)
        ishmem.free(dest), ishmem.free(source)
    calls.reset()
    backwards.destroy()


def check_types() -> None:
    """Every type of the tables of a reduction, and of a copy, by what goes between nodes."""
    n = ishmem.n_pes()
    for routine in ("sum_reduce", "max_reduce", "alltoall"):
        for dtype in [each for each in COLLECTIVES[routine].types if each not in HALVES]:  # check_halves has those
            dest, source = calls.arrays(routine, dtype, n, 37)
            for algorithm in ("slot", "rounds", "levels"):
                calls.force(algorithm)
                inexact = np.dtype(dtype).kind in "fc"
                calls.compare(routine, dest, source, ishmem.TEAM_WORLD, 36, close=inexact, atol=1e-5 * inexact)
            ishmem.free(dest), ishmem.free(source)
    calls.reset()


def check_places() -> None:
    """PEs pass arrays in different places of the heap."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    for routine in COLLECTIVES:
        dest, source = calls.arrays(routine, "int64", n, 40, guard=n)
        for algorithm in ("slot", "mapped", "rounds", "levels"):
            calls.force(algorithm)
            to, origin = model.sizes_of(routine, n, 40)
            calls.compare(routine, dest[me : me + to], source[n - 1 - me :][:origin], ishmem.TEAM_WORLD, 40, n - 1)
        ishmem.free(dest), ishmem.free(source)
    calls.reset()


def check_batches(counts: tuple[int, ...]) -> None:
    """Combine one node after the other, as kernels do with many nodes."""
    from ishmem.kernels import reductions_of_nodes

    reductions_of_nodes.AT_ONCE = 1
    for count in counts:
        test_kernels_reductions.check_all("float64", "few by group", (count,))


def check_bits(dtype: str, count: int, algorithms: tuple[str, ...]) -> None:
    """A sum combines each node's members, then the nodes; on every PE and every time."""
    me, n = ishmem.my_pe(), ishmem.n_pes()
    random = np.random.default_rng(7)
    sources = list((random.standard_normal((n, count)) * 10.0 ** random.integers(-6, 7, (n, count))).astype(dtype))
    source, dest = symmetric(sources[me]), ishmem.zeros(count, dtype=dtype)
    wanted = model.combined_by_nodes("sum_reduce", sources, calls.nodes_of())
    assert wanted.tobytes() != model.combined("sum_reduce", sources, me).tobytes()
    for algorithm in algorithms * 3:
        calls.force(algorithm)
        ishmem.sum_reduce(dest, source)
        same(dest, wanted)
    calls.reset()


LARGE = 5 * (1 << 17) + 9
"""Elements for several rounds of parts, the last of which is short."""


@pytest.mark.slow("test_chapters_on_nodes.py::test_chapter, on two nodes")
@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        (check_collectives, (("slot", "mapped", "levels", "rounds"), (0, 3, 700), list(COLLECTIVES))),
        (check_collectives, (("levels",), (LARGE,), ["sum_reduce", "sum_inscan", "sum_exscan"])),
        (check_bits, ("float32", 5000, ("rounds", "levels"))),
        *((test_reductions.check_halves, (dtype, (0, 3, 700, 20001))) for dtype in HALVES),
    ],
    ids=["all", "large", "bits", *HALVES],
)
def test_collectives_on_three_nodes(three_nodes: Pes, check: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    three_nodes.run(check, *arguments)


ON_THE_HOST: list[tuple[Any, ...]] = [
    (check_collectives, ("slot", "rounds", "levels"), (1, 700, (1 << 15) + 5), BY_ROUNDS),
    (check_collectives, ("slot",), (0, 1, 60), list(COLLECTIVES)),
    (check_bits, "float32", 5000, ("rounds", "levels")),
    (check_bits, "float32", 100, ("slot",)),
    (check_types,),
    (check_places,),
    (test_collectives.test_pes_that_disagree_raise,),
    (test_collectives.test_refused,),
]
IN_KERNELS: list[tuple[Any, ...]] = [
    (test_runtime_checks_collectives.check_one_differs,),
    (test_kernels_reductions.check_bits,),
    (test_kernels_collectives.check_all, "int32", "group", (1, 100)),
]
BY_BATCHES: list[tuple[Any, ...]] = [(check_batches, (700, 40_000))]  # one tile, and several
CHECK = {"ISHMEM_CHECK": "1"}


@pytest.mark.slow("test_chapters_on_nodes.py::test_chapter, on two nodes")
@pytest.mark.filterwarnings("ignore:the job of .* PEs")  # it ends with what the checks have found in kernels
@pytest.mark.parametrize(
    ("sizes", "env", "checks"),
    [
        *((sizes, {}, ON_THE_HOST) for sizes in ([2, 1, 2, 1, 1], [1, 1, 2, 2])),
        *((sizes, CHECK, IN_KERNELS) for sizes in ([1, 2, 1], [2, 1, 1, 1], [1, 2, 1, 1, 1])),
        ([1, 1, 2], {"ISHMEM_KERNEL_CACHE": "off"}, BY_BATCHES),  # its constant is not in the keys of the cache
    ],
)
def test_many_nodes(sizes: list[int], env: dict[str, str], checks: list[tuple[Any, ...]]) -> None:
    """What goes between nodes in several rounds, whose number of nodes is a power of two or not."""
    with Pes(sum(sizes), env, sizes) as pool:
        for check, *arguments in checks:
            pool.run(check, *arguments)
