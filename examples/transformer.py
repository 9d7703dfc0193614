"""Generates tokens by a small transformer whose attention heads and experts are split over the PEs.

    ishmem run -n 4 transformer.py
    ishmem run -n 4 transformer.py --direct

Each PE has an equal part of the heads and of the experts (tensor and expert parallelism). A step decodes a token of
each sequence. Per layer there is one all-reduce, fused with the residual and the norm after it, one dispatch of the
tokens to their experts, one combine, and one all-gather. The step is recorded once and replayed for each token; with
``--direct`` its calls are made anew each time. PE 0 computes the same by numpy alone and compares. The weights are
random, so the tokens mean nothing.
"""

from __future__ import annotations

import argparse
import math
import time
from typing import Any

import numpy as np

import ishmem
import ishmem.inference
import ishmem.moe
from ishmem import dpex
from ishmem.dpex import kernel_api as kapi

HIDDEN, INNER, VOCABULARY = 48, 64, 100
HEADS, EXPERTS, CHOICES = 12, 12, 2
SIZE = HIDDEN // HEADS
EPS = 1e-6
OF_LAYERS = ("query", "key", "value", "output", "router", "up", "down")


def weights_of(layers: int) -> dict[str, np.ndarray]:
    """Return the weights, the same on all PEs; those of a layer are rows of an array."""
    random, into_heads = np.random.default_rng(104), (layers, HEADS, HIDDEN, SIZE)
    shapes = {
        "embedding": (VOCABULARY, HIDDEN), "head": (VOCABULARY, HIDDEN),
        "norms": (layers, 2, HIDDEN), "last_norm": (1, HIDDEN),
        "query": into_heads, "key": into_heads, "value": into_heads, "output": (layers, HEADS, SIZE, HIDDEN),
        "router": (layers, HIDDEN, EXPERTS),
        "up": (layers, EXPERTS, HIDDEN, INNER), "down": (layers, EXPERTS, INNER, HIDDEN),
    }  # fmt: skip
    return {
        name: (random.standard_normal(shape) / np.sqrt(shape[-2])).astype("f4") for name, shape in shapes.items()
    }


def serial_tokens(weights: dict[str, np.ndarray], prompts: np.ndarray, count: int) -> np.ndarray:
    """Return the tokens that numpy alone generates, with the whole model."""
    tokens = prompts
    for _ in range(count):
        tokens = np.column_stack([tokens, [next_token(weights, each) for each in tokens]])
    return tokens[:, prompts.shape[1] :]


def next_token(weights: dict[str, np.ndarray], tokens: np.ndarray) -> int:
    """Return the most likely token after these."""
    residual = weights["embedding"][tokens]
    for layer, (first, second) in enumerate(weights["norms"]):
        of_layer = {name: weights[name][layer] for name in OF_LAYERS}
        residual = residual + attention(norm(residual, first), **of_layer)
        residual = residual + experts(norm(residual, second), **of_layer)
    last = norm(residual[-1:], weights["last_norm"])
    return int((weights["head"] * last).sum(axis=1).argmax())


def attention(x, query, key, value, output, **_others):
    """Return the sum of the outputs of all heads."""
    scores = (x @ query) @ (x @ key).transpose(0, 2, 1) * np.float32(SIZE**-0.5)
    later = np.triu(np.ones(scores.shape[1:], dtype=bool), k=1)
    shares = softmax(np.where(later, np.float32(-1e30), scores))
    return (shares @ (x @ value) @ output).sum(axis=0)


def experts(x, router, up, down, **_others):
    """Return the weighted sum of the outputs of each token's experts."""
    scores = softmax(x @ router)
    chosen = np.argsort(-scores, axis=1)[:, :CHOICES]
    shares = softmax(np.take_along_axis(scores, chosen, axis=1))
    outputs, rows = np.maximum(x @ up, 0) @ down, np.arange(len(x))
    return sum(outputs[chosen[:, k], rows] * shares[:, k : k + 1] for k in range(CHOICES))


