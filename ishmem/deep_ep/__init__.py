"""The names of DeepEP: ``import ishmem.deep_ep as deep_ep`` runs programs that were written for its V1 and V2.

`Buffer` is V1, with the normal and the low-latency calls, `ElasticBuffer` is V2. Both take tensors of torch, on the XPU
or on the CPU, or arrays of dpnp, and return the same kind. A group is one of ``torch.distributed``, a team of ishmem,
or None with ``comm``, a communicator of mpi4py; the first buffer starts ishmem if the program has not.

``python -m ishmem.deep_ep`` makes ``import deep_ep`` find this package where no real DeepEP is installed.
"""

from typing import Any

from .elastic import ElasticBuffer, EPHandle
from .events import EventHandle, EventOverlap
from .legacy import Buffer, Config

__all__ = ["Buffer", "Config", "EPHandle", "ElasticBuffer", "EventHandle", "EventOverlap"]


def __getattr__(name: str) -> Any:
    if name == "topk_idx_t":
        import torch

        return torch.int64
    raise AttributeError(f"module 'ishmem.deep_ep' has no attribute {name!r}")
