"""Unigram tokeniser: tokens with probabilities, and the likeliest segmentation.

A piece of text s is one of its segmentations into tokens x of a vocabulary,

    p(x) = prod_i p(x_i),   p(s) = sum over segmentations x of s of p(x)           (1)

Training maximises sum_s n_s log p(s) over pieces s that occur n_s times. It begins with
the runs of bytes that are frequent and long, and repeats: EM for p,

    E   c_t = expected uses of token t,     M   p_t = c_t / sum c                  (2)

by forward and backward sums over the lattice of tokens; then the tokens are left out
whose loss is least,

    L_t = m_t (log p_t - log p(best segmentation of t by other tokens))            (3)

with m_t uses in the best segmentations, a quarter of them a round, until the vocabulary
has its size. Single bytes always stay, so that every text has tokens.

`encode` gives the most probable segmentation of every piece (the Viterbi algorithm on
the lattice, whose arcs are longer than one step), `sample` draws one with probability
proportional to p(x)^alpha, which makes models of the tokens more robust.

Tokens are bytes and pieces as in `text.tokenizers.bpe`, so that (1) of
`text.tokenizers.abstract_byte_tokenizer` holds.

Cost      training O(distinct pieces * length * longest token) an iteration; encoding
          O(length * longest token) of new pieces
Refs      [Kudo2018]
"""

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core.drivers.em import em
from ...core.random import make_rng
from ...params import Count, Fraction, ParameterError
from ...persist.saved_state import AnyValue, Each, FloatArray, Whole, saved_state
from . import _unigram as loops
from ._unigram import Substrings, TokenTrie
from .abstract_byte_tokenizer import (
    BYTES_BY_ID,
    AbstractByteTokenizer,
    Encoding,
    PieceEncoder,
    PieceTokens,
    byte_characters,
    bytes_of_characters,
    read_byte_level_file,
    tokens_are_sound,
    write_byte_level_file,
    wrong_content_as_one_sentence,
)

CANDIDATES = 20  # tokens to begin with, for each of the vocabulary
KEPT = 0.75  # of the tokens, in a round of pruning
ITERATIONS = 2  # of EM in a round
LEAST_COUNT = 1e-3  # expected uses of a token that is not used


class TokenLattice(NamedTuple):
    """Tokens as a trie, their log probabilities and numbers of bytes."""

    trie: TokenTrie
    scores: np.ndarray  # (tokens,)
    sizes: np.ndarray  # (tokens,) int64


def _join_tokens(tokens):
    """Bytes of tokens, one after the other, and their bounds."""
    data = np.frombuffer(b"".join(tokens), np.uint8)
    return data, np.concatenate([[0], np.cumsum([len(t) for t in tokens])])


def token_lattice(tokens, scores) -> TokenLattice:
    """Lattice of a vocabulary, as segmentation needs it."""
    data, bounds = _join_tokens(tokens)
    places = 1 << max(4, (2 * len(data)).bit_length())
    trie = TokenTrie(
        np.zeros(places, np.uint64),
        np.zeros(places, np.int32),
        np.full(len(data) + 1, -1, np.int32),
    )
    loops.fill_trie(data, bounds, trie)
    return TokenLattice(trie, np.asarray(scores, dtype=float), np.diff(bounds))


class WeightedPieces(NamedTuple):
    """Distinct pieces data[bounds[i]:bounds[i + 1]] and how often they occur."""

    data: np.ndarray  # uint8
    bounds: np.ndarray
    counts: np.ndarray


def frequent_substrings(pieces: WeightedPieces, longest, n) -> list[bytes]:
    """The n runs of bytes with the largest count * length that occur twice or more."""
    sizes = np.diff(pieces.bounds)
    room = int((sizes * np.minimum(sizes, longest)).sum()) + 1
    runs = Substrings(*(np.empty(room, np.int64) for _ in range(3)))
    hashes = np.empty(room, np.uint64)
    result = loops.count_substrings(*pieces, longest, runs, hashes)
    starts, lengths, counts = (a[:result] for a in runs)
    weight = np.where(counts > 1, counts * lengths, 0)
    order = np.lexsort((starts, -weight))[:n]  # ties by first appearance
    data = pieces.data.tobytes()
    return [data[starts[i] : starts[i] + lengths[i]] for i in order if weight[i]]


