"""Large jobs: what a PE's internal memory needs, and the model of ``tools.scale``."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from test_network import run_on_nodes

from ishmem.common import layout
from ishmem.common.layout import FEW_MEMBERS, TWIN, Layout
from tools import figures
from tools.scale import __main__ as scale_command, kernels as scale_kernels, model as scale, mpi as scale_mpi
from tools.scale.model import BYTES_ACROSS, BYTES_IN, BYTES_OUT, MESSAGES_IN, MESSAGES_OUT


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


def test_slower_links_take_longer() -> None:
    on, links = scale.nodes_of(24, 12), scale.Links()
    slow = scale.with_costs(links, {"far_latency": 1e-3})
    counts = scale.rehearse(on, scale.BARRIER)
    assert scale.seconds_of(counts, on, slow) > scale.seconds_of(counts, on, links) + 0.9e-3
    assert scale.predict_init(on, links).seconds > (12 - 1) * links.open
    with pytest.raises(ValueError, match=r"no such cost: far; allowed are near_bandwidth, "):
        scale.with_costs(links, {"far": 1})
    assert scale.sizes_of_jobs(12)[0] == 16
    assert scale.sizes_of_jobs(12)[-1] == 10_000


@pytest.mark.parametrize("routine", scale.ROUTINES)
@pytest.mark.parametrize(("n_pes", "width"), [(13, 5), (24, 12), (60, 12), (9, 1)])
def test_nothing_is_faster_than_the_bound(routine: str, n_pes: int, width: int) -> None:
    links = scale.Links()
    for size in (0,) if routine == scale.BARRIER else (8, 4096, 1 << 20):
        least = scale.bound(routine, n_pes, width, size, links)
        assert scale.predict(scale.nodes_of(n_pes, width), routine, size, links).seconds > 0.999 * least


def test_a_narrow_network_doubles_the_time_of_alltoall() -> None:
    """A network that carries half as much between the halves doubles the time of a large alltoall, and its bound."""
    on, whole, tapered = scale.nodes_of(48, 12), scale.Links(), scale.on_network("tapered fat tree")
    counts = scale.rehearse(on, "alltoall", 1 << 20)
    assert counts[..., BYTES_ACROSS].sum() > 24 * 24 * 2 << 20
    assert scale.bound("alltoall", 48, 12, 1 << 20, tapered) > 1.3 * scale.bound("alltoall", 48, 12, 1 << 20, whole)
    assert scale.seconds_of(counts, on, tapered) > 1.3 * scale.seconds_of(counts, on, whole)
    assert scale.seconds_of(scale.rehearse(on, scale.BARRIER), on, tapered) == pytest.approx(
        scale.seconds_of(scale.rehearse(on, scale.BARRIER), on, whole)
    )
    with pytest.raises(ValueError, match="no such network: torus; allowed are fat tree"):
        scale.on_network("torus")


@pytest.mark.parametrize(("n_pes", "width"), [(13, 5), (24, 12), (64, 4), (9, 1)])
def test_algorithms_of_mpi(n_pes: int, width: int) -> None:
    """Each moves at least the bytes that its routine needs, and is not faster than the bound."""
    on, links, size = scale.nodes_of(n_pes, width), scale.Links(), 4096
    needed = {"broadcast": n_pes - 1, "fcollect": n_pes * (n_pes - 1), "alltoall": n_pes * (n_pes - 1)}
    for routine, found in scale_mpi.ALGORITHMS.items():
        for algorithm in found:
            steps = list(algorithm(scale_mpi.Job(on), size))
            moved = sum(each.number * each.counts[:, [BYTES_OUT, scale.NEAR]].sum() for each in steps)
            assert moved >= needed.get(routine, 0) * size
            assert all((each.counts[:, BYTES_OUT].sum() == each.counts[:, BYTES_IN].sum()) for each in steps)
        assert scale_mpi.seconds(on, routine, size, links) > 0.999 * scale.bound(routine, n_pes, width, size, links)


def in_kernel(routine: str, n_pes: int) -> np.ndarray:
    size = 0 if routine == scale.BARRIER else 8
    return scale_kernels.Rehearsal(scale.nodes_of(n_pes, 3), routine, size).run()


@pytest.mark.parametrize("n_pes", [4, 10, 96, 300])
@pytest.mark.parametrize("routine", ["barrier_all", "broadcast", "fcollect", "sum_reduce"])
def test_only_leaders_send_in_kernels(routine: str, n_pes: int) -> None:
    """In a kernel only leaders send, a logarithm of messages, and no data but those that somebody needs."""
    on, counts = scale.nodes_of(n_pes, 3), in_kernel(routine, n_pes)
    whole, rounds = counts.sum(axis=0), math.ceil(math.log2(max(on) + 1))
    leaders = np.arange(n_pes) % 3 == 0
    assert not whole[~leaders, : BYTES_IN + 1].any()
    assert whole[leaders, MESSAGES_OUT].all()
    assert (counts[:, :, MESSAGES_OUT] > 0).sum(axis=0).max() <= rounds + 1
    assert whole[:, BYTES_OUT].sum() == whole[:, BYTES_IN].sum()
    needed = 8 * (n_pes - np.bincount(on)) if routine == "fcollect" else 0
    beside_data = whole[leaders, BYTES_IN] - needed
    assert beside_data.min() > 0 and beside_data.max() < 200 * (rounds + 1)
    seconds = scale_kernels.predict(on, routine, 8, scale.Links()).seconds
    assert scale.bound(routine + scale.IN_KERNEL, n_pes, 3, 8, scale.Links()) < seconds


@pytest.mark.parametrize("n_pes", [4, 12])
def test_large_blocks_of_an_alltoall_in_kernels(n_pes: int) -> None:
    """Where a node's blocks for another one do not fit in slots, each PE sends its own, and waits for their arrival."""
    on, links = scale.nodes_of(n_pes, 3), scale.Links()
    size = scale_kernels.Rehearsal(on, "alltoall", 8).payload
    counts = scale_kernels.Rehearsal(on, "alltoall", size).run()
    others = n_pes - np.bincount(on)[on]
    followers = np.arange(n_pes) % 3 > 0  # a leader also takes part in the rendezvous
    sent = counts.sum(axis=0)
    assert (sent[followers, MESSAGES_OUT] == 2 * others[followers]).all()  # blocks and acknowledgements
    assert (sent[:, BYTES_OUT] > others * size).all()
    assert scale_kernels.predict(on, "alltoall", size, links).seconds > scale.bound("alltoall", n_pes, 3, size, links)


