"""Unigram tokeniser: all segmentations by hand, EM, sampling, files, round trips."""

import json
import pydoc_data.topics
import time

import numpy as np
import pytest

import pansophy
from pansophy.text import Unigram, split_text
from pansophy.text.tokenizers import _unigram as loops
from pansophy.text.tokenizers.abstract_byte_tokenizer import BYTES_BY_ID
from pansophy.text.tokenizers.unigram import (
    WeightedPieces,
    fit_scores,
    frequent_substrings,
    token_lattice,
    token_removal_losses,
)
from tests.oracles.unigram import (
    all_segmentations,
    best_segmentation,
    expected_counts,
    log_likelihood,
)

TEXTS = list(pydoc_data.topics.topics.values())[:15]


@pytest.fixture(scope="module")
def model():
    return Unigram(500, special_tokens=("<end>",)).fit(TEXTS)


def weighted(pieces, counts=None):
    data = np.frombuffer(b"".join(pieces), np.uint8)
    bounds = np.concatenate([[0], np.cumsum([len(p) for p in pieces])])
    counts = np.ones(len(pieces), np.int64) if counts is None else np.array(counts)
    return WeightedPieces(data, bounds, counts)


def toy_vocabulary(rng):
    tokens = [b"a", b"b", b"c", b"ab", b"bc", b"abc", b"ca", b"bb"]
    p = rng.dirichlet(np.ones(len(tokens)))
    return tokens, np.log(p)


def test_segmentations_of_the_oracle(rng):
    for _ in range(20):
        tokens, scores = toy_vocabulary(rng)
        table = dict(zip(tokens, scores))
        piece = bytes(rng.choice(list(b"abc"), 9).tolist())
        lattice = token_lattice(tokens, scores)
        data, bounds, counts = weighted([piece])
        out = np.empty(len(piece), np.int32)
        n = loops.best_segmentations(*lattice, data, bounds, out, np.empty(1, np.int64))
        found = [tokens[i] for i in out[:n]]
        best = best_segmentation(piece, table)
        assert sum(table[t] for t in found) == pytest.approx(
            sum(table[t] for t in best)
        )
        assert b"".join(found) == piece
        c = np.zeros(len(tokens))
        value = loops.expected_token_counts(
            lattice.trie, scores, data, bounds, counts, c
        )
        assert value == pytest.approx(log_likelihood(piece, table))
        expected = expected_counts(piece, table)
        np.testing.assert_allclose(c, [expected.get(t, 0.0) for t in tokens])
        assert c @ [len(t) for t in tokens] == pytest.approx(len(piece))


def test_likelihood_rises_and_repeated_pieces_are_weights(rng):
    pieces = [
        bytes(rng.choice(list(b"abc"), rng.integers(1, 9)).tolist()) for _ in range(40)
    ]
    tokens, scores = toy_vocabulary(rng)

    def likelihood(scores):
        lattice = token_lattice(tokens, scores)
        c = np.zeros(len(tokens))
        return loops.expected_token_counts(
            lattice.trie, lattice.scores, *weighted(pieces), c
        )

    values = []
    for _ in range(6):
        values.append(likelihood(scores))
        scores = fit_scores(tokens, scores, weighted(pieces), 1)
    assert (np.diff(values) > -1e-9).all()
    twice = fit_scores(tokens, scores, weighted(pieces, [2] * len(pieces)), 3)
    again = fit_scores(tokens, scores, weighted(pieces + pieces), 3)
    np.testing.assert_allclose(twice, again, rtol=1e-12)


def test_substrings_are_counted(rng):
    pieces = [bytes(rng.choice(list(b"ab"), 6).tolist()) for _ in range(10)]
    counts = rng.integers(1, 4, len(pieces))
    slow = {}
    for piece, n in zip(pieces, counts):
        for i in range(len(piece)):
            for j in range(i + 2, min(i + 4, len(piece)) + 1):
                slow[piece[i:j]] = slow.get(piece[i:j], 0) + n
    found = frequent_substrings(weighted(pieces, counts), 4, 10**6)
    expected = {s for s, n in slow.items() if n > 1}
    assert set(found) == expected
    weights = [slow[s] * len(s) for s in found]
    assert weights == sorted(weights, reverse=True)


def test_losses_of_removal():
    tokens = [b"a", b"b", b"ab", b"ba"]
    scores = np.log([0.2, 0.2, 0.5, 0.1])
    losses = token_removal_losses(tokens, scores, weighted([b"ab", b"abab"], [3, 2]))
    assert losses[:2].tolist() == [np.inf, np.inf]
    # "ab" is used 3 + 2 * 2 times; without it a and b take its place
    assert losses[2] == pytest.approx(7 * (np.log(0.5) - np.log(0.04)))
    assert losses[3] == 0.0