def _log_shares(counts):
    """Eq. (2), M: log p of expected uses."""
    c = np.maximum(counts, LEAST_COUNT)
    return np.log(c) - np.log(c.sum())


def fit_scores(tokens, scores, pieces: WeightedPieces, max_iter):
    """EM, eq. (2), for a fixed vocabulary: log p of each token."""
    lattice = token_lattice(tokens, scores)

    def expect(log_p):
        c = np.zeros(len(tokens))
        value = loops.expected_token_counts(lattice.trie, log_p, *pieces, c)
        return c, value

    n = float(max(1, pieces.counts.sum()))
    result = em(expect, _log_shares, lattice.scores, n=n, max_iter=max_iter, tol=0.0)
    return result.state.params


def token_removal_losses(tokens, scores, pieces: WeightedPieces):
    """L of eq. (3); infinite for single bytes."""
    lattice = token_lattice(tokens, scores)
    uses = np.zeros(len(tokens), np.int64)
    loops.best_token_counts(*lattice, *pieces, uses)
    scores_without = np.empty(len(tokens))
    loops.scores_without(
        lattice.trie, lattice.scores, *_join_tokens(tokens), scores_without
    )
    longer = lattice.sizes > 1  # bytes have no other segmentation
    losses = np.full(len(tokens), np.inf)
    gains = np.maximum(lattice.scores[longer] - scores_without[longer], 0.0)
    losses[longer] = uses[longer] * gains
    return losses


def learn_tokens(pieces: WeightedPieces, n_tokens, longest):
    """Tokens and their log probabilities by EM and pruning, eqs. (2) and (3)."""
    tokens = [bytes([b]) for b in BYTES_BY_ID]
    tokens += frequent_substrings(pieces, longest, CANDIDATES * n_tokens)
    scores = np.full(len(tokens), -np.log(len(tokens)))
    while True:
        scores = fit_scores(tokens, scores, pieces, ITERATIONS)
        if len(tokens) <= n_tokens:
            return tokens, scores
        losses = token_removal_losses(tokens, scores, pieces)
        n = max(n_tokens, int(KEPT * len(tokens)))
        kept = np.sort(np.argsort(-losses, kind="stable")[:n])
        tokens = [tokens[i] for i in kept]
        scores = scores[kept]


def _segment_pieces(data, bounds, *, lattice: TokenLattice) -> PieceTokens:
    """The most probable segmentation of pieces of bytes."""
    out = np.empty(len(data), np.int32)
    ends = np.empty(len(bounds) - 1, np.int64)
    n = loops.best_segmentations(
        *lattice, data.astype(np.uint8), bounds.astype(np.int64), out, ends
    )
    return PieceTokens(out[:n], ends)


def _scores_are_sound(model) -> bool:
    """Whether tokens are distinct bytes, and ordinary ones have a score each."""
    if not hasattr(model, "tokens_"):
        return True
    ordinary = model.tokens_[: model.n_ordinary_]
    distinct = len(set(map(bytes, ordinary))) == len(ordinary)
    return (
        tokens_are_sound(model)
        and distinct
        and all(ordinary)
        and len(model.scores_) == len(ordinary)
    )


