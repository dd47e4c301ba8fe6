"""A language model of 124 M parameters on a CUDA device: tokens per second and MFU.

    python -m benchmarks.studies.gpu_language_model  writes gpu_language_model.md
    python -m benchmarks.studies.gpu_language_model --toy  also without a GPU
    python -m benchmarks.studies.gpu_language_model --batch 32 64 --steps 20

The net is `nn.TokenModel` over the transformer that `text.NeuralLanguageModel` trains
(rotary positions, normalised queries and keys, squared ReLU, RMS norm), of GPT-2's size
with tied embeddings. Its rows are windows of 1024 tokens of a packed stream of
documents on disk (`text.tokenizers.token_stream`, `nn.TokenWindows`): lengths of
documents are drawn from a log-normal distribution (median 400 tokens), and no place is
padding. In "joined" packing a document sees those before it in its window and attention
is torch's causal kernel; in "isolated" packing it does not, by a mask. Training is
`nn.train` in bfloat16 with `torch.compile`. MFU counts 6 operations for each weight and
token and 12 L d for attention in each block, over the dense peak of the device; it and
the speed are those of the last epoch, as the history has them.
"""

import argparse
import os
import platform
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from pansophy import nn
from pansophy.text.tokenizers.token_stream import TokenWriter

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


def packed_stream(path, vocabulary, n_tokens):
    """A token stream on disk of documents of random words of falling frequencies."""
    rng = np.random.default_rng(0)
    writer = TokenWriter(path, vocabulary - 1, vocabulary)
    while writer.size < n_tokens:
        length = int(np.clip(rng.lognormal(np.log(400), 1.0), 1, 20_000))
        words = (rng.pareto(0.8, length) * 10).clip(0, vocabulary - 2)
        writer.add([words.astype(np.int64)])
    return writer.close()


def language_net(toy, packing):
    """The net: vocabulary, context, columns, heads and blocks of GPT-2, or few."""
    V, L, d, heads, layers = (512, 32, 32, 2, 2) if toy else (50304, 1024, 768, 12, 12)
    torch.manual_seed(0)
    options = replace(nn.MODERN, backend="fused")
    layer = nn.TransformerEncoder(d, heads, layers, options=options, causal=True)
    separator = V - 1 if packing == "isolated" else None
    return nn.TokenModel(V, layer, d, tied=True, separator=separator, length=L)


def run(toy, packing, batch_size, steps, compiled):
    """A line of the table."""
    net = language_net(toy, packing)
    V = net.embedding.num_embeddings
    size = sum(p.numel() for p in net.parameters())
    if ON_GPU:
        torch.cuda.reset_peak_memory_stats()
    with tempfile.TemporaryDirectory() as folder:
        n_tokens = 8 * batch_size * net.length
        stream = packed_stream(Path(folder) / "tokens", V, n_tokens)
        result = nn.train(
            net,
            nn.TokenWindows(stream, net.length),
            epochs=4,
            steps_per_epoch=steps,
            batch_size=batch_size,
            amp=True,
            compile=compiled,
            clip=1.0,
            seed=0,
            device=DEVICE,
            optimiser=nn.AdamW(3e-4, 0.9, 0.95, decay=0.1),
            schedule=nn.schedules.warmup_cosine(10),
        )
        del stream
    last = {name: values[-1] for name, values in result.history.items()}
    mfu = f"{100 * last['mfu']:.1f} %" if "mfu" in last else "unknown"
    memory = torch.cuda.max_memory_allocated() / 2**30 if ON_GPU else 0.0
    first = result.history["loss"][0]
    return (
        f"| {size / 1e6:.0f} M, {packing}, {batch_size} x {net.length} | "
        f"{result.state.execution} | {last['rows_per_second'] * net.length:,.0f} | "
        f"**{mfu}** | {first:.3f} to {last['loss']:.3f} | {memory:.0f} |"
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--batch", type=int, nargs="*", default=[32, 64])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--compile", default=None, choices=["none", "inductor"])
    given = parser.parse_args()
    batches = [2] if given.toy else given.batch
    steps = 2 if given.toy else given.steps
    compiled = given.compile or ("none" if given.toy else "inductor")
    device = torch.cuda.get_device_name() if ON_GPU else platform.machine()
    lines = [
        "# A language model on a CUDA device",
        "",
        f"Device: {device}; torch {torch.__version__}. Made by "
        "`python -m benchmarks.studies.gpu_language_model`.",
        "",
        "| net, packing, batch | steps are | tokens/s | MFU | loss | GiB |",
        "|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for packing in ("joined", "isolated"):
        for batch_size in batches:
            try:
                line = run(given.toy, packing, batch_size, steps, compiled)
            except Exception as error:  # the other rows are still worth having
                line = f"| {packing} {batch_size}: {type(error).__name__}: {error} |"
            print(line, flush=True)
            lines.append(line)
    if not given.toy:
        out = Path(os.environ.get("OUT", Path(__file__).parent))
        (out / "gpu_language_model.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
