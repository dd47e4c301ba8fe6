"""Vocabulary: tokens and their ids, with rules for unknown, padding and special ones.

Ordinary tokens have the ids 0, 1, ...; special ones follow. A token that is not known
has the id of the unknown token, or is refused where there is none. Sequences of
different lengths become one array by padding.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from ...params import ParameterError, check_count


class PaddedIds(NamedTuple):
    """Ids of sequences in one array, and which of them are no padding."""

    ids: np.ndarray  # (n, length) int64
    mask: np.ndarray  # (n, length) bool


class Vocabulary:
    """Tokens and their ids.

    Parameters
    ----------
    tokens : iterable of hashable
        Ordinary tokens, in the order of their ids; repeated ones are refused.
    unknown : str or None, default="<unk>"
        Special token for all that is not known; None: it is an error.
    padding : str or None, default="<pad>"
        Special token that fills up sequences.
    special_tokens : iterable of str, default=()
        Further special tokens.

    Examples
    --------
    >>> from pansophy.text import Vocabulary
    >>> words = Vocabulary.from_counts({"b": 2, "a": 2, "c": 5}, max_size=2)
    >>> words.tokens
    ('c', 'a')
    >>> words.ids(["a", "c", "x"]).tolist()
    [1, 0, 2]
    >>> words.pad([[1], [0, 1]]).ids.tolist()
    [[1, 3], [0, 1]]
    """

    def __init__(
        self,
        tokens: Iterable[Hashable],
        *,
        unknown: str | None = "<unk>",
        padding: str | None = "<pad>",
        special_tokens: Iterable[str] = (),
    ):
        self.tokens = tuple(tokens)
        named = [t for t in (unknown, padding) if t is not None]
        self.special_tokens = tuple(dict.fromkeys([*named, *special_tokens]))
        self.unknown = unknown
        self.padding = padding
        self._ids = {t: i for i, t in enumerate((*self.tokens, *self.special_tokens))}
        if len(self._ids) < len(self):
            seen = Counter((*self.tokens, *self.special_tokens))
            repeated = next(t for t, n in seen.items() if n > 1)
            raise ParameterError(f"tokens must be distinct, {repeated!r} is repeated.")

    @classmethod
    def from_counts(
        cls, counts: Mapping, *, max_size=None, min_frequency=1, **options
    ) -> "Vocabulary":
        """The most frequent tokens; ties in the order of the tokens.

        Parameters
        ----------
        counts : mapping of tokens to how often they occur
        max_size : int or None
            Most ordinary tokens.
        min_frequency : int
        options
            Of `Vocabulary`.
        """
        if max_size is not None:
            max_size = check_count("max_size", max_size)
        kept = [t for t, n in counts.items() if n >= min_frequency]
        kept.sort(key=lambda t: (-counts[t], t))
        return cls(kept[:max_size], **options)

    def __len__(self):
        return len(self.tokens) + len(self.special_tokens)

    def __contains__(self, token):
        return token in self._ids

    def __repr__(self):
        return f"Vocabulary({len(self.tokens)} tokens, special {self.special_tokens})"

    def id(self, token) -> int:
        """The id of a token."""
        result = self._ids.get(token)
        if result is not None:
            return result
        if self.unknown is None:
            raise ValueError(
                f"{token!r} is not in the vocabulary, and there is no unknown token."
            )
        return self._ids[self.unknown]

    def ids(self, tokens) -> np.ndarray:
        """The ids of tokens."""
        return np.array([self.id(token) for token in tokens], dtype=np.int64)

    def tokens_of(self, ids) -> list:
        """The tokens of ids."""
        all_tokens = (*self.tokens, *self.special_tokens)
        ids = np.asarray(ids, dtype=np.int64)
        if ids.size and not 0 <= ids.min() <= ids.max() < len(all_tokens):
            raise ValueError(f"ids must be from 0 to {len(all_tokens) - 1}.")
        return [all_tokens[i] for i in ids.tolist()]

    def pad(
        self, sequences, length=None, *, side: Literal["left", "right"] = "right"
    ) -> PaddedIds:
        """Sequences of ids as one array.

        Parameters
        ----------
        sequences : list of sequences of ids
        length : int or None
            Of the rows; longer sequences lose their end. None: the longest one.
        side : {"left", "right"}
            Where the padding goes.
        """
        if self.padding is None:
            raise ParameterError("there is no padding token.")
        return pad_ids(sequences, self._ids[self.padding], length, side=side)


def pad_ids(sequences, padding, length=None, *, side="right") -> PaddedIds:
    """Sequences of ids as one array, filled up with the id `padding`."""
    if side not in ("left", "right"):
        raise ParameterError(f'side must be "left" or "right", got {side!r}.')
    sequences = [np.asarray(s, dtype=np.int64) for s in sequences]
    longest = max(map(len, sequences), default=0)
    n = longest if length is None else check_count("length", length)
    ids = np.full((len(sequences), n), padding, np.int64)
    mask = np.zeros(ids.shape, bool)
    for row, s in enumerate(sequences):
        s = s[:n]
        columns = slice(0, len(s)) if side == "right" else slice(n - len(s), n)
        ids[row, columns] = s
        mask[row, columns] = True
    return PaddedIds(ids, mask)