@saved_state(
    check=_scores_are_sound,
    scores_=FloatArray(None, high=0.0),
    tokens_=Each(AnyValue()),
    n_ordinary_=Whole(low=256),
)
@dataclass(eq=False, repr=False)
class Unigram(AbstractByteTokenizer):
    """Tokens with probabilities and the likeliest segmentation, eqs. (1) to (3).

    Parameters
    ----------
    vocab_size : int, default=8000
        Number of tokens, with the 256 bytes and the special ones.
    pre_tokenizer : {"gpt2", "gpt4", "words", "bytes"}, default="gpt2"
        How texts are cut into pieces, which tokens do not cross.
    special_tokens : tuple of str, default=()
        Tokens of their own, with the last ids. In a text they are ordinary characters
        unless `encode` is told to look for them.
    max_token_length : int, default=16
        Most bytes of a token.

    Attributes
    ----------
    tokens_ : list of bytes
        Bytes of each id.
    scores_ : array
        log p of each ordinary token.

    Examples
    --------
    >>> from pansophy.text import Unigram
    >>> model = Unigram(vocab_size=260).fit(["low lower lowest slow slower"] * 3)
    >>> [model.tokens_[i] for i in model.encode("slow")]
    [b's', b'low']
    >>> model.decode(model.encode("any text, even 日本"))
    'any text, even 日本'
    """

    _: KW_ONLY
    max_token_length: Count = 16

    def _learn(self, pieces, n_tokens):
        data, bounds = pieces.table.symbols()
        weighted = WeightedPieces(data.astype(np.uint8), bounds, pieces.counts)
        tokens, scores = learn_tokens(weighted, n_tokens, self.max_token_length)
        self.scores_ = scores
        self._set_tokens(tokens)

    def _lattice(self) -> TokenLattice:
        return token_lattice(self.tokens_[: self.n_ordinary_], self.scores_)

    def _piece_encoder(self):
        return PieceEncoder(partial(_segment_pieces, lattice=self._lattice()))

    def sample(
        self, text, *, alpha: Fraction = 0.2, random_state=None, allowed_special=()
    ) -> Encoding:
        """A segmentation x of a text drawn with probability ~ p(x)^alpha.

        Parameters
        ----------
        text : str
        alpha : float, default=0.2
            1 draws by probability; 0 draws all segmentations alike.
        random_state : int, Generator, RandomState or None
        allowed_special
            As in `encode`.

        Returns
        -------
        encoding : Encoding
        """
        check_is_fitted(self, "tokens_")
        if not 0 <= alpha <= 1:
            raise ParameterError(f"alpha must be from 0 to 1, got {alpha!r}.")
        lattice = self._lattice()
        lattice = lattice._replace(scores=alpha * lattice.scores)
        stream = make_rng(random_state).integers(0, 2**63, 1).astype(np.uint64)

        def draw(pieces):
            data = np.frombuffer(pieces.data, np.uint8)
            out = np.empty(len(data), np.int32)
            n = loops.sampled_segmentations(*lattice, data, pieces.ends, stream, out)
            return out[:n]

        return self._encode_pieces(text, allowed_special, draw)

    def log_prob(self, text) -> float:
        """log p of a text, summed over all segmentations of its pieces, eq. (1)."""
        check_is_fitted(self, "tokens_")
        from .pre_tokenizers import split_text

        pieces = split_text(text, self.pre_tokenizer)
        lattice = self._lattice()
        bounds = np.concatenate([[0], pieces.ends]).astype(np.int64)
        data = np.frombuffer(pieces.data, np.uint8)
        counts = np.ones(len(pieces.ends), np.int64)
        uses = np.zeros(len(lattice.scores))
        return float(
            loops.expected_token_counts(
                lattice.trie, lattice.scores, data, bounds, counts, uses
            )
        )

    def to_json(self, path) -> None:
        """Write a file that Hugging Face tokenizers read."""
        check_is_fitted(self, "tokens_")
        ordinary = self.tokens_[: self.n_ordinary_]
        pairs = zip(map(byte_characters, ordinary), self.scores_.tolist())
        model = {
            "type": "Unigram",
            "unk_id": None,
            "vocab": [list(pair) for pair in pairs],
            "byte_fallback": False,
        }
        write_byte_level_file(path, self, model)

    @classmethod
    def from_json(cls, path):
        """Read a byte-level unigram file of Hugging Face tokenizers."""
        with wrong_content_as_one_sentence(path, "Unigram"):
            return cls._from_json(path)

    @classmethod
    def _from_json(cls, path):
        file = read_byte_level_file(path, "Unigram")
        try:
            tokens = [bytes_of_characters(token) for token, _ in file.model["vocab"]]
        except KeyError as error:
            raise ValueError(
                f"{path}: {error.args[0]!r} stands for no byte; only byte-level "
                "vocabularies are read."
            ) from error
        n = len(tokens)
        file.check_special_ids(path, n, "Unigram")
        if len(set(tokens)) < n or len({t for t in tokens if len(t) == 1}) < 256:
            raise ValueError(f"{path}: tokens must be distinct, with all single bytes.")
        self = cls(
            n + len(file.special_tokens),
            pre_tokenizer=file.pre_tokenizer,
            special_tokens=file.special_tokens,
            max_token_length=max(map(len, tokens)),
        )
        self.scores_ = np.array([float(s) for _, s in file.model["vocab"]])
        self._set_tokens(tokens)
        return self
