"""Decoding: one token after the other from any model with a state.

A model is a function `advance(tokens (n, L), state) -> logits (n, L, V), state`; the
state is None, an array whose first dimension is the sequence, or nested tuples of
them. Keys and values of a transformer, h and c of an LSTM and the last words of an
n-gram model differ in nothing else. With logits e of the next token,

    temperature   p = softmax(e / tau); tau = 0 takes the largest
    top_k         only the k most probable tokens
    top_p         only the fewest tokens whose probabilities sum to at least p    (1)

and beam search keeps the b partial sequences with the largest log-probability; finished
ones compete by

    log P / length^alpha                                                          (2)

A token is drawn as the largest of e / tau plus Gumbel noise, so that a seed gives the
same tokens on every device. Arrays may be of NumPy or torch. If `advance` is a torch
module, its dropout rests and no gradients are kept.

Refs      [Holtzman2020] (1); [Wu2016] (2); [Gumbel1954]
"""

import math
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple

import numpy as np

from ...params import check_count
from ..arrays import arrays
from ..numerics import log_softmax, softmax
from ..random import make_rng

Advance = Callable[[Any, Any], tuple[Any, Any]]


@contextmanager
def _evaluation_mode(advance):
    """No gradients inside, and no dropout if this is a torch module."""
    torch = sys.modules.get("torch")  # where it is not loaded, there are no modules
    if torch is None:
        yield
        return
    rests = isinstance(advance, torch.nn.Module) and advance.training
    if rests:
        advance.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if rests:
            advance.train()


def _in_evaluation_mode(function):
    """The function, with `_evaluation_mode` around it for its first argument."""

    @wraps(function)
    def wrapped(advance, *args, **options):
        with _evaluation_mode(advance):
            return function(advance, *args, **options)

    return wrapped


def filter_logits(logits, top_k=None, top_p=None):
    """Logits (n, V) with -inf for tokens that eq. (1) leaves out; one always stays.

    Of equal logits the lower token comes first.
    """
    xp = arrays.namespace(logits)
    order = xp.argsort(-logits, axis=-1, stable=True)
    rank = xp.argsort(order, axis=-1, stable=True)
    if top_k is not None:
        is_left_out = rank >= check_count("top_k", top_k)
        logits = xp.where(is_left_out, xp.full_like(logits, -math.inf), logits)
    if top_p is not None:
        if not 0 < top_p <= 1:
            raise ValueError(f"top_p must be above 0 and at most 1, got {top_p}.")
        p = xp.take_along_axis(softmax(logits), order, axis=-1)
        mass_before = xp.cumulative_sum(p, axis=-1) - p  # of the more probable ones
        mass_before = xp.take_along_axis(mass_before, rank, axis=-1)
        is_left_out = (mass_before >= top_p) & (rank > 0)
        logits = xp.where(is_left_out, xp.full_like(logits, -math.inf), logits)
    return logits


def next_token(logits, rng, *, temperature=1.0, top_k=None, top_p=None):
    """A token (n,) for each row of logits (n, V)."""
    xp = arrays.namespace(logits)
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}.")
    if temperature == 0:
        return xp.argmax(logits, axis=-1)
    kept = filter_logits(xp.astype(logits, xp.float64) / temperature, top_k, top_p)
    noise = rng.gumbel(size=tuple(logits.shape))
    return xp.argmax(kept + arrays.asarray(noise, like=kept), axis=-1)