@pytest.mark.parametrize("n_pes", [12, 96])
def test_alltoall_in_kernels_sends_one_message_to_a_node(n_pes: int) -> None:
    """A node sends all blocks for another one in one message, by its members in turn."""
    on, counts = scale.nodes_of(n_pes, 3), in_kernel("alltoall", n_pes)
    data = counts[..., MESSAGES_OUT].sum(axis=0)
    nodes = max(on) + 1
    assert np.bincount(on, weights=data).tolist() == [nodes - 1] * nodes
    assert data.max() - data.min() <= 1
    assert (counts[..., BYTES_OUT].sum(axis=0) >= data * 3 * 3 * 8).all()
    assert counts[..., BYTES_ACROSS].sum() == pytest.approx(counts[..., BYTES_OUT].sum() / 2, rel=0.4)
    links, routine = scale.Links(), "alltoall" + scale.IN_KERNEL
    assert scale.bound(routine, n_pes, 3, 8, links) < scale_kernels.predict(on, "alltoall", 8, links).seconds


def test_small_collectives_in_kernels_of_a_large_job() -> None:
    """They take at most twice as long as those of the host."""
    on, links = scale.nodes_of(1_596, 12), scale.Links()
    for routine in ("broadcast", "fcollect", "alltoall", "sum_reduce"):
        assert scale_kernels.predict(on, routine, 8, links).seconds < 2 * scale.predict(on, routine, 8, links).seconds


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


def test_check(tmp_path: Path) -> None:
    rows = [{"routine": scale.BARRIER, "size": 0, "seconds": 1e-5}, {"routine": "fcollect", "size": 8, "seconds": 1e-5}]
    run = tmp_path / "run.json"
    run.write_text(json.dumps({"nodes": [0, 0, 1, 1], "costs": {"message": 1e-6}, "rows": rows}))
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"nodes": [0, 1, 1, 1], "costs": {"near_bandwidth": 2e9}, "rows": rows}))
    said = called("--measured", str(run), "--measured", str(other))
    assert "| | block | 2 + 2 | 1 + 3 |" in said
    assert "| GB/s each way of a PE within a node |  | 2 |" in said
    assert re.search(r"\| `fcollect` \| 8 \| .*, 10 us: 0\.\d\d \| .*, 10 us: \d\.\d\d \|", said), said


def test_the_page_has_the_figures_and_the_picture() -> None:
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "scale.md").read_text()
    assert "(scale.png)" in page
    assert (docs / "scale.png").exists()
    assert "| `sum_reduce` | 1M |" in page


@pytest.mark.slow("the same on fewer PEs")
def test_kernels_of_a_large_job() -> None:
    """Collectives in kernels with short slots, in teams of the first handles and of others."""
    status, output = run_on_nodes("large_job", [2, 2], timeout=300)
    assert status == 0, output
    assert output.count("right") == 4
