"""Text: counts, search, tokens, distances, n-grams and topics, and their peers."""

import pydoc_data.topics

import numpy as np

from .runner import Case

TOPICS = list(pydoc_data.topics.topics.values())


def paragraphs(size):
    """So many paragraphs of Python's documentation, the later ones shuffled words."""
    parts = [part for text in TOPICS for part in text.split("\n\n")]
    rng = np.random.default_rng(0)
    words = np.array(" ".join(parts).split())
    made = [
        " ".join(rng.choice(words, n))
        for n in rng.integers(10, 120, max(0, size - len(parts)))
    ]
    return (parts + made)[:size]


def tfidf_ours(documents):
    from pansophy.text import TfidfVectorizer

    return TfidfVectorizer().fit_transform(documents)


def tfidf_sklearn(documents):
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer().fit_transform(documents)


def tfidf_error(documents, X):
    """Greatest distance to the matrix of scikit-learn, whose columns are the same."""
    return float(abs(X - tfidf_sklearn(documents)).max())


def zipf_corpus(size):
    """Documents of words with falling frequencies, and queries of three of them."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(50_000)])
    p = 1 / np.arange(1, len(words) + 1) ** 1.05
    lengths = rng.integers(30, 170, size)
    tokens = words[rng.choice(len(words), lengths.sum(), p=p / p.sum())]
    ends = np.cumsum(lengths)
    documents = [" ".join(tokens[j - n : j]) for j, n in zip(ends, lengths)]
    queries = [" ".join(words[rng.choice(np.arange(20, 5000), 3)]) for _ in range(2000)]
    return documents, queries


def index_ours(payload):
    from pansophy.text import BM25

    return BM25(method="lucene").fit(payload[0])


def index_bm25s(payload):
    import bm25s

    model = bm25s.BM25(method="lucene", backend="numba")
    tokens = bm25s.tokenize(payload[0], stopwords=None, show_progress=False)
    model.index(tokens, show_progress=False)
    return model


def lost_score(payload, model):
    """Minus the score that the index finds for 200 queries."""
    search = search_ours if hasattr(model, "search") else search_bm25s
    given = (payload[0], payload[1][:200])
    return total_score(None, search((given, model, model)))


def indexed_corpus(size):
    payload = zipf_corpus(size)
    return payload, index_ours(payload), index_bm25s(payload)


def search_ours(payload):
    (_, queries), model, _ = payload
    return model.search(queries, 10).scores


def search_bm25s(payload):
    import bm25s

    (_, queries), _, model = payload
    tokens = bm25s.tokenize(queries, stopwords=None, show_progress=False)
    found = model.retrieve(
        tokens, k=10, show_progress=False, n_threads=2, backend_selection="numba"
    )
    return found.scores


def total_score(payload, scores):
    return -float(np.nansum(scores))


def texts_of(size):
    """Python's documentation, repeated to a number of characters."""
    text = "\n".join(TOPICS)
    return [text] * max(1, size // len(text))


def train_ours(texts):
    from pansophy.text import BPE

    return len(BPE(8000).fit(texts).merges_)


def train_tokenizers(texts):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    peer = Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    peer.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=8000, initial_alphabet=alphabet, show_progress=False
        ),
    )
    return peer.get_vocab_size() - 256


def number_of_merges(payload, merges):
    return -merges


