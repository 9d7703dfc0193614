"""Measures decode steps of ``examples/transformer.py``: by replays, by calls, and by mpi4py on host arrays, in turn.

    ishmem run -n 2 --hosts localhost:2 tools/decode.py LAYERS TOKENS

The kernels are the same. With mpi4py, a layer has an all-reduce, two all-to-alls and an all-gather, and an expert
receives a row for each token of each PE, of zeros if the token has not chosen it. The times are medians on PE 0, from a
barrier until the queue is empty; the first step, which compiles, does not count. All tokens must equal those of numpy.
"""

import importlib
import sys
import time
from pathlib import Path
from typing import Any

import dpnp
import numpy as np
from mpi4py import MPI

import ishmem
import ishmem.graph

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
transformer: Any = importlib.import_module("transformer")

COMM = MPI.COMM_WORLD


class _ByMpi(transformer.Parallel):  # type: ignore[misc]  # mypy does not see the module
    def sum_heads(self, weight: Any) -> None:
        part = self.x.asnumpy()
        COMM.Allreduce(MPI.IN_PLACE, part)
        self.x[...] = part
        self.run(transformer.add, self.x.shape, self.residual, self.x)
        self.run(transformer.norm_rows, self.x.shape[:1], self.residual, weight, self.x)

    def ask_experts(self, up: Any, down: Any) -> None:
        chosen, n, local, block = self.chosen.asnumpy(), COMM.size, len(self.inner), len(self.block)
        is_chosen = (chosen[:, :, None] == np.arange(transformer.EXPERTS)).any(axis=1)
        asked = _exchanged(np.where(is_chosen.T[:, :, None], self.block.asnumpy(), np.float32(0)))
        received = np.ascontiguousarray(asked.reshape(n, local, block, -1).swapaxes(0, 1)).reshape(self.outputs.shape)
        self.serve_experts(dpnp.asarray(received), dpnp.full(local, n * block, dtype="i4"), up, down)
        outputs = _exchanged(self.outputs.asnumpy().reshape(local, n, block, -1).swapaxes(0, 1)).reshape(asked.shape)
        found, everyone = outputs[np.maximum(chosen, 0), np.arange(block)[:, None]], np.empty(self.everyone.shape, "f4")
        COMM.Allgather((found * self.shares.asnumpy()[:, :, None]).sum(axis=1), everyone)
        self.everyone[...] = everyone


def _exchanged(rows: np.ndarray) -> np.ndarray:
    come = np.empty(rows.shape, rows.dtype)  # from all PEs
    COMM.Alltoall(np.ascontiguousarray(rows), come)
    return come


def _decode(layers: int, tokens: int) -> None:
    prompts = np.random.default_rng(2).integers(0, transformer.VOCABULARY, (5, 9))
    weights, graph = transformer.weights_of(layers), ishmem.graph.Graph()
    kinds = {"replays": transformer.Parallel, "calls": transformer.Parallel, "mpi4py": _ByMpi}
    models = {way: kind(weights, prompts, tokens) for way, kind in kinds.items()}
    with graph.record(models["replays"].x.sycl_queue):
        models["replays"].step()
    times: dict[str, list[float]] = {way: [] for way in models}
    for _ in range(8 + tokens):
        for way, model in models.items():
            COMM.Barrier()
            begin = time.perf_counter()
            graph.replay() if way == "replays" else model.step()
            model.x.sycl_queue.wait()
            times[way].append(time.perf_counter() - begin)
    wanted = transformer.serial_tokens(weights, prompts, tokens)
    middle = {way: 1e3 * float(np.median(each[1:])) for way, each in times.items()}
    for way, model in models.items():
        right = (model.tokens.asnumpy()[:, 9:] == wanted).all()
        if COMM.rank == 0:
            print(f"{way}: {middle[way]:.2f} ms, {middle[way] / middle['replays']:.2f} replays, right: {right}")
        model.free()


if __name__ == "__main__":
    with ishmem.init():
        _decode(*map(int, sys.argv[1:]))
