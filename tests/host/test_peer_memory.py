"""The memory of other devices: what the driver refuses, or promises and does not keep, goes through the host."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from subprocesses import program, run_command, run_program

from ishmem.runtime import peer_verdicts
from ishmem.runtime.kernel_routes import Route
from ishmem.runtime.peer_device import PeerDevice
from ishmem.runtime.peer_kernel import ITEMS
from ishmem.runtime.peer_proof import LINE, AccessProof, Lines, Own, Peer, PeerFailure
from ishmem.runtime.peer_verdicts import PairFailure, Verdict
from ishmem.testing import nodes

ALL_WRONG = "loads and stores move wrong data, the copy engine moves wrong data, atomics give wrong results"


def run(n: int, **env: str) -> subprocess.CompletedProcess[str]:
    return run_program(program("reach_the_others"), n, sim=n, env=env)


def routes(done: subprocess.CompletedProcess[str], n: int) -> list[list[str]]:
    """Return the routes that each PE has printed; the program has checked its results."""
    assert done.returncode == 0, done
    return [line.split()[2 : n + 2] for line in sorted(done.stdout.splitlines())]


def warnings(done: subprocess.CompletedProcess[str]) -> dict[int, str]:
    """Return the warning of each PE, of which there is one at most."""
    found = re.findall(r"^\[(\d)\] .*RuntimeWarning: PE \1: (.*)$", done.stderr, re.MULTILINE)
    assert len(dict(found)) == len(found), done
    return {int(pe): text for pe, text in found}


def test_memory_that_is_wrong() -> None:
    """The first PE names all pairs, the others their own; devices of one card are not affected."""
    done = run(3, ISHMEM_SIM_PEERS="wrong", ISHMEM_SIM_CARD="2")
    assert routes(done, 3) == [
        ["DIRECT", "DIRECT", "STAGED"],
        ["DIRECT", "DIRECT", "STAGED"],
        ["STAGED", "STAGED", "DIRECT"],
    ]
    told = warnings(done)
    assert f"PEs 0 and 2, 1 and 2: {ALL_WRONG}." in told[0]
    assert f"PEs 1 and 2: {ALL_WRONG}." in told[1]
    assert f"PEs 0 and 2, 1 and 2: {ALL_WRONG}." in told[2]
    for pe, address in enumerate(("40", "41", "42")):
        assert f"PE {pe} is on Intel(R) Data Center GPU Max 1550 (simulated) at 0000:{address}:00.0" in told[0]
    assert "driver 1.6.1. " in told[0]
    assert "ACS" in told[0]


@pytest.mark.parametrize(
    ("fault", "call"), [("ipc-open", "zeMemOpenIpcHandle"), ("resident", "zeContextMakeMemoryResident")]
)
def test_memory_that_is_refused(fault: str, call: str) -> None:
    """The pair goes through the host, in both directions, and both PEs say why."""
    done = run(2, ISHMEM_SIM_FAIL=f"{fault}:1@1")
    assert routes(done, 2) == [["DIRECT", "STAGED"], ["STAGED", "DIRECT"]]
    told = warnings(done)
    assert set(told) == {0, 1}
    for text in told.values():
        assert (
            f"PEs 0 and 1: the driver refuses the memory ({call} failed: ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY" in text
        )
        assert "0000:40:00.0" in text
        assert "0000:41:00.0" in text
        assert "driver 1.6.1" in text


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ({"ISHMEM_SIM_FAIL": "ipc-open:1@1"}, r"the driver refuses the memory \(zeMemOpenIpcHandle failed.*"),
        ({"ISHMEM_SIM_PEERS": "wrong"}, ALL_WRONG),
        ({"ISHMEM_SIM_PEERS": "none"}, "the driver reports no access"),
    ],
    ids=str,
)
def test_access_that_is_required(setting: dict[str, str], why: str) -> None:
    done = run(2, ISHMEM_P2P="require", **setting)
    assert done.returncode == 1
    name = r"Intel\(R\) Data Center GPU Max 1550 \(simulated\) at 0000"
    error = (
        "IshmemError: ISHMEM_P2P=require, but these do not reach each other's memory: "
        rf"PE 0 on {name}:40:00.0 and PE 1 on {name}:41:00.0 \({why}\); driver 1.6.1"
    )
    for pe in range(2):
        assert re.search(rf"^\[{pe}\] .*{error}$", done.stderr, re.MULTILINE), done


def test_memory_that_is_wrong_on_two_nodes() -> None:
    """Each node has its own pairs, and names them by the numbers of the job."""
    env = {"ISHMEM_SIM_PEERS": "wrong", "ISHMEM_SIM_DEVICES": "2"}
    done = run_command(nodes.launcher([2, 2], [sys.executable, str(program("reach_the_others"))]), env=env)
    assert done.returncode == 0, done
    for line in done.stdout.splitlines():
        pe, *found = line.split()[:5]
        assert found == ["DIRECT" if other == int(pe) else "STAGED" for other in range(4)], done
    for pairs, pes in (("0 and 1", (0, 1)), ("2 and 3", (2, 3))):
        assert done.stderr.count(f"PEs {pairs}: {ALL_WRONG}.") == 2, done
        assert all(f"RuntimeWarning: PE {pe}: memory of other devices" in done.stderr for pe in pes), done


def test_access_that_is_off() -> None:
    done = run(2, ISHMEM_P2P="off", ISHMEM_SIM_PEERS="wrong")
    assert routes(done, 2) == [["DIRECT", "STAGED"], ["STAGED", "DIRECT"]]
    assert not warnings(done)


def test_access_that_is_there() -> None:
    for peers, route in (("atomics", "DIRECT"), ("access", "STORES")):
        done = run(2, ISHMEM_P2P="require", ISHMEM_SIM_PEERS=peers)
        assert routes(done, 2) == [["DIRECT", route], [route, "DIRECT"]]
        assert not warnings(done)


# ---- without PEs


PATTERNS = [bytes([pe + 1]) * LINE for pe in range(2)]


@pytest.fixture
def proof(monkeypatch: pytest.MonkeyPatch) -> AccessProof:
    """The part of PE 0 in a proof of two."""
    monkeypatch.setattr("ishmem.ipc.pyze.copy_group", lambda _device: 1)
    return AccessProof(Own(0, 0, 0, 0), PATTERNS, {1: Peer(0, True)})


def right() -> bytearray:
    """Return the lines of PE 0's heap where all works."""
    lines, mine, other = Lines(2), int.from_bytes(PATTERNS[0][:4], "little"), int.from_bytes(PATTERNS[1][:4], "little")
    seen = bytearray(lines.size)
    for way in (PeerFailure.LOADS, PeerFailure.COPIES):
        for at in (lines.read(way, 1), lines.written(way, 1)):
            seen[at : at + LINE] = PATTERNS[1]
    old = lines.read(PeerFailure.ATOMICS, 1)
    for item in range(ITEMS):
        seen[old + 4 * item : old + 4 * item + 4] = (mine + ITEMS - 1 - item).to_bytes(4, "little")
    end = lines.written(PeerFailure.ATOMICS, 1)
    seen[end : end + 4] = (other + ITEMS).to_bytes(4, "little")
    return seen


