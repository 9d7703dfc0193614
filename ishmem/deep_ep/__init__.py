"""The interface of DeepEP: with ``import ishmem.deep_ep as deep_ep``, programs for its V1 and V2 run on ishmem.

`Buffer` is V1, with the normal and the low-latency calls, `ElasticBuffer` is V2. Both take tensors of torch, on the XPU
or on the CPU (calls then block until the results are there), or arrays of dpnp, and return the same kind. A group is a
process group of ``torch.distributed`` or a team of ishmem; that of a `Buffer` may be None with ``comm``, a communicator
of mpi4py. The first buffer starts ishmem if it is not running.

After ``python -m ishmem.deep_ep``, ``import deep_ep`` imports this package where DeepEP itself is not installed.
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
