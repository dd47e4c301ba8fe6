"""Word vectors: skip-gram with negative sampling, and gensim's word2vec."""

import numpy as np

from .runner import THREADS, Case

WORDS_PER_TOPIC = 60
TOPICS = 50


def topical_sentences(size):
    """n words in sentences of 20, each about one of 50 topics with words of its own.

    A third of the words are common ones, with falling frequencies.
    """
    rng = np.random.default_rng(0)
    n = size // 20
    topic = rng.integers(0, TOPICS, n)
    p = 1 / np.arange(1, WORDS_PER_TOPIC + 1)
    own = rng.choice(WORDS_PER_TOPIC, (n, 20), p=p / p.sum())
    p = 1 / np.arange(1, 2001)
    common = rng.choice(2000, (n, 20), p=p / p.sum())
    is_common = rng.random((n, 20)) < 1 / 3
    return [
        [f"c{c}" if shared else f"t{t}w{w}" for w, c, shared in zip(*row)]
        for t, row in zip(topic, zip(own, common, is_common))
    ]


def vectors_ours(sentences, seed=0):
    from pansophy.text import SkipGram

    model = SkipGram(100, random_state=seed).fit(sentences)
    return model.words_.tolist(), model.vectors_


def vectors_gensim(sentences, workers=THREADS, seed=0):
    from gensim.models import Word2Vec

    model = Word2Vec(
        sentences, vector_size=100, window=5, negative=5, sg=1, min_count=5, epochs=5,
        sample=1e-3, workers=workers, seed=seed + 1,
    )  # fmt: skip
    return model.wv.index_to_key, model.wv.vectors


def vectors_gensim_one(sentences, seed=0):
    return vectors_gensim(sentences, workers=1, seed=seed)


def wrong_neighbours(sentences, found):
    """Share of the five nearest of each topic word that are not of its topic."""
    words, vectors = found
    kept = [i for i, word in enumerate(words) if word.startswith("t")]
    topics = np.array([words[i].split("w")[0] for i in kept])
    units = vectors[kept] / np.linalg.norm(vectors[kept], axis=1, keepdims=True)
    cosine = units @ units.T
    np.fill_diagonal(cosine, -1)
    near = np.argsort(-cosine, axis=1)[:, :5]
    return float(np.mean(topics[near] != topics[:, None]))


CASES = [
    Case(
        name="skip_gram",
        what="skip-gram, 5 negatives, 100 columns, 5 epochs over n words",
        sizes=[100_000, 300_000, 1_000_000],
        data=topical_sentences,
        ours=vectors_ours,
        peers={"gensim": vectors_gensim, "gensim, one worker": vectors_gensim_one},
        quality=wrong_neighbours,
        tolerance=0.02,
        target=1.0,
        rounds=3,
        notes="ours is one thread and gives the same vectors for the same seed",
    ),
]
