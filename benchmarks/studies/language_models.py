"""Neural language models against n-grams in bits per byte, on Python's documentation.

    python -m benchmarks.studies.language_models            writes language_models.md
    python -m benchmarks.studies.language_models --only transformer --epochs 2

The corpus is `pydoc_data.topics` of the standard library. Its documents repeat each
other word by word, so a paragraph counts once: documents 3, 11, 19, ... (in the order
of their names) are held out, and a paragraph that occurs in one of them is taken out
of the others. N-gram models of characters and of byte-pair tokens are tried in several
orders and vocabularies, and the best is taken by the held-out text itself, which
favours them. The settings of the transformer come from one run on another split
(documents 5, 13, 21, ...), those of Mamba are the best of the few that were tried on
this one. Seconds are those of the processor, on one thread.
"""

import argparse
import platform
import pydoc_data.topics
import time
from pathlib import Path

import numpy as np

from pansophy.text import BPE, NeuralLanguageModel, NGramModel, bits_per_byte

SETTINGS = {
    "transformer": {"n_epochs": 14, "learning_rate_init": 0.005, "dropout": 0.2},
    "mamba": {
        "n_epochs": 7, "learning_rate_init": 0.005, "dropout": 0.35, "n_layers": 3,
    },
}  # fmt: skip
COMMON = {
    "vocab_size": 1000, "hidden_size": 128, "n_layers": 4, "context_length": 256,
    "batch_size": 4, "early_stopping": False, "random_state": 0, "device": "cpu",
}  # fmt: skip


def without_repetition(documents, known):
    """Documents without paragraphs that are known, to which theirs are added."""
    found = []
    for text in documents:
        kept = []
        for paragraph in text.split("\n\n"):
            key = " ".join(paragraph.split())
            if key not in known:
                known.add(key)
                kept.append(paragraph)
        if kept:
            found.append("\n\n".join(kept))
    return found


def topic_documents(offset=3):
    """Training documents and held-out ones."""
    texts = [text for _, text in sorted(pydoc_data.topics.topics.items())]
    known: set[str] = set()
    held = without_repetition(texts[offset::8], known)
    rest = [text for i, text in enumerate(texts) if i % 8 != offset]
    return without_repetition(rest, known), held


def character_models(train, held):
    """(name, bits per byte, seconds) of n-grams of characters."""
    for order in (6, 8, 10, 12, 16, 20):
        begun = time.process_time()
        model = NGramModel(order, analyzer="char").fit(train)
        seconds = time.process_time() - begun
        yield f"characters, order {order}", model.bits_per_byte(held), seconds


def token_models(train, held):
    """The same of n-grams of byte-pair tokens."""
    size = sum(len(text.encode()) + 1 for text in held)
    for vocab_size in (300, 500, 1000, 2000, 4000):
        begun = time.process_time()
        tokenizer = BPE(vocab_size).fit(train)
        own, other = (
            [[str(i) for i in tokenizer.encode(text)] for text in part]
            for part in (train, held)
        )
        between = time.process_time()
        for order in (3, 4, 5, 6):
            start = time.process_time()
            model = NGramModel(order).fit(own)
            seconds = time.process_time() - start + between - begun
            logs = np.concatenate(model.log_probs(other))
            name = f"{vocab_size} byte-pair tokens, order {order}"
            yield name, bits_per_byte(logs, size), seconds


def neural_model(architecture, train, held, epochs=None):
    """The same of a neural model, and the model."""
    settings = {**COMMON, **SETTINGS[architecture]}
    if epochs:
        settings["n_epochs"] = epochs
    begun = time.process_time()
    model = NeuralLanguageModel(architecture, **settings).fit(train)
    seconds = time.process_time() - begun
    size = sum(p.numel() for p in model.net_.parameters())
    name = f"{architecture}, {size / 1e6:.1f} M weights, {model.n_iter_} epochs"
    return (name, model.bits_per_byte(held), seconds), model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", nargs="*", default=list(SETTINGS))
    parser.add_argument("--epochs", type=int, default=None)
    given = parser.parse_args()
    train, held = topic_documents()
    characters = [sum(map(len, part)) for part in (train, held)]
    lines = [
        "# Language models of Python's documentation",
        "",
        f"{len(train)} documents of {characters[0]:,} characters, {len(held)} held out "
        f"of {characters[1]:,}; {platform.machine()}, one thread. Made by "
        "`python -m benchmarks.studies.language_models`.",
        "",
        "| model | bits per byte, held out | seconds of training |",
        "|---|---|---|",
    ]
    print("\n".join(lines), flush=True)

    def tell(name, bits, seconds):
        line = f"| {name} | **{bits:.4f}** | {seconds:.1f} |"
        print(line, flush=True)
        lines.append(line)

    for kind in (character_models, token_models):
        found = sorted(kind(train, held), key=lambda row: row[1])
        tell(f"best n-gram of {found[0][0]}", *found[0][1:])
    for architecture in given.only:
        row, model = neural_model(architecture, train, held, given.epochs)
        tell(*row)
        drawn = model.generate(
            "The `with` statement", max_tokens=60, temperature=0.7, random_state=0
        )
        print("The `with` statement" + drawn, flush=True)
    if given.epochs is None:
        out = Path(__file__).parent / "language_models.md"
        out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