def trained(size):
    import tiktoken

    from pansophy.text import BPE

    model = BPE(8000).fit(TOPICS)
    ranks = {token: i for i, token in enumerate(model.tokens_)}
    pattern = (
        r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++"""
        r"""|\s++$|\s+(?!\S)|\s"""
    )
    peer = tiktoken.Encoding(
        "ours", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
    )
    return "\n".join(texts_of(size)), model, peer


def encode_ours(payload):
    text, model, _ = payload
    return model.encode(text)


def encode_tiktoken(payload):
    text, _, peer = payload
    return peer.encode_ordinary(text)


def number_of_tokens(payload, ids):
    return len(ids)


def names(size):
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    return ["".join(rng.choice(letters, n)) for n in rng.integers(4, 15, size)]


def distances_ours(words):
    from pansophy.text import edit_distances

    return edit_distances(words)


def distances_rapidfuzz(words):
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    return cdist(words, words, scorer=Levenshtein.distance, workers=2, dtype=np.int32)


def distance_error(words, D):
    """Greatest error in the first 30 rows and columns, against the definition."""
    some = words[:30]
    exact = [[slow_distance(a, b) for b in some] for a in some]
    return float(np.abs(np.asarray(D)[:30, :30] - np.array(exact)).max())


def slow_distance(a, b):
    """Levenshtein's distance by its recurrence."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row = row, [i]
        for j, y in enumerate(b, 1):
            row.append(min(before[j] + 1, row[-1] + 1, before[j - 1] + (x != y)))
    return row[-1]


def sentences(size):
    words = " ".join(TOPICS).split()
    return [words[i : i + 20] for i in range(0, min(size, len(words)), 20)]


def ngrams_ours(texts):
    from pansophy.text import NGramModel

    return len(NGramModel(3, smoothing="kneser_ney").fit(texts).vocabulary_)


def ngrams_nltk(texts):
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    train, words = padded_everygram_pipeline(3, texts)
    model = KneserNeyInterpolated(3)
    model.fit(train, words)
    return len(model.vocab)


def size_of_vocabulary(texts, n):
    """The same words; perplexities by nltk take minutes."""
    return -min(n, len({word for text in texts for word in text}))


def disk_index_ours(payload):
    import tempfile

    from pansophy.text import BM25Index

    folder = tempfile.mkdtemp()
    index = BM25Index.create(f"{folder}/index", method="lucene", positions=False)
    index.add(payload[0])
    return folder


def disk_index_bm25s(payload):
    import tempfile

    model = index_bm25s(payload)
    folder = tempfile.mkdtemp()
    model.save(f"{folder}/index")
    return folder


def lost_score_on_disk(payload, folder):
    """Minus the score that the index on disk finds; the folder is removed."""
    import os
    import shutil

    index = f"{folder}/index"
    is_peer = os.path.exists(f"{index}/params.index.json")
    search = disk_search_bm25s if is_peer else disk_search_ours
    score = total_score(None, search((payload[1][:200], index, index)))
    shutil.rmtree(folder)
    return score


def disk_corpus(size):
    payload = zipf_corpus(size)
    ours = f"{disk_index_ours(payload)}/index"
    return payload[1][:200], ours, f"{disk_index_bm25s(payload)}/index"


def disk_search_ours(payload):
    from pansophy.text import BM25Index

    queries, folder, _ = payload
    return BM25Index(folder).search(queries, 10).scores


def disk_search_bm25s(payload):
    import bm25s

    queries, _, folder = payload
    model = bm25s.BM25.load(folder, mmap=True)
    tokens = bm25s.tokenize(queries, stopwords=None, show_progress=False)
    return model.retrieve(tokens, k=10, show_progress=False, n_threads=2).scores


def unigram_ours(texts):
    from pansophy.text import Unigram

    model = Unigram(4000).fit(texts)
    return sum(len(model.encode(text)) for text in TOPICS)


def unigram_tokenizers(texts):
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    peer = Tokenizer(models.Unigram())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.UnigramTrainer(
        vocab_size=4000, initial_alphabet=alphabet, show_progress=False
    )
    peer.train_from_iterator(texts, trainer)
    return sum(len(peer.encode(text).ids) for text in TOPICS)


def tokens_of_topics(texts, n):
    """The fewer tokens for the same vocabulary the better."""
    return n / 1e5


def topic_corpus(size):
    """Documents of 100 words from topics, for training, and 200 others."""
    from scipy import sparse

    from pansophy.text import sample_topic_corpus

    documents, topics = size
    rng = np.random.default_rng(0)
    phi = rng.dirichlet(np.full(2000, 0.05), size=topics)
    lengths = rng.integers(50, 150, documents + 200)
    X, _ = sample_topic_corpus(phi, lengths, alpha=0.1, random_state=1)
    X = sparse.csr_matrix(X)
    train = X[:documents]
    words = [
        [str(w) for w, c in zip(row.indices, row.data) for _ in range(int(c))]
        for row in train
    ]
    return train, X[documents:], words, topics


def gibbs_ours(payload, seed=0):
    from pansophy.text import GibbsLDA

    train, _, _, topics = payload
    model = GibbsLDA(
        topics, doc_topic_prior=0.1, topic_word_prior=0.01, max_iter=150, n_samples=1,
        random_state=seed,
    )  # fmt: skip
    return model.fit(train).components_


def gibbs_tomotopy(payload, seed=0):
    import tomotopy

    train, _, words, topics = payload
    model = tomotopy.LDAModel(k=topics, alpha=0.1, eta=0.01, seed=seed)
    for text in words:
        model.add_doc(text)
    model.optim_interval = 0
    model.train(150, workers=1)
    out = np.full((topics, train.shape[1]), 1e-12)
    known = [int(word) for word in model.used_vocabs]
    for k in range(topics):
        out[k, known] = model.get_topic_word_dist(k)
    return out


def held_out_perplexity(payload, components):
    """log of the perplexity of documents that were not learned from."""
    from pansophy.text import GibbsLDA

    _, test, _, topics = payload
    model = GibbsLDA(topics, max_iter=1).fit(test)
    model.components_ = np.asarray(components)
    model.doc_topic_prior_ = 0.1
    return float(np.log(model.perplexity(test)))


def variational(package):
    def fit(payload, seed=0):
        import importlib

        module = importlib.import_module(f"{package}.decomposition")
        model = module.LatentDirichletAllocation(
            payload[3], learning_method="online", max_iter=3, random_state=seed
        )
        return model.fit(payload[0]).components_

    return fit


CASES = [
    Case(
        name="text_tfidf",
        what="TF-IDF of words of n documents",
        sizes=[2_500, 10_000, 40_000],
        data=paragraphs,
        ours=tfidf_ours,
        peers={"sklearn": tfidf_sklearn},
        quality=tfidf_error,
        tolerance=1e-9,
        target=3.0,
        rounds=5,
    ),
    Case(
        name="bm25_index",
        what="index n documents of 100 words",
        sizes=[7_500, 15_000, 30_000],
        data=zipf_corpus,
        ours=index_ours,
        peers={"bm25s numba": index_bm25s},
        quality=lost_score,
        tolerance=1e-2,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="bm25_search",
        what="2,000 queries of three words, ten best of n documents",
        sizes=[7_500, 15_000, 30_000],
        data=indexed_corpus,
        ours=search_ours,
        peers={"bm25s numba": search_bm25s},
        quality=total_score,
        tolerance=1e-2,
        target=1.0,
        rounds=5,
    ),
    Case(
        name="bpe_train",
        what="8,000 byte-level tokens from n characters",
        sizes=[500_000, 2_000_000, 5_000_000],
        data=texts_of,
        ours=train_ours,
        peers={"tokenizers": train_tokenizers},
        quality=number_of_merges,
        tolerance=0,
        target=1.0,
        rounds=5,
    ),
    Case(
        name="bpe_encode",
        what="n characters to tokens of a vocabulary of 8,000",
        sizes=[500_000, 2_000_000, 5_000_000],
        data=trained,
        ours=encode_ours,
        peers={"tiktoken": encode_tiktoken},
        quality=number_of_tokens,
        tolerance=0,
        target=1.0,
        rounds=5,
    ),
    Case(
        name="edit_distances",
        what="Levenshtein distances of all pairs of n words",
        sizes=[750, 1_500, 3_000],
        data=names,
        ours=distances_ours,
        peers={"rapidfuzz": distances_rapidfuzz},
        quality=distance_error,
        tolerance=0,
        target=1.0,
        rounds=5,
    ),
    Case(
        name="ngrams",
        what="Kneser-Ney trigrams of n words",
        sizes=[5_000, 15_000, 45_000],
        data=sentences,
        ours=ngrams_ours,
        peers={"nltk": ngrams_nltk},
        quality=size_of_vocabulary,
        tolerance=0,
        target=20.0,
        rounds=3,
    ),
    Case(
        name="bm25_disk_index",
        what="index n documents of 100 words on disk",
        sizes=[7_500, 15_000, 30_000],
        data=zipf_corpus,
        ours=disk_index_ours,
        peers={"bm25s, saved": disk_index_bm25s},
        quality=lost_score_on_disk,
        tolerance=1e-2,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="bm25_disk_search",
        what="open an index on disk, 200 queries of three words, best of n documents",
        sizes=[7_500, 15_000, 30_000],
        data=disk_corpus,
        ours=disk_search_ours,
        peers={"bm25s, mapped": disk_search_bm25s},
        quality=total_score,
        tolerance=1e-2,
        target=1.0,
        rounds=5,
    ),
    Case(
        name="unigram_train",
        what="4,000 byte-level unigram tokens from n characters",
        sizes=[500_000, 1_000_000, 2_000_000],
        data=texts_of,
        ours=unigram_ours,
        peers={"tokenizers": unigram_tokenizers},
        quality=tokens_of_topics,
        tolerance=0.03,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="lda_gibbs",
        what="topics by 150 Gibbs sweeps; (documents, topics)",
        sizes=[(500, 20), (1_000, 20), (1_000, 100)],
        data=topic_corpus,
        ours=gibbs_ours,
        peers={"tomotopy": gibbs_tomotopy},
        quality=held_out_perplexity,
        tolerance=0.03,
        target=1.0,
        rounds=3,
        notes="one thread each",
    ),
    Case(
        name="lda_variational",
        what="topics by online variational Bayes, three passes; (documents, topics)",
        sizes=[(250, 10), (500, 20), (1_000, 20)],
        data=topic_corpus,
        ours=variational("pansophy"),
        peers={"sklearn": variational("sklearn")},
        quality=held_out_perplexity,
        tolerance=1e-3,
        target=3.0,
        rounds=3,
    ),
]