def test_what_is_right(proof: AccessProof) -> None:
    assert proof.check(bytes(right())) == {1: PeerFailure(0)}


@pytest.mark.parametrize("way", [PeerFailure.LOADS, PeerFailure.COPIES, PeerFailure.ATOMICS])
@pytest.mark.parametrize("written", [False, True])
def test_one_wrong_byte(proof: AccessProof, way: PeerFailure, written: bool) -> None:
    """Each way is told apart, in both directions."""
    lines, seen = Lines(2), right()
    seen[lines.written(way, 1) if written else lines.read(way, 1)] ^= 0x40
    assert proof.check(bytes(seen)) == {1: way}


def test_verdicts_of_both_pes_count() -> None:
    right, wrong = Verdict([PeerFailure(0), PeerFailure(0)], {}), Verdict([PeerFailure.ATOMICS, PeerFailure(0)], {})
    assert peer_verdicts.pair_failures([right, right]) == {}
    assert peer_verdicts.pair_failures([right, wrong]) == {(0, 1): PairFailure(PeerFailure.ATOMICS, "")}
    refused = Verdict([PeerFailure(0), PeerFailure.REFUSED], {1: "failed:\nwhy"})
    sent = Verdict.unpack(refused.pack(), 2)
    assert peer_verdicts.pair_failures([sent, wrong]) == {(0, 1): PairFailure(PeerFailure.REFUSED, "failed: why")}


def test_a_pe_without_trouble_is_silent() -> None:
    devices = [
        PeerDevice(bytes([pe]) * 16, 1, False, f"GPU {pe}", "1.2.3", {bytes(16): Route.DIRECT}) for pe in range(3)
    ]
    found = {(1, 2): PairFailure(PeerFailure.ATOMICS, "")}
    assert peer_verdicts.describe(found, devices, [4, 5, 6], 0) == ""
    text = peer_verdicts.describe(found, devices, [4, 5, 6], 1)
    assert "PEs 5 and 6: atomics give wrong results." in text
    assert "PE 5 is on GPU 1, PE 6 is on GPU 2; driver 1.2.3" in text
