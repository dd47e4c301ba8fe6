"""Find an entry by its title: search by words, by first letters, by meaning, by all.

    python -m benchmarks.retrieval [FOLDOC]

FOLDOC is the folder of the Debian package dict-foldoc (foldoc.dict.dz, foldoc.index):
15,000 entries of a dictionary of computing, asked for by their titles. Without it the
entries are descriptions of functions of NumPy, SciPy and scikit-learn, asked for by
their first sentence. Titles are taken out of the entries. The figures of the last run
are in `benchmarks/retrieval.md`.
"""

import gzip
import importlib
import inspect
import string
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from pansophy.text import (
    BM25,
    LSA,
    evaluate_retrieval,
    reciprocal_rank_fusion,
    retrieval_difference,
    title_questions,
)
from pansophy.text.folder_index import FUSION_WEIGHTS
from pansophy.text.passage_index import cut_words

MODULES = (
    "numpy", "numpy.fft", "numpy.linalg", "numpy.ma", "numpy.polynomial",
    "numpy.random", "scipy.cluster.hierarchy", "scipy.fft", "scipy.integrate",
    "scipy.interpolate", "scipy.linalg", "scipy.ndimage", "scipy.optimize",
    "scipy.signal", "scipy.sparse", "scipy.sparse.linalg", "scipy.spatial",
    "scipy.special", "scipy.stats", "sklearn.cluster", "sklearn.datasets",
    "sklearn.decomposition", "sklearn.ensemble", "sklearn.feature_extraction.text",
    "sklearn.linear_model", "sklearn.metrics", "sklearn.model_selection",
    "sklearn.preprocessing", "sklearn.svm", "sklearn.utils",
)  # fmt: skip
DIGITS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/"


def described_functions():
    """(first sentence, rest) of the descriptions of public functions and classes."""
    found = {}
    for name in MODULES:
        for own, member in inspect.getmembers(importlib.import_module(name)):
            text = inspect.getdoc(member) if callable(member) else None
            if own.startswith("_") or not text:
                continue
            head, _, rest = text.partition("\n\n")
            if head.strip().endswith(")") and len(head.split()) < 12:  # a signature
                head, _, rest = rest.partition("\n\n")
            found.setdefault(" ".join(head.split()), rest)
    return list(found.items())


def dictionary_entries(folder):
    """(title, text) of the entries of a dictionary in the format of dictd."""
    data = gzip.decompress((Path(folder) / "foldoc.dict.dz").read_bytes())
    number = lambda word: sum(
        DIGITS.index(c) * 64**i for i, c in enumerate(reversed(word))
    )
    found = {}
    for line in (Path(folder) / "foldoc.index").read_text("utf-8").splitlines():
        title, start, size = line.split("\t")[:3]
        if not title.startswith("00database"):
            start = number(start)
            found[start] = data[start : start + number(size)].decode("utf-8", "replace")
    entries = []
    for text in found.values():
        title, _, body = text.partition("\n")
        entries.append((title.strip(), body))
    return entries


def main(folder=None):
    warnings.simplefilter("ignore")
    entries = described_functions() if folder is None else dictionary_entries(folder)
    made = title_questions(entries, min_words=20, max_questions=2000)
    print(f"{len(entries)} entries, {len(made.questions)} questions", flush=True)
    words = BM25().fit(made.documents)
    prefixes = BM25().fit(map(cut_words, made.documents))
    begun = time.process_time()
    model = LSA(200, random_state=0).fit(made.documents)
    vectors = model.transform(made.documents).astype(np.float32)
    print(f"vectors in {time.process_time() - begun:.1f} s of processor time")
    asked = model.transform(made.questions).astype(np.float32)
    asked = dict(zip(made.questions, asked))
    by_words = lambda q, k: words.search(q, k).documents[0]
    by_prefixes = lambda q, k: prefixes.search(cut_words(q), k).documents[0]

    def by_meaning(q, k):
        cosines = vectors @ asked[q]
        best = np.argpartition(-cosines, k)[:k]
        best = best[np.argsort(-cosines[best], kind="stable")]
        return best[cosines[best] > 0]

    searches = {"words": by_words, "prefixes": by_prefixes, "meaning": by_meaning}

    def hybrid(q, k):
        rankings = [search(q, 100).tolist() for search in searches.values()]
        weights = [FUSION_WEIGHTS[name] for name in searches]
        return reciprocal_rank_fusion(rankings, weights=weights).documents[:k]

    reports = {}
    for name, search in {**searches, "hybrid": hybrid}.items():
        reports[name] = evaluate_retrieval(search, made, 10)
        print(f"\n{name}\n{reports[name]}", flush=True)
    print("\nhybrid less words")
    for name, gain in retrieval_difference(reports["hybrid"], reports["words"]).items():
        print(f"{name.replace('_', ' '):<17}{gain}")


if __name__ == "__main__":
    main(*sys.argv[1:])
