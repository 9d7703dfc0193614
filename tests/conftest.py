"""Fixtures, and the options of the plugin by shorter names.

Tests are marked ``ishmem`` and run on their PEs by the plugin that ishmem ships (docs/testing.md). A test that looks at
results in its own process has the fixture ``pes``:

    def check_put(dtype):  # runs on every PE
        ...

    def test_put(pes):
        pes.run(check_put, "f4")

Both run on 1, 2 and 3 PEs, or on those of the mark, such as ``@pytest.mark.ishmem([2, 4])``.
"""

from __future__ import annotations

import gc
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Callable

import pytest
from hypothesis import settings

from ishmem.testing import Pes, fork_server

HERE = Path(__file__).parent
sys.path += [str(each) for each in HERE.iterdir() if any(each.glob("test_*.py"))]  # tests use functions of other files
sys.path.insert(0, str(HERE / "reliability"))

if TYPE_CHECKING:
    from trials import Trial

# The same examples in every run, and no deadline for one on a busy machine.
settings.register_profile("ishmem", deadline=None, derandomize=True)
settings.load_profile("ishmem")

# The same simulated devices on every machine; ISHMEM_DEVICE=gpu runs the tests on real GPUs, ISHMEM_CARD=b580 on
# emulated ones.
os.environ.setdefault("ISHMEM_DEVICE", "gpu" if os.environ.get("ISHMEM_CARD") else "sim")

# The OpenCL runtime would take half of the time of the tests to optimise their kernels. Small ones show that it can.
os.environ.setdefault("ISHMEM_SIM_OPTIMISE", "8K")

# On a busy machine, a node that works may be silent for a second.
os.environ.setdefault("ISHMEM_NODE_TIMEOUT", "10")

# Before any test imports the stack, which sets variables. A real loader needs them later, in zeInit.
if "ISHMEM_ZE_LOADER" not in os.environ:
    import common  # noqa: F401


_OF_EACH_KIND = {"bool", "uint8", "int64", "float32", "complex64"}
_TYPE = re.compile(r"\b(?:bool|u?int\d+|b?float\d+|complex\d+)\b")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nodes", dest="ishmem_nodes", help="the same as --ishmem-nodes", metavar="N+N")
    parser.addoption("--pes", dest="ishmem_npes", help="the same as --ishmem-npes", metavar="N[,N]")


def pytest_configure(config: pytest.Config) -> None:
    # Kernels are compiled once for all PEs and programs of the session, not once by each.
    if "ISHMEM_KERNEL_CACHE" not in os.environ:
        folder = os.environ["ISHMEM_KERNEL_CACHE"] = tempfile.mkdtemp()
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.addinivalue_line("markers", "one_node: the test is about PEs that reach each other's memory")
    config.addinivalue_line("markers", "slow(instead): `make test-slow` runs the test; `make test` has another instead")
    config.addinivalue_line("markers", "slow_cases(instead, *ids): so for these ids; one that ends in - is a beginning")
    config.addinivalue_line("markers", "slow_types: so for all types but one of each kind, to compile less")
    config.addinivalue_line("markers", "one_type(dtype): run with each type on 2 PEs, and with this one on others")


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    of_two_pes = [item for item in items if _is_of_two_pes(item)]
    if of_two_pes:
        config.hook.pytest_deselected(items=of_two_pes)
        items[:] = [item for item in items if not _is_of_two_pes(item)]
    for item in items:
        case = item.name.partition("[")[2].removesuffix("]")
        if _is_slow_case(item, case) or _is_slow_type(item, case):
            item.add_marker(pytest.mark.slow)


def _is_of_two_pes(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("one_type")
    if mark is None or item.config.getoption("ishmem_nodes"):
        return False
    given = item.callspec.params  # type: ignore[attr-defined]
    return bool(given["ishmem_npes"] != 2 and given["dtype"] != mark.args[0])


def _is_slow_case(item: pytest.Item, case: str) -> bool:
    named = [each for mark in item.iter_markers("slow_cases") for each in mark.args[1:]]
    return case in named or any(case.startswith(each) for each in named if each.endswith("-"))


def _is_slow_type(item: pytest.Item, case: str) -> bool:
    if item.get_closest_marker("slow_types") is None:
        return False
    if item.get_closest_marker("one_type") and item.callspec.params["ishmem_npes"] != 2:  # type: ignore[attr-defined]
        return False
    types = _TYPE.findall(case)
    return bool(types) and _OF_EACH_KIND.isdisjoint(types)


def pytest_collection_finish() -> None:
    # The modules of tests stay: no collection of garbage has to look at them, which takes up to seconds.
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.config.getoption("ishmem_nodes") and item.get_closest_marker("one_node"):
        pytest.skip("for PEs on one node")


@pytest.fixture
def pes(ishmem_pes: Pes) -> Pes:
    """N PEs with ishmem initialised; ``pes.run(function, ...)`` runs a function on each."""
    return ishmem_pes


@pytest.fixture(scope="module")
def pool_with() -> Iterator[Callable[..., Pes]]:
    """Gives a function that returns PEs with settings, or on nodes: the same PEs for the same arguments in a module."""
    pools: dict[str, Pes] = {}

    def pool(n: int, env: dict[str, str] | None = None, nodes: list[int] | None = None) -> Pes:
        return pools.setdefault(f"{n} {env} {nodes}", Pes(n, env, nodes))

    yield pool
    for each in pools.values():
        each.stop()


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trial]:
    """Starts jobs; fails the test if they leave processes, sockets, files or file descriptors behind."""
    import trials  # here, since each PE imports this file

    fork_server.prepare(dict(os.environ))
    with trials.new_trial() as found:
        monkeypatch.setenv(trials.MARK, found.mark)
        yield found
        assert (left := found.left()) == [], left
