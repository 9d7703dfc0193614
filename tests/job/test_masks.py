"""Processes that see some of the devices, by ``ZE_AFFINITY_MASK``: the routes are those without masks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from subprocesses import program, run_command

from ishmem.environment import card
from ishmem.runtime import peer_device
from ishmem.runtime.kernel_routes import Route
from ishmem.runtime.peer_device import PeerDevice
from ishmem.testing import nodes
from ishmem.testing.fork_server import ISHMRUN

PROGRAM = str(program("reach_the_others"))
MPIEXEC = [str(Path(sys.executable).with_name("mpiexec"))]
ISHMEM = f"{sys.executable} -m ishmem"
MASKED = {**nodes.SETTINGS, "ISHMEM_SIM_DEVICES": "4"}


def lines(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """Return the words that each PE has printed, without ishmem run's prefix."""
    assert done.returncode == 0, done
    return sorted(line.split("] ")[-1].split() for line in done.stdout.splitlines())


def check(done: subprocess.CompletedProcess[str], n: int, route: Route = Route.DIRECT) -> None:
    """Assert that ``n`` PEs are on different devices, with this route between them."""
    found = lines(done)
    assert len(found) == n, done
    for pe, words in enumerate(found):
        assert words[: n + 1] == [str(pe), *(Route.DIRECT.name if other == pe else route.name for other in range(n))]
    assert len({words[-1] for words in found}) == n, found