def take_state(state, rows) -> Any:
    """The state of these sequences: every array indexed by its first dimension."""
    if state is None:
        return None
    if isinstance(state, tuple):
        parts = [take_state(part, rows) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    if not hasattr(state, "shape"):
        kind = type(state).__name__
        raise TypeError(f"a state is made of tuples and arrays, got {kind}.")
    return state[rows]


def _restrict_logits(logits, sequences, allowed):
    """Logits with -inf for tokens that may not follow; see `decode`."""
    if allowed is None:
        return logits
    xp = arrays.namespace(logits)
    mask = np.zeros(tuple(logits.shape), dtype=bool)
    for row, tokens in enumerate(sequences):
        mask[row, np.asarray(list(allowed(tuple(tokens))), dtype=np.int64)] = True
    if not mask.any(axis=1).all():
        raise ValueError("allowed must give at least one token that may follow.")
    inside = xp.asarray(mask, device=arrays.device(logits))
    kept = xp.where(inside, logits, xp.full_like(logits, -math.inf))
    # where all that may follow have probability 0, each of them is as good
    is_empty = ~xp.any(xp.isfinite(kept), axis=-1, keepdims=True)
    return xp.where(is_empty & inside, xp.zeros_like(kept), kept)


@_in_evaluation_mode
def decode(
    advance: Advance, prompt, state=None, *, max_new: int, temperature=1.0,
    top_k=None, top_p=None, end: int | None = None, allowed=None, random_state=None,
):  # fmt: skip
    """Tokens (n, m <= max_new) that follow the prompt, one at a time.

    Parameters
    ----------
    advance : net or function (tokens, state) -> logits, state
    prompt : array of int (n, L), L at least 1
    state : what `advance` takes before the prompt, or None
    max_new : int
    temperature : float, default=1
        0 takes the most probable token (greedy decoding).
    top_k, top_p : int, float or None
    end : int or None
        After this token a sequence gives nothing but it; decoding stops when all have.
    allowed : function of the tokens added so far (tuple of int), or None
        Gives the tokens that may come next, for a grammar or a set of texts.
    random_state : int, Generator or None
    """
    xp = arrays.namespace(prompt)
    rng = make_rng(random_state)
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    is_finished = xp.zeros(prompt.shape[0], dtype=xp.bool, device=arrays.device(prompt))
    tokens = prompt
    new_tokens = []
    for _ in range(check_count("max_new", max_new)):
        logits, state = advance(tokens, state)
        sequences = [()] * int(prompt.shape[0])
        if allowed is not None and new_tokens:
            sequences = arrays.to_numpy(xp.stack(new_tokens, axis=1)).tolist()
        logits = _restrict_logits(logits[:, -1], sequences, allowed)
        new = next_token(logits, rng, **options)
        if end is not None:
            new = xp.where(is_finished, xp.full_like(new, end), new)
            is_finished = is_finished | (new == end)
        new_tokens.append(new)
        if end is not None and bool(xp.all(is_finished)):
            break
        tokens = new[:, None]
    return xp.stack(new_tokens, axis=1)


class Beam(NamedTuple):
    """A partial sequence of a beam search."""

    tokens: list[int]
    log_prob: float


@_in_evaluation_mode
def beam_search(
    advance: Advance, prompt, state=None, *, max_new: int, beams: int = 4,
    end: int | None = None, alpha: float = 0.0, allowed=None,
) -> list[Beam]:  # fmt: skip
    """The best continuations of one prompt (L,), best first by eq. (2).

    Parameters
    ----------
    advance, max_new, end, allowed
        As those of `decode`.
    prompt : array of int (L,)
    state : what `advance` takes before the prompt, for one sequence
    beams : int
    alpha : float, default=0
        0 compares log-probabilities; larger values favour longer sequences.
    """
    check_count("beams", beams)
    score = lambda b: b.log_prob / max(len(b.tokens), 1) ** alpha
    alive = [Beam([], 0.0)]
    ended: list[Beam] = []
    tokens = prompt[None]
    for _ in range(check_count("max_new", max_new)):
        logits, state = advance(tokens, state)
        logits = _restrict_logits(logits[:, -1], [b.tokens for b in alive], allowed)
        step = arrays.to_numpy(log_softmax(logits)).astype(np.float64)
        total = step + np.array([[b.log_prob] for b in alive])
        # enough candidates that `beams` of them do not end here
        best = np.argsort(-total, axis=None, kind="stable")[: 2 * beams]
        rows = []
        grown = []
        for rank, place in enumerate(best.tolist()):
            parent, token = divmod(place, total.shape[1])
            beam = Beam([*alive[parent].tokens, token], float(total[parent, token]))
            if beam.log_prob == -math.inf:
                continue
            if token == end:
                if rank < beams:  # else one beam would not be greedy decoding
                    ended.append(beam)
            elif len(grown) < beams:
                grown.append(beam)
                rows.append(parent)
        alive = grown
        ended = sorted(ended, key=score, reverse=True)[:beams]
        # without length normalisation no partial sequence can still overtake
        full = len(ended) == beams and alpha == 0
        if not alive or (full and alive[0].log_prob <= ended[-1].log_prob):
            break
        xp = arrays.namespace(prompt)
        device = arrays.device(prompt)
        state = take_state(state, xp.asarray(rows, device=device))
        tokens = xp.asarray([[b.tokens[-1]] for b in alive], device=device)
    return sorted([*ended, *alive], key=score, reverse=True)[:beams]
