"""Search in Python's own documentation: by words, by meaning, and by both.

BM25 finds the paragraphs that share words with a question, latent semantic analysis
those that are about the same things, and reciprocal rank fusion joins both rankings.
Every paragraph is asked for by its own first sentence with a third of its words left
out; a search is good if that paragraph comes first.
"""

import pydoc_data.topics

import numpy as np

from pansophy.recommend import reciprocal_rank_at_k
from pansophy.text import BM25, LSA, reciprocal_rank_fusion

rng = np.random.default_rng(0)
paragraphs = [
    part
    for text in list(pydoc_data.topics.topics.values())[:40]
    for part in text.split("\n\n")
    if len(part.split()) > 30
]
paragraphs = list(dict.fromkeys(paragraphs))  # some topics repeat each other
asked = rng.choice(len(paragraphs), 60, replace=False)
questions = []
for i in asked:
    words = paragraphs[i].split(".")[0].split()
    questions.append(" ".join(w for w in words if rng.random() > 1 / 3) or words[0])

words = BM25(positions=True).fit(paragraphs)
meaning = LSA(80, random_state=0).fit(paragraphs)

by_words = words.search(questions, k=10).documents
cosines = meaning.transform(questions) @ meaning.transform(paragraphs).T
by_meaning = np.argsort(-cosines, axis=1, kind="stable")[:, :10]
fused = [
    reciprocal_rank_fusion(both).documents[:10] for both in zip(by_words, by_meaning)
]

relevant = [{int(i)} for i in asked]
print(f"{len(paragraphs)} paragraphs, mean reciprocal rank of the right one:")
for name, found in (("words", by_words), ("meaning", by_meaning), ("both", fused)):
    ranked = [[int(d) for d in row if d >= 0] for row in found]
    print(f"  {name:8s} {reciprocal_rank_at_k(relevant, ranked, 10):.2f}")

best = words.search('"exception handler"', k=1)
print("\nthe phrase 'exception handler':")
print(paragraphs[best.documents[0, 0]][:200].strip(), "...")
