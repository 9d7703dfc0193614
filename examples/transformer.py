"""Generates tokens by a small transformer whose attention heads and experts are split over the PEs.

    ishmem run -n 4 transformer.py

Each PE has an equal part of the heads and of the experts (tensor and expert parallelism). Per layer there is one
all-reduce, fused with the residual and the norm after it, one dispatch of the tokens to their experts, one combine, and
one all-gather. PE 0 computes the same by numpy alone and compares. The weights are random, so the tokens mean nothing.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import ishmem
import ishmem.inference
import ishmem.moe

HIDDEN, INNER, VOCABULARY = 48, 64, 100
HEADS, EXPERTS, CHOICES = 12, 12, 2
SIZE = HIDDEN // HEADS
EPS = 1e-6


def weights_of(layers: int) -> dict[str, np.ndarray]:
    """Return the weights, the same on all PEs; those of a layer are rows of an array."""
    random = np.random.default_rng(1)
    shapes = {
        "embedding": (VOCABULARY, HIDDEN),
        "head": (VOCABULARY, HIDDEN),
        "norms": (layers, 2, HIDDEN),
        "last_norm": (1, HIDDEN),
        "query": (layers, HEADS, HIDDEN, SIZE),
        "key": (layers, HEADS, HIDDEN, SIZE),
        "value": (layers, HEADS, HIDDEN, SIZE),
        "output": (layers, HEADS, SIZE, HIDDEN),
        "router": (layers, HIDDEN, EXPERTS),
        "up": (layers, EXPERTS, HIDDEN, INNER),
        "down": (layers, EXPERTS, INNER, HIDDEN),
    }
    return {
        name: (random.standard_normal(shape) / np.sqrt(shape[-2])).astype("f4") for name, shape in shapes.items()
    }


class Serial:
    """The whole model, on the host."""

    xp: Any = np

    def __init__(self, weights: dict[str, Any]) -> None:
        """Keep the weights."""
        self.weights = weights

    def logits(self, tokens: list[int]) -> Any:
        """Return the logits of the token that comes next."""
        residual = self.weights["embedding"][self.xp.asarray(tokens)]
        for layer, (first, second) in enumerate(self.weights["norms"]):
            x = self.add_attention(layer, self.norm(residual, first), residual, second)
            residual += self.experts(layer, x)
        last = self.norm(residual[-1:], self.weights["last_norm"])
        return (self.weights["head"] * last).sum(axis=1)

    def norm(self, x: Any, weight: Any) -> Any:
        """Return the RMS norm of each row."""
        return x / self.xp.sqrt((x * x).mean(axis=-1, keepdims=True) + self.xp.float32(EPS)) * weight

    def softmax(self, x: Any) -> Any:
        """Return the softmax of each row."""
        powers = self.xp.exp(x - x.max(axis=-1, keepdims=True))
        return powers / powers.sum(axis=-1, keepdims=True)

    def attention(self, layer: int, x: Any) -> Any:
        """Return the sum of the outputs of the heads whose weights this object has."""
        query, key, value = (self.xp.matmul(x, self.weights[name][layer]) for name in ("query", "key", "value"))
        scores = self.xp.matmul(query, key.transpose(0, 2, 1)) * self.xp.float32(SIZE**-0.5)
        later = self.xp.triu(self.xp.ones(scores.shape[1:], dtype=bool), k=1)
        shares = self.softmax(self.xp.where(later, self.xp.float32(-1e30), scores))
        return self.xp.matmul(self.xp.matmul(shares, value), self.weights["output"][layer]).sum(axis=0)

    def add_attention(self, layer: int, x: Any, residual: Any, weight: Any) -> Any:
        """Add the attention to the residual; return the norm of it."""
        residual += self.attention(layer, x)
        return self.norm(residual, weight)

    def route(self, layer: int, x: Any) -> tuple[Any, Any]:
        """Return the experts of each token and their weights."""
        scores = self.softmax(x @ self.weights["router"][layer])
        chosen = self.xp.argsort(-scores, axis=1)[:, :CHOICES]
        return chosen, self.softmax(self.xp.take_along_axis(scores, chosen, axis=1))

    def expert(self, layer: int, expert: int, x: Any) -> Any:
        """Return the output of an expert, counted from the first one whose weights this object has."""
        inner = x @ self.weights["up"][layer, expert]
        return self.xp.maximum(inner, self.xp.float32(0)) @ self.weights["down"][layer, expert]

    def experts(self, layer: int, x: Any) -> Any:
        """Return the weighted sum of the outputs of each token's experts."""
        chosen, shares = self.route(layer, x)
        outputs = self.xp.stack([self.expert(layer, expert, x) for expert in range(EXPERTS)])
        rows = self.xp.arange(len(x))
        return sum(outputs[chosen[:, k], rows] * shares[:, k : k + 1] for k in range(CHOICES))