def under_mpiexec(n: int, command: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return run_command([*MPIEXEC, "-n", str(n), "sh", "-c", command], env=env)


@pytest.mark.slow_cases("one node", "atomics-0")
@pytest.mark.slow_cases("the other one", "access-1")
@pytest.mark.parametrize(("peers", "route"), [("atomics", Route.DIRECT), ("access", Route.STORES)])
def test_a_mask_for_each_process_of_mpiexec(peers: str, route: Route) -> None:
    """The number of a device counts within the mask, and the route to a hidden device is as without masks."""
    env = {**MASKED, "ISHMEM_SIM_PEERS": peers}
    check(under_mpiexec(4, f"ZE_AFFINITY_MASK=$PMI_RANK exec {ISHMEM} run {PROGRAM}", env), 4, route)


PALS = "PALS_RANKID=$PMI_RANK PALS_LOCAL_RANKID=$PMI_RANK PALS_LOCAL_SIZE=4"
SLURM = "SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=$PMI_RANK SLURM_LOCALID=$PMI_RANK"
TILE = "$((PMI_RANK / 2)).$((PMI_RANK % 2))"


@pytest.mark.slow_cases("another launcher", "gpu_tile_compact.sh", "tiles without a hierarchy", "selectors")
@pytest.mark.parametrize(
    "variables",
    [
        f"{PALS} ZE_AFFINITY_MASK={TILE} ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE",
        f"{PALS} ZE_AFFINITY_MASK={TILE}",
        f"{SLURM} ZE_AFFINITY_MASK=$PMI_RANK",
        f"{SLURM} ONEAPI_DEVICE_SELECTOR=level_zero:$PMI_RANK",
    ],
    ids=["gpu_tile_compact.sh", "tiles without a hierarchy", "gres", "selectors"],
)
def test_launchers_that_choose(variables: str) -> None:
    """Without the local ranks of Hydra, which those launchers do not set."""
    command = f"unset MPI_LOCALRANKID MPI_LOCALNRANKS; export {variables}; exec {ISHMEM} run {PROGRAM}"
    check(under_mpiexec(4, command, {**MASKED, "ISHMEM_SIM_CARD": "2"}), 4)


@pytest.mark.slow("the simulator")
@pytest.mark.skipif(bool(card.problem()), reason=f"no emulated card: {card.problem()}")
def test_masks_of_tiles_with_intels_driver() -> None:
    """Two tiles of each of two cards, as Aurora sets them: a process without a mask knows what tiles can do."""
    command = f"ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE ZE_AFFINITY_MASK={TILE} exec {sys.executable} {PROGRAM}"
    done = under_mpiexec(4, command, {**nodes.SETTINGS, "ISHMEM_DEVICE": "auto", "ISHMEM_CARD": "max1550:2"})
    for pe, words in enumerate(lines(done)):
        assert words[1:5] == ["DIRECT" if other // 2 == pe // 2 else "STORES" for other in range(4)], done


OF_TILES = {"ISHMEM_SIM_CARD": "2", "ZE_FLAT_DEVICE_HIERARCHY": "FLAT"}
WHY = ", as it names tiles by their cards: set ZE_FLAT_DEVICE_HIERARCHY=COMPOSITE, or number the tiles"


@pytest.mark.parametrize(("mask", "cards", "why"), [("9", {}, ""), ("0.1", OF_TILES, WHY)])
def test_a_mask_that_hides_all(mask: str, cards: dict[str, str], why: str) -> None:
    done = run_command([*ISHMRUN, "-n", "2", PROGRAM], env={**MASKED, **cards, "ZE_AFFINITY_MASK": mask})
    said = f"ishmem run: no GPU can be used: ZE_AFFINITY_MASK={mask} hides all of them{why}; --sim 2 simulates them"
    assert (done.returncode, done.stderr.splitlines()) == (2, [said]), done


def test_a_selector_that_counts_within_the_mask() -> None:
    command = f"ONEAPI_DEVICE_SELECTOR=level_zero:2 ZE_AFFINITY_MASK=2 exec {sys.executable} {PROGRAM}"
    done = under_mpiexec(2, command, MASKED)
    assert done.returncode, done
    words = "now 'level_zero:2', which counts within ZE_AFFINITY_MASK, now '2'"
    assert words in done.stderr, done


def test_a_mask_for_each_pe_of_ishmem_run() -> None:
    """The mask is set after ishmem run has chosen a device by its number."""
    command = f"ZE_AFFINITY_MASK=$((1 - ISHMEM_PE)) exec {sys.executable} {PROGRAM}"
    check(run_command([*ISHMRUN, "-n", "2", "--sim", "2", "sh", "-c", command]), 2)


def test_one_mask_for_all() -> None:
    done = run_command([*ISHMRUN, "-n", "2", PROGRAM], env={**MASKED, "ZE_AFFINITY_MASK": "1,3"})
    check(done, 2)
    assert [words[-1][24:26] for words in lines(done)] == ["01", "03"]


def test_info_of_masked_processes() -> None:
    """Devices are known by their ids, so each PE is on another one, and all links are shown."""
    done = under_mpiexec(3, f"ZE_AFFINITY_MASK=$PMI_RANK exec {ISHMEM} info --json", MASKED)
    assert done.returncode == 0, done
    facts = json.loads(done.stdout)
    assert [(node["PEs"], node["devices"], node["on"]) for node in facts["nodes"]] == [([0, 1, 2], 3, [0, 1, 2])]
    assert len({device["unique id"] for device in facts["devices"]}) == 3
    assert facts["links"][0] == ["itself", "atomics", "atomics"]
    assert {route for row in facts["routes"] for route in row} == {"copies mapped; atomics mapped; kernels direct"}


def test_devices_that_no_process_sees_together() -> None:
    """As in a container for each PE, with a device each: opening the memory shows that there is access."""
    fewer = "[ $ISHMEM_PE = 0 ] && export ISHMEM_SIM_DEVICES=1"
    command = f"{fewer}; ZE_AFFINITY_MASK=$ISHMEM_PE exec {sys.executable} {PROGRAM}"
    done = run_command([*ISHMRUN, "-n", "2", "--sim", "2", "sh", "-c", command])
    check(done, 2, Route.STORES)
    assert done.stderr.count("those of kernels go through the host, which is slower") == 1, done


def device(name: str, links: dict[str, Route]) -> PeerDevice:
    known = {other.encode() * 16: route for other, route in links.items()}
    return PeerDevice(name.encode() * 16, 4, False, f"GPU {name}", "1.2.3", {name.encode() * 16: Route.DIRECT, **known})


def test_routes_that_one_of_two_processes_knows() -> None:
    a, b, c = device("a", {"b": Route.STORES}), device("b", {}), device("c", {"a": Route.STAGED, "b": Route.DIRECT})
    assert not peer_device.hidden([a, b, c])
    assert peer_device.routes([a, b, c], [], "auto") == [
        [Route.DIRECT, Route.STORES, Route.STAGED],
        [Route.STORES, Route.DIRECT, Route.DIRECT],
        [Route.STAGED, Route.DIRECT, Route.DIRECT],
    ]


def test_routes_that_no_process_knows() -> None:
    """A process without a mask is asked; if it cannot tell, opening the memory shows whether there is access."""
    a, b = device("a", {}), device("b", {})
    assert peer_device.hidden([a, b])
    assert peer_device.routes([a, b], [], "auto")[0] == [Route.DIRECT, Route.STORES]
    asked = [device("a", {"b": Route.DIRECT}), device("b", {"a": Route.DIRECT})]
    assert peer_device.routes([a, b], asked, "auto")[0] == [Route.DIRECT, Route.DIRECT]
    packed = b"".join(each.pack() for each in asked)
    assert [each.links for each in peer_device.unpack_all(packed)] == [each.links for each in asked]
