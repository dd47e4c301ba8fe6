"""Training on a CUDA device: epochs of small nets, exact resume, a language model.

    python -m benchmarks.studies.gpu_training  writes gpu_training.md
    python -m benchmarks.studies.gpu_training --toy  small sizes, also without a GPU

Epochs of an MLP and of a small convolutional net through `nn.train` stand against a
hand-written loop that replays a CUDA graph of the same step (the fused Adam of torch,
batches gathered on the device); both take turns and the ratio is that of the medians
of epochs. "Exact resume" compares the weights of a run with those of a run that was
stopped and resumed, bit by bit. The language model is a decoder of 124 M parameters in
bfloat16 on random tokens; its MFU counts 6 operations for each parameter and token
and those of attention, over the dense peak of the device.
"""

import argparse
import os
import platform
import statistics
import tempfile
import time
import warnings
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from pansophy import nn

ROUNDS = 5
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


def wait():
    if ON_GPU:
        torch.cuda.synchronize()


class Classifier(torch.nn.Module):
    """Any module that gives class scores, with the loss that `nn.train` asks for."""

    capturable = True

    def __init__(self, body):
        super().__init__()
        self.body = body

    def losses(self, batch):
        X, y = batch
        return {"loss": functional.cross_entropy(self.body(X), y)}


def dense(sizes):
    torch.manual_seed(0)
    parts = []
    for m, k in pairwise(sizes):
        parts += [torch.nn.Linear(m, k), torch.nn.ReLU()]
    return torch.nn.Sequential(*parts[:-1])


def convolutional(side, dropout=0.0):
    torch.manual_seed(0)
    half = side // 2
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 64, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Dropout(dropout),
        torch.nn.Linear(64 * half * half, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 10),
    )


class HandWrittenLoop:
    """The reference: one CUDA graph of the step, replayed for every batch."""

    def __init__(self, body, X, y, batch_size):
        self.X, self.y, self.batch_size = X, y, batch_size
        self.xb, self.yb = X[:batch_size].clone(), y[:batch_size].clone()
        self.body = body.to(DEVICE)
        self.adam = torch.optim.Adam(
            self.body.parameters(), 1e-3, capturable=ON_GPU, fused=True
        )
        self.graph = None
        if ON_GPU:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(5):
                    self.step()
            torch.cuda.current_stream().wait_stream(side)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.step()

    def step(self):
        self.adam.zero_grad(set_to_none=False)
        functional.cross_entropy(self.body(self.xb), self.yb).backward()
        self.adam.step()

    def epoch(self):
        n, k = len(self.X), self.batch_size
        order = torch.randperm(n, device=DEVICE)
        for i in range(0, n - k + 1, k):
            rows = order[i : i + k]
            self.xb.copy_(self.X[rows])
            self.yb.copy_(self.y[rows])
            if self.graph is None:
                self.step()
            else:
                self.graph.replay()


def epoch_seconds(run, epochs):
    """Seconds of one epoch: a run of several less a run of one."""
    wait()
    begun = time.perf_counter()
    run(1)
    wait()
    between = time.perf_counter()
    result = run(1 + epochs)
    wait()
    return (time.perf_counter() - between - (between - begun)) / epochs, result


def compare_epochs(name, make, X, y, batch_size, epochs):
    """A line of the table: our epoch, that of the hand-written loop, their ratio."""
    options = {"batch_size": batch_size, "optimiser": nn.Adam(1e-3), "device": DEVICE}

    def ours(n):
        return nn.train(Classifier(make()), (X, y), epochs=n, seed=0, **options)

    loop = HandWrittenLoop(make(), X, y, batch_size)
    ours(1)
    loop.epoch()
    here, there = [], []
    result = None
    for _ in range(ROUNDS):
        seconds, result = epoch_seconds(ours, epochs)
        here.append(seconds)
        wait()
        begun = time.perf_counter()
        for _ in range(epochs):
            loop.epoch()
        wait()
        there.append((time.perf_counter() - begun) / epochs)
    a, b = statistics.median(here), statistics.median(there)
    how = result.state.execution
    return f"| {name} | {1e3 * a:.2f} | {1e3 * b:.2f} | **{a / b:.2f}** | {how} |"


