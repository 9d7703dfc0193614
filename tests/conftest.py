"""Fixtures: ``pes`` runs a test on 1, 2, 3 and 4 PEs.

    def check_put(dtype):  # runs on every PE
        ...

    def test_put(pes):
        pes.run(check_put, "f4")

A test that runs on other numbers of PEs is marked: ``@pytest.mark.pes(2)`` or ``@pytest.mark.pes(2, 4)``. It holds for
all numbers, and runs on those of ``--pes`` when the PEs are on several nodes, unless the mark has ``exact=True``.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import fork_server
import pytest
from hypothesis import settings
from pes import NODES, Pool

sys.path.insert(0, str(Path(__file__).with_name("reliability")))

import trials

# The same examples in every run, and no deadline for one on a busy machine.
settings.register_profile("ishmem", deadline=None, derandomize=True)
settings.load_profile("ishmem")

# The same simulated devices on every machine; ISHMEM_DEVICE=gpu runs the tests on real GPUs.
os.environ.setdefault("ISHMEM_DEVICE", "sim")

# The OpenCL runtime would take half of the time of the tests to optimise their kernels. Small ones show that it can.
os.environ.setdefault("ISHMEM_SIM_OPTIMISE", "8K")

# On a busy machine, a node that works may be silent for a second.
os.environ.setdefault("ISHMEM_NODE_TIMEOUT", "10")

if os.environ["ISHMEM_DEVICE"] == "sim":
    fork_server.environment.update(os.environ)

USUAL = (1, 2, 3)
"""Numbers of PEs of a test without a mark; ``--pes`` may give others."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--nodes", help="the PEs of a test are on emulated nodes: their number, or PEs on each, as 1+3")
    parser.addoption("--pes", help="only these numbers of PEs, such as 2 or 1,4", metavar="N[,N]")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("nodes"):
        os.environ[NODES] = config.getoption("nodes")
    # Kernels are compiled once for all PEs and programs of the session, not once by each.
    if "ISHMEM_KERNEL_CACHE" not in os.environ:
        folder = os.environ["ISHMEM_KERNEL_CACHE"] = tempfile.mkdtemp()
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))
    config.addinivalue_line("markers", "pes(n, ..., exact=False): numbers of PEs that the test runs on")
    config.addinivalue_line("markers", "one_node: the test is about PEs that reach each other's memory")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.config.getoption("nodes") and item.get_closest_marker("one_node"):
        pytest.skip("for PEs on one node")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pes" not in metafunc.fixturenames:
        return
    marker = metafunc.definition.get_closest_marker("pes")
    option = metafunc.config.getoption("pes") or os.environ.get("PES")
    allowed = [int(n) for n in option.split(",")] if option else None
    counts = list(marker.args) if marker else allowed or list(USUAL)
    if marker and allowed:
        everywhere = metafunc.config.getoption("nodes") and max(counts) > 1 and not marker.kwargs.get("exact")
        counts = allowed if everywhere else [n for n in counts if n in allowed]
    metafunc.parametrize("pes", counts, indirect=True, ids=[f"{n}pes" for n in counts])


@pytest.fixture(scope="session")
def _pools() -> Iterator[dict[int, Pool]]:
    pools: dict[int, Pool] = {}
    yield pools
    for pool in pools.values():
        pool.stop()


@pytest.fixture
def pes(request: pytest.FixtureRequest, _pools: dict[int, Pool]) -> Pool:
    """N PEs with ishmem initialised; ``pes.run(function, ...)`` runs a function on each."""
    return _pools.setdefault(request.param, Pool(request.param))


@pytest.fixture(scope="module")
def checking() -> Iterator[Pool]:
    """Two PEs with ``ISHMEM_CHECK``, for the tests of a file."""
    pool = Pool(2, {"ISHMEM_CHECK": "1"})
    yield pool
    pool.stop()


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> Iterator[trials.Trial]:
    """Starts jobs; fails the test if they leave processes, sockets, files or file descriptors behind."""
    with trials.new_trial() as found:
        monkeypatch.setenv(trials.MARK, found.mark)
        yield found
        assert not found.left(), found.left()
