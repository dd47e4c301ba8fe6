"""Find an entry by its title: search by words, by first letters, by meaning, by all.

    python -m benchmarks.studies.retrieval [--dictionaries FOLDER] [--wordnet FOLDER]

The dictionaries are those of the Debian packages dict-foldoc and dict-jargon, of
computing, in /usr/share/dictd; their entries are asked for by their titles. A third set
are descriptions of functions of NumPy, SciPy and scikit-learn, asked for by their first
sentence, a fourth one definitions of nouns of wordnet-base (/usr/share/wordnet), asked
for by the noun. Titles are taken out of the entries.

The weights of the rankings are chosen by nDCG on half of the questions of the two
dictionaries, and searches are judged on the other half, and on the other sets. Hybrid
search here uses the weights of the library; a line says which the training questions
would choose. Differences are those of the same questions, with intervals of the
bootstrap. The figures of the
last run are in `benchmarks/studies/retrieval.md`.
"""

import argparse
import gzip
import importlib
import inspect
import itertools
import string
import warnings
from pathlib import Path

import numpy as np

from pansophy.text import (
    BM25,
    LSA,
    SubwordLSA,
    evaluate_retrieval,
    retrieval_difference,
    title_questions,
)
from pansophy.text.search.folder_index import (
    FUSED,
    FUSION_WEIGHTS,
    PREFIX,
    fuse_rankings,
)
from pansophy.text.search.passage_index import best_documents, spaced_words
from pansophy.text.search.search_words import indexed_words

GRID = {
    "words": (0.25, 0.5, 1.0),
    "prefixes": (1.0,),
    "meaning": (0.2, 0.35, 0.5, 0.7, 1.0),
}
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


def dictionary_entries(folder, name):
    """(title, text) of the entries of a dictionary in the format of dictd."""
    data = gzip.decompress((Path(folder) / f"{name}.dict.dz").read_bytes())
    number = lambda word: sum(
        DIGITS.index(c) * 64**i for i, c in enumerate(reversed(word))
    )
    found = {}
    for line in (Path(folder) / f"{name}.index").read_text("utf-8").splitlines():
        title, start, size = line.split("\t")[:3]
        if not title.startswith(("00database", "00-database")):
            start = number(start)
            found[start] = data[start : start + number(size)].decode("utf-8", "replace")
    entries = []
    for text in found.values():
        title, _, body = text.partition("\n")
        entries.append((title.strip(), body))
    return entries


def ranking_pairs(made):
    """Rankings of every question by words, first letters, meaning and plain LSA."""
    split = [indexed_words(text) for text in made.documents]
    words = BM25().fit([spaced_words(found) for found in split])
    prefixes = BM25().fit([spaced_words(found, PREFIX) for found in split])
    cosines = {}
    for name, model in {
        "meaning": SubwordLSA(random_state=0),
        "lsa": LSA(128, random_state=0),
    }.items():
        Z = model.fit(made.documents).transform(made.documents).astype(np.float32)
        cosines[name] = model.transform(made.questions).astype(np.float32), Z
    found = {}
    for i, question in enumerate(made.questions):
        asked_words = indexed_words(question)
        by_prefix = spaced_words(asked_words, PREFIX)
        pairs = {
            "words": best_documents(words, spaced_words(asked_words), FUSED),
            "prefixes": best_documents(prefixes, by_prefix, FUSED),
        }
        for name, (asked, Z) in cosines.items():
            all_cosines = Z @ asked[i]
            nearest = np.argsort(-all_cosines, kind="stable")[:FUSED]
            both = np.unique(
                np.concatenate([nearest, pairs["words"][0], pairs["prefixes"][0]])
            )
            pairs[name] = both, all_cosines[both]
        found[question] = pairs
    return found