def compare_classifier(X, y, epochs):
    """The same for the estimator, whose epochs have bookkeeping of their own."""
    from pansophy.neural_network import MLPClassifier

    def ours(n):
        model = MLPClassifier(
            (512, 256), max_iter=n, batch_size=256, n_iter_no_change=10**6,
            random_state=0, device=DEVICE,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(X, y)

    sizes = [X.shape[1], 512, 256, 10]
    loop = HandWrittenLoop(dense(sizes), X, y, 256)
    ours(1)
    loop.epoch()
    here, there = [], []
    for _ in range(ROUNDS):
        here.append(epoch_seconds(ours, epochs)[0])
        begun = time.perf_counter()
        for _ in range(epochs):
            loop.epoch()
        wait()
        there.append((time.perf_counter() - begun) / epochs)
    a, b = statistics.median(here), statistics.median(there)
    name = f"MLPClassifier {'-'.join(map(str, sizes))}"
    return f"| {name} | {1e3 * a:.2f} | {1e3 * b:.2f} | **{a / b:.2f}** | |"


def exact_resume(name, make, X, y):
    """Whether a resumed run has the bits of an uninterrupted one."""
    options = {
        "batch_size": 256, "optimiser": nn.Adam(1e-3), "device": DEVICE, "seed": 0,
        "average": nn.WeightAverage(), "schedule": nn.schedules.warmup_cosine(5),
    }  # fmt: skip
    whole = nn.train(Classifier(make()), (X, y), epochs=4, **options)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run"
        calls = []

        def stop(net):
            calls.append(1)
            if len(calls) == 3:
                raise InterruptedError
            return {}

        part = {**options, "checkpoint": file, "epochs": 4}
        with suppress(InterruptedError):
            nn.train(Classifier(make()), (X, y), evaluate=stop, **part)
        rest = nn.train(Classifier(make()), (X, y), resume=True, **part)
    one, two = whole.state.net.state_dict(), rest.state.net.state_dict()
    same = all(torch.equal(one[k], two[k]) for k in one)
    same = same and np.array_equal(whole.history["loss"], rest.history["loss"])
    return f"Exact resume, {name}: {'the same bits' if same else 'DIFFERS'}."


class Block(torch.nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.before_attention = torch.nn.LayerNorm(d, bias=False)
        self.qkv = torch.nn.Linear(d, 3 * d, bias=False)
        self.out = torch.nn.Linear(d, d, bias=False)
        self.before_dense = torch.nn.LayerNorm(d, bias=False)
        self.up = torch.nn.Linear(d, 4 * d, bias=False)
        self.down = torch.nn.Linear(4 * d, d, bias=False)

    def forward(self, x):
        n, length, d = x.shape
        qkv = self.qkv(self.before_attention(x)).view(n, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        h = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).reshape(n, length, d))
        return x + self.down(functional.gelu(self.up(self.before_dense(x))))


class LanguageModel(torch.nn.Module):
    """A decoder of GPT-2's shape with tied embeddings and learnt positions."""

    capturable = True

    def __init__(self, words, length, d, heads, layers):
        super().__init__()
        torch.manual_seed(0)
        self.words = torch.nn.Embedding(words, d)
        self.places = torch.nn.Parameter(0.02 * torch.randn(length, d))
        self.blocks = torch.nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(d, bias=False)
        torch.nn.init.normal_(self.words.weight, std=0.02)
        self.length = length
        self.attention = 12 * layers * d * length  # operations of attention a token
        weights = sum(p.numel() for p in self.parameters()) - self.places.numel()
        self.per_token = 6 * weights + self.attention

    def losses(self, batch):
        (tokens,) = batch
        x = self.words(tokens[:, :-1]) + self.places
        for block in self.blocks:
            x = block(x)
        scores = functional.linear(self.norm(x), self.words.weight)
        loss = functional.cross_entropy(
            scores.flatten(0, 1).float(), tokens[:, 1:].flatten()
        )
        return {"loss": loss}

    def flops(self, rows):
        return rows * self.length * self.per_token


def language_model(toy, batch_size, compiled):
    """MFU and tokens per second of the language model."""
    shape = (512, 32, 32, 2, 2) if toy else (50304, 1024, 768, 12, 12)
    net = LanguageModel(*shape)
    size = sum(p.numel() for p in net.parameters())
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, shape[0], (4 * batch_size, net.length + 1))
    result = nn.train(
        net, tokens, epochs=4, steps_per_epoch=2 if toy else 20, device=DEVICE,
        batch_size=batch_size, amp=True, compile=compiled, clip=1.0, seed=0,
        optimiser=nn.AdamW(3e-4, 0.9, 0.95, decay=0.1),
        schedule=nn.schedules.warmup_cosine(10),
    )  # fmt: skip
    last = {name: values[-1] for name, values in result.history.items()}
    mfu = f"{100 * last['mfu']:.1f} %" if "mfu" in last else "unknown"
    speed = last["rows_per_second"] * net.length
    how = result.state.execution
    memory = torch.cuda.max_memory_allocated() / 2**30 if ON_GPU else 0.0
    return (
        f"| {size / 1e6:.0f} M, {batch_size} x {net.length} tokens | {how} | "
        f"{speed:,.0f} | **{mfu}** | {last['loss']:.3f} | {memory:.0f} |"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--batch", type=int, nargs="*", default=[32, 64])
    toy = parser.parse_args().toy
    batches = [2] if toy else parser.parse_args().batch
    n, side, epochs = (600, 8, 2) if toy else (60_000, 28, 10)
    generator = torch.Generator(DEVICE).manual_seed(0)
    X = torch.randn(n, side * side, device=DEVICE, generator=generator)
    y = torch.randint(0, 10, (n,), device=DEVICE, generator=generator)
    images = X.view(n, 1, side, side)
    sizes = [side * side, 512, 256, 10]
    device = torch.cuda.get_device_name() if ON_GPU else platform.machine()
    lines = [
        "# Training on a CUDA device",
        "",
        f"Device: {device}; torch {torch.__version__}; medians of {ROUNDS} rounds in "
        "turn. Made by `python -m benchmarks.studies.gpu_training`.",
        "",
        f"| epoch of {n} rows, batches of 256 | ours, ms | hand-written CUDA graph, ms "
        "| ratio | steps are |",
        "|---|---|---|---|---|",
    ]

    def tell(line):
        print(line, flush=True)
        lines.append(line)

    def attempt(case, *arguments):
        try:
            tell(case(*arguments))
        except Exception as error:  # the other rows are still worth having
            tell(f"| {case.__name__} failed: {type(error).__name__}: {error} |")

    print("\n".join(lines))
    mlp = lambda: dense(sizes)
    cnn = lambda: convolutional(side)
    attempt(compare_epochs, f"MLP {sizes}", mlp, X, y, 256, epochs)
    attempt(compare_classifier, X, y, epochs)
    few = max(epochs // 3, 1)
    attempt(compare_epochs, "CNN 32-64-128", cnn, images, y, 256, few)
    tell("")
    for name, make, rows in (
        ("MLP", mlp, X),
        ("CNN with dropout", lambda: convolutional(side, 0.3), images),
    ):
        attempt(exact_resume, name, make, rows[:4000], y[:4000])
    tell("")
    tell("| language model | steps are | tokens/s | MFU | loss | GiB |")
    tell("|---|---|---|---|---|---|")
    for batch_size in batches:
        attempt(language_model, toy, batch_size, "none" if toy else "inductor")
    if not toy:
        out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu_training.md"
        out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