def norm(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the RMS norm of each row, multiplied by ``weight``."""
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(EPS)) * weight


def softmax(x: np.ndarray) -> np.ndarray:
    """Return the softmax of each row of ``x``."""
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


@dpex.kernel
def embed(item: kapi.Item, tokens, position, embedding, residual):
    """Begin the residual of a sequence: the embedding of its token at the position."""
    row, i = item.get_id(0), item.get_id(1)
    residual[row, i] = embedding[tokens[row, position[0]], i]


@dpex.kernel
def norm_rows(item: kapi.Item, x, weight, out):
    """Write the RMS norm of a row of ``x``, multiplied by ``weight``, to ``out``."""
    row, total = item.get_id(0), np.float32(0)
    for i in range(HIDDEN):
        total += x[row, i] * x[row, i]
    scale = np.float32(1) / math.sqrt(total / np.float32(HIDDEN) + np.float32(EPS))
    for i in range(HIDDEN):
        out[row, i] = x[row, i] * scale * weight[i]


@dpex.device_func
def product(x, matrix, i):
    """Return one number of the product of a row and a matrix."""
    total = np.float32(0)
    for j in range(x.shape[0]):
        total += x[j] * matrix[j, i]
    return total


@dpex.kernel
def project(item: kapi.Item, x, query, key, value, position, queries, keys, values):
    """Write one number of a head's query for the token with row ``x``, and of its key and value at ``position[0]``."""
    row, head, i = item.get_id(0), item.get_id(1) // SIZE, item.get_id(1) % SIZE
    queries[row, head, i] = product(x[row], query[head], i) * np.float32(SIZE**-0.5)
    keys[row, head, position[0], i] = product(x[row], key[head], i)
    values[row, head, position[0], i] = product(x[row], value[head], i)


@dpex.kernel
def attend(item: kapi.Item, queries, position, keys, values):
    """Replace the query of a head by its attention to all positions so far."""
    row, head = item.get_id(0), item.get_id(1)
    most, total = np.float32(-1e30), np.float32(0)
    sums = kapi.PrivateArray(SIZE, np.float32, fill_zeros=True)
    for place in range(position[0] + 1):
        score = np.float32(0)
        for i in range(SIZE):
            score += queries[row, head, i] * keys[row, head, place, i]
        higher = max(most, score)
        kept, share = math.exp(most - higher), math.exp(score - higher)
        for i in range(SIZE):
            sums[i] = sums[i] * kept + share * values[row, head, place, i]
        most, total = higher, total * kept + share
    for i in range(SIZE):
        queries[row, head, i] = sums[i] / total


@dpex.kernel
def add_heads(item: kapi.Item, queries, output, part):
    """Write one number of the sum of the outputs of this PE's heads."""
    row, i, total = item.get_id(0), item.get_id(1), np.float32(0)
    for head in range(output.shape[0]):
        total += product(queries[row, head], output[head], i)
    part[row, i] = total


@dpex.kernel
def route(item: kapi.Item, x, first, router, block, chosen, shares):
    """Choose the experts of a token of this PE's block of ``x``, -1 behind the last sequence, and their shares."""
    row, scores = item.get_id(0), kapi.PrivateArray(EXPERTS, np.float32)
    for k in range(CHOICES):
        chosen[row, k] = -1
    if first + row < x.shape[0]:
        most, total = np.float32(-1e30), np.float32(0)
        for expert in range(EXPERTS):
            score = product(x[first + row], router, expert)
            scores[expert], most = score, max(most, score)
        for expert in range(EXPERTS):
            scores[expert] = math.exp(scores[expert] - most)
            total += scores[expert]
        for k in range(CHOICES):
            best = 0
            for expert in range(EXPERTS):
                if scores[expert] > scores[best]:
                    best = expert
            chosen[row, k], shares[row, k], scores[best] = best, math.exp(scores[best] / total), np.float32(-1)
        total = np.float32(0)
        for k in range(CHOICES):
            total += shares[row, k]
        for k in range(CHOICES):
            shares[row, k] /= total
        for i in range(HIDDEN):
            block[row, i] = x[first + row, i]


@dpex.kernel
def expert_layer(item: kapi.Item, received, counts, weight, least, out):
    """Write one number of a layer of an expert, at least ``least``, for a token that it has received."""
    expert, row, i = item.get_id(0), item.get_id(1), item.get_id(2)
    if row < counts[expert]:
        out[expert, row, i] = max(product(received[expert, row], weight[expert], i), least)


@dpex.kernel
def add(item: kapi.Item, residual, x):
    """Add the experts' outputs ``x`` to the residual."""
    row, i = item.get_id(0), item.get_id(1)
    residual[row, i] += x[row, i]


@dpex.kernel
def choose(item: kapi.Item, x, head, position, given, tokens):
    """Write the most likely token of a sequence behind the position, unless the prompt gives it."""
    row, best, most = item.get_id(0), 0, np.float32(-1e30)
    if position[0] + 1 >= given:
        for token in range(VOCABULARY):
            total = np.float32(0)
            for i in range(HIDDEN):
                total += x[row, i] * head[token, i]
            if total > most:
                best, most = token, total
        tokens[row, position[0] + 1] = best


@dpex.kernel
def advance(item: kapi.Item, position):
    """Go to the next position."""
    position[0] += 1


class Parallel:
    """This PE's part of the model, on its device. Collective, as all its methods.

    Attributes:
        tokens: The tokens of the sequences: the prompts, and behind them what `step` has chosen.
    """

    def __init__(self, weights: dict[str, np.ndarray], prompts: np.ndarray, count: int) -> None:
        """Copy this PE's weights to its device, and allocate what the steps need."""
        import dpnp

        me, n = ishmem.my_pe(), ishmem.n_pes()
        heads, experts = (slice(me * total // n, (me + 1) * total // n) for total in (HEADS, EXPERTS))
        parts = {**dict.fromkeys(OF_LAYERS[:4], heads), "up": experts, "down": experts}
        mine = {name: values[:, parts[name]] if name in parts else values for name, values in weights.items()}
        self.weights = {name: dpnp.asarray(np.ascontiguousarray(values)) for name, values in mine.items()}
        sequences, self.given = prompts.shape
        self.tokens = dpnp.asarray(np.pad(prompts, ((0, 0), (0, count))))
        self.position = dpnp.zeros(1, dtype="i8")
        self.layers, own, length = len(weights["norms"]), heads.stop - heads.start, self.given + count
        self.residual, self.x = (dpnp.zeros((sequences, HIDDEN), dtype="f4") for _ in range(2))
        self.queries = dpnp.zeros((sequences, own, SIZE), dtype="f4")
        self.keys, self.values = (dpnp.zeros((self.layers, sequences, own, length, SIZE), dtype="f4") for _ in range(2))
        block, local = -(-sequences // n), experts.stop - experts.start
        self.first, self.block = me * block, dpnp.zeros((block, HIDDEN), dtype="f4")
        self.chosen, self.shares = dpnp.zeros((block, CHOICES), dtype="i8"), dpnp.zeros((block, CHOICES), dtype="f4")
        self.inner = dpnp.zeros((local, n * block, INNER), dtype="f4")
        self.outputs = dpnp.zeros((local, n * block, HIDDEN), dtype="f4")
        self.everyone = dpnp.zeros((n * block, HIDDEN), dtype="f4")
        self.heads = ishmem.inference.Communicator(self.everyone.nbytes)
        self.experts = ishmem.moe.Buffer(block, HIDDEN, EXPERTS, CHOICES)

    def free(self) -> None:
        """Free the communicator of the attention and the buffer of the experts. Collective."""
        self.experts.free()
        self.heads.free()

    def step(self) -> None:
        """Decode a token of each sequence."""
        self.run(embed, self.residual.shape, self.tokens, self.position, self.weights["embedding"], self.residual)
        for layer in range(self.layers):
            self._attention(layer)
            self._experts(layer)
        rows = self.residual.shape[:1]
        self.run(norm_rows, rows, self.residual, self.weights["last_norm"][0], self.x)
        self.run(choose, rows, self.x, self.weights["head"], self.position, self.given, self.tokens)
        self.run(advance, (1,), self.position)

    def _attention(self, layer: int) -> None:
        """Add the attention of all PEs' heads to the residual, and write the norm of it."""
        first, second = self.weights["norms"][layer]
        query, key, value, output = (self.weights[name][layer] for name in ("query", "key", "value", "output"))
        keys, values, rows = self.keys[layer], self.values[layer], len(self.residual)
        self.run(norm_rows, (rows,), self.residual, first, self.x)
        places = rows, self.queries.shape[1] * SIZE
        self.run(project, places, self.x, query, key, value, self.position, self.queries, keys, values)
        self.run(attend, self.queries.shape[:2], self.queries, self.position, keys, values)
        self.run(add_heads, self.x.shape, self.queries, output, self.x)
        self.sum_heads(second)

    def sum_heads(self, weight: Any) -> None:
        """Add the parts of all PEs to the residual, and write the norm of it."""
        self.heads.all_reduce_add_rms_norm(self.x, self.residual, weight, EPS)

    def _experts(self, layer: int) -> None:
        """Send this PE's block of the tokens to their experts, serve the experts here, and add all results."""
        router, up, down = (self.weights[name][layer] for name in ("router", "up", "down"))
        self.run(route, self.block.shape[:1], self.x, self.first, router, self.block, self.chosen, self.shares)
        self.ask_experts(up, down)
        self.run(add, self.residual.shape, self.residual, self.everyone)

    def ask_experts(self, up: Any, down: Any) -> None:
        """Get the weighted sums of the experts' outputs for the tokens of all PEs into `everyone`."""
        received, counts, handle, _event, _hook = self.experts.low_latency_dispatch(self.block, self.chosen)
        self.serve_experts(received, counts, up, down)
        mine, _event, _hook = self.experts.low_latency_combine(self.outputs, self.chosen, self.shares, handle)
        self.heads.all_gather(mine, self.everyone)

    def serve_experts(self, received: Any, counts: Any, up: Any, down: Any) -> None:
        """Compute the outputs of the experts here for the tokens received, ``counts`` for each expert."""
        self.run(expert_layer, self.inner.shape, received, counts, up, np.float32(0), self.inner)
        self.run(expert_layer, self.outputs.shape, self.inner, counts, down, np.float32(-np.inf), self.outputs)

    def run(self, kernel: Any, shape: tuple[int, ...], *arguments: Any) -> None:
        """Call a kernel of ``shape`` work-items on its arrays, or record it while the queue is recorded."""
        dpex.call_kernel(kernel, kapi.Range(*shape), *arguments)


def generate(model: Parallel, count: int, direct: bool) -> None:
    """Decode ``count`` tokens, by replays of a recorded step or (``direct``) by calls; print the time of a step."""
    queue, run = model.x.sycl_queue, model.step
    if not direct:
        graph = ishmem.graph.Graph()
        with graph.record(queue):
            model.step()
        run = graph.replay
    steps, begun = model.given + count - 1, time.perf_counter()
    for number in range(steps):
        if number == 1:  # the first step compiles kernels
            begun = time.perf_counter()
        run()
        queue.wait()
    if ishmem.my_pe() == 0:
        each = (time.perf_counter() - begun) / max(steps - 1, 1)
        print(f"{steps} steps {'by calls' if direct else 'by replays'}, {each * 1e3:.2f} ms each", flush=True)


def main() -> None:
    """Generate tokens on all PEs and compare with numpy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--sequences", type=int, default=5)
    parser.add_argument("--prompt", type=int, default=9, help="number of tokens of each prompt")
    parser.add_argument("--tokens", type=int, default=8, help="number of tokens to generate")
    parser.add_argument("--direct", action="store_true", help="make the calls of each step anew")
    options = parser.parse_args()
    prompts = np.random.default_rng(2).integers(0, VOCABULARY, (options.sequences, options.prompt))
    weights = weights_of(options.layers)
    with ishmem.init():
        model = Parallel(weights, prompts, options.tokens)
        generate(model, options.tokens, options.direct)
        found = model.tokens.asnumpy()[:, options.prompt :]
        model.free()
        if ishmem.my_pe() == 0:
            wanted = serial_tokens(weights, prompts, options.tokens)
            print("tokens:", *found[0])
            same = (found == wanted).all()
            print("the same tokens as numpy alone" if same else f"not the tokens of numpy alone, {wanted}")


if __name__ == "__main__":
    main()