def searches(pairs):
    """Functions of a question that rank documents, by name."""

    def fused(*names, weights=FUSION_WEIGHTS):
        def search(question, k):
            kept = {name: pairs[question][name] for name in names}
            return fuse_rankings(kept, weights).documents[:k]

        return search

    both = ("words", "prefixes")
    return fused, {
        "words (BM25)": fused("words"),
        "first five letters of words": fused("prefixes"),
        "LSA over words, 128 directions": fused("lsa", weights={"lsa": 1.0}),
        "meaning (LSA over parts of words)": fused("meaning"),
        "words and first letters": fused(*both),
        "hybrid": fused(*both, "meaning"),
    }


def weighted_ndcg(pairs, made) -> dict:
    """nDCG of hybrid search for all weights of GRID."""
    fused, _ = searches(pairs)
    tried = {}
    for values in itertools.product(*GRID.values()):
        search = fused(*GRID, weights=dict(zip(GRID, values)))
        report = evaluate_retrieval(search, made, 10, n_resamples=1)
        tried[values] = report.ndcg.mean
    return tried


def half_of_questions(made, part, seed=0):
    """Every second of the shuffled questions."""
    order = np.random.default_rng(seed).permutation(len(made.questions))[part::2]
    return made._replace(
        questions=[made.questions[i] for i in order],
        relevant=[made.relevant[i] for i in order],
    )


def judged(name, pairs, made):
    """Lines of a table of all searches on a set, and differences."""
    reports = {
        label: evaluate_retrieval(search, made, 10)
        for label, search in searches(pairs)[1].items()
    }
    lines = [
        f"{name}: {len(made.documents):,} entries, {len(made.questions):,} questions",
        "",
        "| search | nDCG | reciprocal rank | recall |",
        "|---|---|---|---|",
    ]
    for label, report in reports.items():
        cells = (report.ndcg, report.reciprocal_rank, report.recall)
        lines.append(f"| {label} | {' | '.join(map(str, cells))} |")
    for other in ("words (BM25)", "words and first letters"):
        gains = retrieval_difference(reports["hybrid"], reports[other])
        cells = " | ".join(f"**{gain}**" for gain in gains.values())
        lines.append(f"| hybrid less {other} | {cells} |")
    return [*lines, ""]


def noun_definitions(folder, n=15_000):
    """(noun, definition) of some nouns of WordNet."""
    entries = []
    for line in (Path(folder) / "data.noun").read_text("utf-8").splitlines():
        if not line.startswith("  "):
            head, _, definition = line.partition("|")
            entries.append((head.split()[4].replace("_", " "), definition.strip()))
    chosen = np.random.default_rng(0).permutation(len(entries))[:n]
    return [entries[i] for i in np.sort(chosen)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dictionaries")
    parser.add_argument("--wordnet")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    options = {"min_words": 20, "max_questions": 2000}
    if given.dictionaries is not None:
        judge_dictionaries(given.dictionaries, options)
    sets = {"functions": title_questions(described_functions(), **options)}
    if given.wordnet is not None:
        options["min_words"] = 8
        sets["nouns"] = title_questions(noun_definitions(given.wordnet), **options)
    for name, made in sets.items():
        print("\n".join(judged(name, ranking_pairs(made), made)), flush=True)


def judge_dictionaries(folder, options):
    """Tables of held-out questions, and what training questions say of weights."""
    trained = []
    for name in ("foldoc", "jargon"):
        made = title_questions(dictionary_entries(folder, name), **options)
        pairs = ranking_pairs(made)
        trained.append(weighted_ndcg(pairs, half_of_questions(made, 0)))
        lines = judged(name, pairs, half_of_questions(made, 1))
        print("\n".join(lines), flush=True)
    means = {key: np.mean([t[key] for t in trained]) for key in trained[0]}
    best = max(means, key=means.__getitem__)
    print("weights of", *GRID, "and nDCG on training questions:")
    for key, value in means.items():
        print(*key, [round(t[key], 4) for t in trained], round(value, 4))
    print("best:", best, "\n", flush=True)


if __name__ == "__main__":
    main()