def test_round_trips_and_offsets(model):
    assert len(model.tokens_) == 500
    assert set(model.tokens_[:499]) >= {bytes([b]) for b in BYTES_BY_ID}
    everything = "".join(map(chr, [*range(1, 0x3000, 7), *range(0x1F300, 0x1F700, 11)]))
    for text in ["", " ", "\x00\x01", "日本語 naïve \r\n\t", everything, *TEXTS[:5]]:
        for found in (
            model.encode_with_offsets(text),
            model.sample(text, random_state=0),
        ):
            assert model.decode(found.ids) == text
            data = text.encode()
            parts = [data[i:j] for i, j in zip(found.offsets, found.offsets[1:])]
            assert parts == [model.tokens_[i] for i in found.ids]
    assert sorted(model.decode_bytes(range(256))) == list(range(256))


def test_tokens_are_fewer_than_bytes_and_pieces_are_kept(model):
    text = TEXTS[3]
    ids = model.encode(text)
    assert len(ids) < 0.6 * len(text.encode())
    ends = set(model.encode_with_offsets(text).offsets.tolist())
    assert set(split_text(text).ends.tolist()) <= ends
    larger = Unigram(900).fit(TEXTS)
    assert len(larger.encode(text)) < len(ids)


def test_sampled_segmentations_have_their_probabilities():
    model = Unigram(262).fit(["abab abcab cabab"] * 5)
    table = dict(zip(model.tokens_, model.scores_))
    for alpha in (1.0, 0.3):
        ways = list(all_segmentations(b"abab", table))
        weights = np.array([np.exp(alpha * sum(table[t] for t in x)) for x in ways])
        rng = np.random.default_rng(0)
        draws = [
            tuple(
                model.tokens_[i]
                for i in model.sample("abab", alpha=alpha, random_state=rng).ids
            )
            for _ in range(1500)
        ]
        shares = np.array([draws.count(tuple(x)) for x in ways]) / len(draws)
        p = weights / weights.sum()
        assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 1500) + 1e-3).all()
    assert model.log_prob("abab") == pytest.approx(log_likelihood(b"abab", table))
    a = model.sample("abab abab", random_state=3).ids
    np.testing.assert_array_equal(a, model.sample("abab abab", random_state=3).ids)
    with pytest.raises(ValueError, match="alpha must be"):
        model.sample("a", alpha=2)


def test_time_is_linear_in_the_length_of_a_run(model):
    model.encode("a" * 100)
    begun = time.process_time()
    ids = model.encode("a" * 1_000_000)
    assert time.process_time() - begun < 5
    assert len(model.decode(ids)) == 1_000_000


def test_special_tokens(model):
    (special,) = model.encode("<end>", allowed_special="all")
    assert special == len(model.tokens_) - 1
    assert special not in model.encode("a<end>b")
    mixed = model.encode("a<end>b", allowed_special=("<end>",))
    assert special in mixed
    assert model.decode(mixed) == "a<end>b"


def test_files(model, tmp_path):
    model.to_json(tmp_path / "tokenizer.json")
    again = Unigram.from_json(tmp_path / "tokenizer.json")
    pansophy.save(model, tmp_path / "model.pansophy")
    loaded = pansophy.load(tmp_path / "model.pansophy")
    for text in [*TEXTS[:3], "日本 ñ  x"]:
        np.testing.assert_array_equal(again.encode(text), model.encode(text))
        np.testing.assert_array_equal(loaded.encode(text), model.encode(text))
    path = tmp_path / "other.json"
    path.write_text(json.dumps({"model": {"type": "BPE"}}))
    with pytest.raises(ValueError, match="not a byte-level Unigram"):
        Unigram.from_json(path)
    content = json.loads((tmp_path / "tokenizer.json").read_text("utf-8"))
    content["model"]["vocab"][300][0] = "▁the"
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="stands for no byte"):
        Unigram.from_json(path)
    with pytest.raises(ValueError, match="at least 256"):
        Unigram(100).fit(["a"])


def test_equal_to_tokenizers(model, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    model.to_json(tmp_path / "ours.json")
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "ours.json"))
    texts = [*TEXTS, "unseen Wörter 日本 \n\n 12345", "a" * 500, "\x00\x7f é"]
    for text in texts:
        assert model.encode(text).tolist() == theirs.encode(text).ids
        assert theirs.decode(model.encode(text).tolist()) == text
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    peer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    peer.pre_tokenizer = byte_level(add_prefix_space=False)
    peer.train_from_iterator(
        TEXTS,
        tokenizers.trainers.UnigramTrainer(
            vocab_size=499, initial_alphabet=byte_level.alphabet(), show_progress=False
        ),
    )
    peer.save(str(tmp_path / "peer.json"))
    read = Unigram.from_json(tmp_path / "peer.json")
    for text in texts:
        assert read.encode(text).tolist() == peer.encode(text).ids
    # trained alike, ours needs about as many tokens
    ours = sum(len(model.encode(text)) for text in TEXTS)
    assert ours < 1.03 * sum(len(peer.encode(text).ids) for text in TEXTS)
