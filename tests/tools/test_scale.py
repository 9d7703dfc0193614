"""Large jobs: what a PE's internal memory needs, and the model of ``tools.scale``."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_network import run_on_nodes

from ishmem.common import layout
from ishmem.common.layout import FEW_MEMBERS, TWIN, Layout
from tools import figures
from tools.scale import __main__ as scale_command, kernels as scale_kernels, model as scale, mpi as scale_mpi
from tools.scale.model import BYTES_IN, BYTES_OUT, MESSAGES_IN, MESSAGES_OUT


@pytest.mark.parametrize("width", [1, 4, 12, 104])
def test_internal_memory_of_a_large_job(width: int) -> None:
    assert Layout(10_000, width).size < 17 << 20
    assert Layout(1_000, width).size < 16 << 20


@pytest.mark.parametrize(
    ("n_pes", "width"), [(4, 4), (4, 2), (64, 12), (65, 12), (300, 300), (1_000, 12), (10_000, 12)]
)
def test_slots_do_not_overlap(n_pes: int, width: int) -> None:
    job = Layout(n_pes, width)
    starts = [job.rendezvous(handle, odd) for handle in range(TWIN) for odd in (0, 1)]
    assert starts[0] == job.device_sync(layout.MAX_TEAMS)
    for handle in range(TWIN):
        members = n_pes if handle < job.wide else FEW_MEMBERS
        for place in (2 * handle, 2 * handle + 1):
            assert [*starts, job.barriers_begun][place + 1] - starts[place] == members * job.rendezvous_slot
    assert job.wide == TWIN or n_pes > layout.FULL_SLOTS


def test_handles_of_large_teams() -> None:
    job = Layout(10_000, 12)
    everything = (1 << TWIN) - 1
    assert job.handles_for(10_000, everything) == (1 << job.wide) - 1
    assert job.handles_for(FEW_MEMBERS, everything) == everything & ~((1 << job.wide) - 1)
    assert job.handles_for(2, 0b1000) == 0b1000  # none of the others is free
    assert job.handles_for(FEW_MEMBERS + 1, 1 << job.wide) == 0
    assert Layout(300, 300).handles_for(300, everything) == everything


@pytest.mark.parametrize(("n_pes", "width"), [(4, 2), (13, 5), (96, 12), (7, 7), (6, 1)])
def test_only_the_first_pe_of_a_node_sends_in_a_barrier(n_pes: int, width: int) -> None:
    """Only the first PE of each node sends over the network, one message in each round."""
    on = scale.nodes_of(n_pes, width)
    whole = scale.rehearse(on, scale.BARRIER).sum(axis=0)
    rounds = math.ceil(math.log2(max(on) + 1))
    for pe in range(n_pes):
        assert whole[pe, MESSAGES_OUT] == whole[pe, MESSAGES_IN] == (rounds if pe % width == 0 else 0)


@pytest.mark.parametrize("routine", [name for name in scale.ROUTINES if name != scale.BARRIER])
@pytest.mark.parametrize("size", [8, 64 << 10])
def test_all_that_is_sent_arrives(routine: str, size: int) -> None:
    on = scale.nodes_of(26, 12)
    counts = scale.rehearse(on, routine, size)
    for phase in counts:
        assert phase[:, MESSAGES_OUT].sum() == phase[:, MESSAGES_IN].sum()
        assert phase[:, BYTES_OUT].sum() == phase[:, BYTES_IN].sum()
    assert counts[..., BYTES_OUT].sum() > 0
    assert (counts >= 0).all()


def test_each_byte_reaches_a_node_once() -> None:
    size, on = 1 << 20, scale.nodes_of(36, 12)
    whole = scale.rehearse(on, "broadcast", size).sum(axis=0)
    arrived = np.bincount(on, whole[:, BYTES_IN])[1:]
    assert (arrived >= size).all()
    assert (arrived < 1.1 * size).all()


@pytest.mark.parametrize("routine", scale.ROUTINES)
@pytest.mark.parametrize(("n_pes", "width"), [(13, 5), (24, 12), (60, 12), (9, 1)])
def test_nothing_is_faster_than_the_bound(routine: str, n_pes: int, width: int) -> None:
    """Neither ishmem, nor an algorithm of MPI, nor a collective in kernels."""
    links, on = scale.Links(), scale.nodes_of(n_pes, width)
    for size in (0,) if routine == scale.BARRIER else (8, 4096, 1 << 20):
        least = 0.999 * scale.bound(routine, n_pes, width, size, links)
        assert scale.predict(on, routine, size, links).seconds > least
        assert scale_mpi.seconds(on, routine, size, links) > least
    size = 0 if routine == scale.BARRIER else 8
    least = scale.bound(routine + scale.IN_KERNEL, n_pes, width, size, links)
    assert scale_kernels.predict(on, routine, size, links).seconds > least


def test_a_narrow_network_and_slow_links_take_longer() -> None:
    on, whole, tapered = scale.nodes_of(48, 12), scale.Links(), scale.on_network("tapered fat tree")
    counts = scale.rehearse(on, "alltoall", 1 << 20)
    assert scale.seconds_of(counts, on, tapered) > 1.3 * scale.seconds_of(counts, on, whole)
    slow = scale.with_costs(whole, {"far_latency": 1e-3})
    assert scale.seconds_of(counts, on, slow) > scale.seconds_of(counts, on, whole) + 0.9e-3
    with pytest.raises(ValueError, match=r"no such cost: far; allowed are near_bandwidth, "):
        scale.with_costs(whole, {"far": 1})
    with pytest.raises(ValueError, match="no such network: torus; allowed are fat tree"):
        scale.on_network("torus")


def test_memory_grows_by_few_bytes_for_each_pe() -> None:
    """Memory grows by few bytes for each PE; what grows with the logarithm of the nodes does not grow by one more."""
    many, more = scale.memory_of(10_000, 12), scale.memory_of(10_120, 12)
    grown = {part: (more[part] - many[part]) / 120 for part in many}
    assert grown["table of places, which kernels read"] == 1 + layout.TWIN  # a byte for each number of a PE
    assert grown["lines of active sets"] == 2 * layout.LINE
    assert grown["lines of barriers, and of the steps of kernels between nodes"] == 0
    assert 0 < grown["the engine's state of the other PEs"] < 256
    assert scale.memory_of(12, 12)["table of places, which kernels read"] == 0


def called(*words: str) -> str:
    result = CliRunner().invoke(scale_command.scale, words)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow("the other tests of the model")
def test_command(tmp_path: Path) -> None:
    picture, page = tmp_path / "scale.png", tmp_path / "page.md"
    markers = (scale_command.MARKER, scale_command.MEMORY_MARKER)
    marks = [text.replace("figures", name) for name in markers for text in (figures.BEGIN, figures.END)]
    page.write_text("\n".join(marks))
    said = called("--pes", "16,48,96", "--size", "8,64K", "-o", str(picture), "--page", str(page))
    assert "| `broadcast` | 64K |" in said
    assert "16 PEs | 48 PEs | 96 PEs | bound | ratio | MPI's algorithms |" in said
    predicted, memory = said.strip().split("\n\n| part |")
    assert predicted in page.read_text() and f"| part |{memory}" in page.read_text()
    assert picture.stat().st_size > 1000
    assert "Usage" in CliRunner().invoke(scale_command.scale, ["--link", "far=1"]).output


@pytest.mark.slow("the same on fewer PEs")
def test_kernels_of_a_large_job() -> None:
    """Collectives in kernels with short slots, in teams of the first handles and of others."""
    status, output = run_on_nodes("large_job", [2, 2], timeout=300)
    assert status == 0, output
    assert output.count("right") == 4
