"""Conversion of arguments and results: arrays of dpnp, tensors on the XPU, or tensors on the CPU.

Tensors on the CPU are copied to the device; results for them are new CPU tensors that `Caller.finish` fills.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ishmem.runtime import foreign, job

from .events import EventHandle, EventOverlap, put_after


class Caller:
    """Converter of the arguments and results of a call, all of the kind of the first argument.

    Attributes:
        tensors: Whether the arrays are tensors of torch.
        queue: The SYCL queue of the arrays.
    """

    def __init__(self, x: Any, *events: Any) -> None:
        """Find kind and queue of ``x``, an array or (array, scales); order later work on the queue after ``events``."""
        first = x[0] if isinstance(x, tuple) else x
        self.tensors = foreign.is_tensor(first)
        self._on_cpu = self.tensors and first.device.type == "cpu"
        self._late: list[tuple[Any, Any]] = []
        if self.tensors:
            import ishmem.torch  # noqa: F401
        self.queue = self.take(first, "x").sycl_queue
        put_after(self.queue, *events)

    def take(self, array: Any, name: str, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Any:
        """Return ``array``, argument ``name``, as contiguous dpnp array on the device, after checking it.

        Raises:
            TypeError: Neither a tensor nor an array of dpnp, or not of the kind of the first argument.
            ValueError: Not of ``shape`` or not of the dtype with the name ``dtype``; None stands for any.
        """
        import dpnp

        if foreign.is_tensor(array) != self.tensors or not (self.tensors or isinstance(array, dpnp.ndarray)):
            wanted = "a tensor of torch" if self.tensors else "an array of dpnp"
            raise TypeError(f"{name} is {type(array).__name__}; allowed is {wanted}, as for all arrays of a call")
        found = tuple(array.shape), str(array.dtype).removeprefix("torch.")
        if shape not in (None, found[0]) or dtype not in (None, found[1]):
            allowed = " and ".join(str(each) for each in (shape, dtype) if each is not None)
            raise ValueError(f"{name} has shape {found[0]} and dtype {found[1]}; allowed is {allowed}")
        native = foreign.native(array.contiguous() if self.tensors else array)
        if isinstance(native, np.ndarray):
            return dpnp.asarray(native, sycl_queue=job.current().heap.queue)
        return dpnp.ascontiguousarray(native)

    def tokens(self, x: Any) -> tuple[Any, Any]:
        """Return ``x``, tokens or (tokens, scales), as two dpnp arrays: tokens, and scales or an array [tokens, 0]."""
        given, scales = x if isinstance(x, tuple) else (x, None)
        tokens = self.take(given, "x")
        if tokens.ndim != 2 or (tokens.shape[1] * tokens.dtype.itemsize) % 16:
            raise ValueError(f"x has shape {tuple(tokens.shape)}; allowed are [tokens, hidden] of rows of 16 n bytes")
        return tokens, self.optional(scales, "the scales of x", (tokens.shape[0], -1), None, tokens)

    def choices(self, topk_idx: Any, tokens: int) -> Any:
        """Return a copy of ``topk_idx`` as dpnp array; ``ValueError`` unless it is integers [``tokens``, 1 or more]."""
        import dpnp

        idx = self.take(topk_idx, "topk_idx")
        if idx.ndim != 2 or idx.shape[0] != tokens or not idx.shape[1] or str(idx.dtype) not in ("int32", "int64"):
            what = f"topk_idx has shape {tuple(idx.shape)} and dtype {idx.dtype}"
            raise ValueError(f"{what}; allowed are [{tokens}, choices] of int64 and int32")
        return dpnp.copy(idx)

    def optional(self, array: Any, name: str, shape: tuple[int, ...], dtype: str | None, like: Any) -> Any:
        """Return ``array`` as `take` does, or for None an array without columns like ``like``; ``shape[1]`` -1: any."""
        import dpnp

        if array is None:
            return dpnp.empty((shape[0], 0), dtype="float32", sycl_queue=like.sycl_queue)
        return self.take(array, name, (shape[0], array.shape[-1]) if shape[1] < 0 else shape, dtype)

    def biases(self, bias: Any, shape: tuple[int, ...], dtype: str) -> list[Any]:
        """Return ``bias``, None, one array or a tuple of at most 2, as a list of dpnp arrays; check shape and dtype."""
        given = [] if bias is None else list(bias) if isinstance(bias, tuple) else [bias]
        if len(given) > 2:
            raise ValueError(f"bias has {len(given)} arrays; allowed are at most 2")
        found = [self.take(each, "bias", shape) for each in given]
        for each in found:
            if str(each.dtype) != dtype:
                raise ValueError(f"bias has dtype {each.dtype}; allowed is {dtype}, that of x")
        return found

    def give(self, array: Any, like: Any = None) -> Any:
        """Return ``array``, or for torch a tensor, with its bits as ``like``'s dtype; `finish` fills CPU tensors."""
        if not self.tensors or array is None:
            return array
        import torch

        dtype = getattr(torch, str(array.dtype)) if like is None else like.dtype
        if not self._on_cpu:
            return torch.from_dlpack(array).view(dtype)
        tensor = torch.empty(array.shape, dtype=dtype)
        self._late.append((tensor, array))
        return tensor

    def give_tokens(self, x: Any, scales: Any, like: Any) -> Any:
        """Return tokens ``x`` in the form and dtypes of argument ``like``: alone, or as a pair with ``scales``."""
        if isinstance(like, tuple):
            return self.give(x, like[0]), self.give(scales, like[1])
        return self.give(x, like)

    def write(self, to: Any, array: Any) -> None:
        """Write result ``array`` to an array or tensor ``to`` of the program; to CPU tensors only in `finish`."""
        if self._on_cpu:
            self._late.append((to, array))
        else:
            foreign.native(to)[...] = array

    def add(self, to: Any, name: str, counts: Any) -> None:
        """Add ``counts`` to ``to``, argument ``name``: an int32 array of their shape, or None, which does nothing."""
        if to is not None:
            self.write(to, self.take(to, name, tuple(counts.shape), "int32") + counts)

    def finish(self) -> EventOverlap:
        """Copy results to tensors on the CPU, if any, which blocks; return the event of all work on the queue."""
        event = EventOverlap(EventHandle(self.queue))
        for tensor, array in self._late:
            native = foreign.native(tensor)
            native[...] = array.asnumpy() if isinstance(native, np.ndarray) else array
        self._late.clear()
        return event