class Parallel(Serial):
    """This PE's part of the model, on its device. Collective, as all its methods."""

    def __init__(self, weights: dict[str, Any], most_tokens: int) -> None:
        """Copy this PE's weights to its device, and allocate what the collectives need."""
        import dpnp

        self.xp = dpnp
        self.me, self.n = ishmem.my_pe(), ishmem.n_pes()
        heads, experts = (
            slice(self.me * count // self.n, (self.me + 1) * count // self.n) for count in (HEADS, EXPERTS)
        )
        parts = {"query": heads, "key": heads, "value": heads, "output": heads, "up": experts, "down": experts}
        mine = {name: values[:, parts[name]] if name in parts else values for name, values in weights.items()}
        super().__init__({name: dpnp.asarray(np.ascontiguousarray(values)) for name, values in mine.items()})
        self.block = -(-most_tokens // self.n)
        self.tensors = ishmem.inference.Communicator(self.n * self.block * HIDDEN * 4)
        self.tokens = ishmem.moe.Buffer(self.block, HIDDEN, EXPERTS, CHOICES)

    def free(self) -> None:
        """Free what the collectives needed."""
        self.tokens.free()
        self.tensors.free()

    def add_attention(self, layer: int, x: Any, residual: Any, weight: Any) -> Any:
        """Add the attention of all PEs' heads to the residual; return the norm of it."""
        part = self.attention(layer, x)
        self.tensors.all_reduce_add_rms_norm(part, residual, weight, EPS).wait()
        return part

    def experts(self, layer: int, x: Any) -> Any:
        """Send this PE's block of the tokens to their experts, serve the experts here, and gather the results."""
        block = self.xp.zeros((self.block, HIDDEN), dtype="f4")
        first = min(self.me * self.block, len(x))
        count = min(self.block, len(x) - first)
        block[:count] = x[first : first + count]
        chosen, shares = self.route(layer, block)
        chosen[count:] = -1
        chosen, shares = (self.xp.ascontiguousarray(each) for each in (chosen, shares))
        received, _counts, handle, event, _hook = self.tokens.low_latency_dispatch(block, chosen)
        event.wait()
        outputs = self.xp.stack([self.expert(layer, expert, rows) for expert, rows in enumerate(received)])
        mine, _event, _hook = self.tokens.low_latency_combine(outputs, chosen, shares, handle)
        everyone = self.xp.empty((self.n * self.block, HIDDEN), dtype="f4")
        self.tensors.all_gather(mine, everyone).wait()
        return everyone[: len(x)]


def generate(model: Serial, prompt: list[int], count: int) -> tuple[list[int], np.ndarray]:
    """Return the most likely tokens after a prompt, and the logits of each."""
    tokens, seen = list(prompt), []
    for step in range(count):
        seen.append(np.asarray(on_host(model.logits(tokens))))
        tokens.append(int(seen[-1].argmax()))
        if isinstance(model, Parallel) and model.me == 0:
            print(f"token {step + 1} of {count}: {tokens[-1]}", flush=True)
    return tokens[len(prompt) :], np.stack(seen)


def on_host(array: Any) -> Any:
    """Return an array on the host."""
    return array.asnumpy() if hasattr(array, "asnumpy") else array


def main() -> None:
    """Generate tokens on all PEs and compare with numpy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=9, help="number of tokens of the prompt")
    parser.add_argument("--tokens", type=int, default=4, help="number of tokens to generate")
    options = parser.parse_args()
    prompt = np.random.default_rng(2).integers(0, VOCABULARY, options.prompt).tolist()
    weights = weights_of(options.layers)
    with ishmem.init():
        model = Parallel(weights, options.prompt + options.tokens)
        tokens, logits = generate(model, prompt, options.tokens)
        model.free()
        if ishmem.my_pe() == 0:
            wanted, reference = generate(Serial(weights), prompt, options.tokens)
            difference = np.abs(logits - reference).max() / np.abs(reference).max()
            same = "the same tokens as" if tokens == wanted else f"not the tokens of ({wanted})"
            print(f"{same} numpy alone; largest relative difference of the logits: {difference:.1e}")


if __name__ == "__main__":
    main()
