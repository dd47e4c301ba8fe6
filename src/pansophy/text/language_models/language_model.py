"""Base class of language models: log probabilities of tokens given those before.

A language model gives p(w_i | w_1 ... w_{i-1}) by one function, state in, state out:

    advance(tokens (n, L), state) -> logits (n, L, V), state                       (1)

with state None before the first token. `generate` draws or searches continuations of
any such model (`core.chains.decoding`). Measures of a text of N tokens, ends of
sentences counted as tokens:

    cross-entropy  H = -1/N sum_i log p(w_i | before),   perplexity  exp H         (2)
    bits per byte  N H / (log 2 * bytes)                                           (3)

(3) compares models with different tokens.
"""

from typing import Any, Protocol

import numpy as np

from ...core.arrays.unreadable import array_of_numbers
from ...core.chains.decoding import beam_search, decode
from ...params import ParameterError, Positive, check_argument, check_count


class LanguageModel(Protocol):
    """A distribution of the next token given those before, eq. (1)."""

    start_token: int
    end_token: int

    def advance(self, tokens: np.ndarray, state: Any) -> tuple[np.ndarray, Any]: ...


def token_cross_entropy(log_probs, *, base=np.e) -> float:
    """Mean of -log p over tokens, eq. (2).

    Parameters
    ----------
    log_probs : array of natural logarithms
    base : float
        2 gives bits.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import token_cross_entropy
    >>> round(token_cross_entropy(np.log([1 / 8, 1 / 8]), base=2), 6)
    3.0
    """
    check_argument("base", base, Positive)
    if base == 1:
        raise ParameterError("base must not be 1: its logarithm is 0.")
    return -float(_check_log_probs(log_probs).mean()) / float(np.log(base))


def _check_log_probs(log_probs) -> np.ndarray:
    """Log probabilities of one token or more as an array."""
    log_probs = array_of_numbers(log_probs, "log_probs", allow_empty=True)
    if not log_probs.size:
        raise ValueError("log_probs must be of at least one token.")
    if (log_probs > 1e-9).any():
        raise ValueError("log probabilities must not be above 0.")
    return log_probs


def join_log_probs(parts) -> np.ndarray:
    """log p of the tokens of several texts, one after the other."""
    return np.concatenate([np.empty(0), *parts])


def _utf8_size(text: str) -> int:
    """Bytes of a text in UTF-8, lone surrogates included."""
    return len(text.encode("utf-8", "surrogatepass"))


def number_of_bytes(texts) -> int:
    """Bytes of texts, with one between two of them, at least 1."""
    return max(1, sum(_utf8_size(text) + 1 for text in texts))


def perplexity(log_probs) -> float:
    """exp of the mean of -log p over tokens, eq. (2).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import perplexity
    >>> round(perplexity(np.log([1 / 8, 1 / 8])), 6)
    8.0
    """
    with np.errstate(over="ignore"):
        return float(np.exp(token_cross_entropy(log_probs)))


def bits_per_byte(log_probs, text) -> float:
    """Bits that a model needs for each UTF-8 byte of a text, eq. (3).

    Parameters
    ----------
    log_probs : array of natural logarithms, of the tokens of the text
    text : str or int
        The text, or its number of bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.text import bits_per_byte
    >>> round(bits_per_byte(np.log([1 / 4, 1 / 4]), "abcd"), 6)
    1.0
    """
    is_text = isinstance(text, str)
    size = _utf8_size(text) if is_text else check_count("text", text)
    if size == 0:
        raise ValueError("text must have at least one byte.")
    return -float(_check_log_probs(log_probs).sum()) / (float(np.log(2)) * size)


def generate(
    model: LanguageModel, prompt=(), *, max_tokens=50, beams=None, random_state=None,
    **options,
) -> list[int]:  # fmt: skip
    """A continuation of a prompt by a language model.

    Parameters
    ----------
    model : LanguageModel
    prompt : sequence of int
        Tokens to begin with.
    max_tokens : int, default=50
        Most tokens to add.
    beams : int or None, default=None
        Search for the likeliest continuation with so many hypotheses, in place of
        drawing one; 1 is greedy.
    random_state : int, Generator or None
    options
        `temperature`, `top_k`, `top_p` and `allowed` of `core.chains.decoding.decode`,
        or `alpha` and `allowed` of its `beam_search`.

    Returns
    -------
    tokens : list of int
        Those added, without the end.

    Examples
    --------
    >>> from pansophy.text import NGramModel, generate
    >>> model = NGramModel(2, smoothing="mle").fit(["a b c", "a b d", "a b c"])
    >>> model.decode(generate(model, temperature=0))
    ['a', 'b', 'c']
    """
    check_count("max_tokens", max_tokens)
    end = model.end_token
    first = np.array([model.start_token, *prompt], dtype=np.int64)
    if beams is not None:
        result = beam_search(
            model.advance, first, max_new=max_tokens, beams=beams, end=end, **options
        )
        tokens = result[0].tokens
    else:
        options["random_state"] = random_state
        rows = decode(
            model.advance, first[None], max_new=max_tokens, end=end, **options
        )
        tokens = rows[0].tolist()
    return tokens[: tokens.index(end)] if end in tokens else tokens
