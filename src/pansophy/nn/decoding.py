"""Decoding: one token after the other from any model with a state.

A model is a function `advance(tokens (n, L), state) -> logits (n, L, V), state`; the
state is None or nested tuples of tensors whose first dimension is the sequence. Keys
and values of a transformer, h and c of an LSTM and the state of a state-space layer
differ in nothing else. With logits e of the next token,

    temperature   p = softmax(e / tau); tau = 0 takes the largest
    top_k         only the k most probable tokens
    top_p         only the fewest tokens whose probabilities sum to at least p    (1)

and beam search keeps the b partial sequences with the largest log-probability; finished
ones compete by

    log P / length^alpha                                                          (2)

Refs      [Holtzman2020] (1); [Wu2016] (2)
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..params import check_count
from .devices import seeded_torch
from .recurrent import step_mask
from .transformer import token_loss

Advance = Callable[[Tensor, Any], tuple[Tensor, Any]]


class TokenModel(nn.Module):
    """Embedding, a causal sequence layer, and logits of the next token.

    Parameters
    ----------
    vocabulary : int
    layer : module
        Any sequence layer with `forward(X, lengths, state) -> H, state` and `width`:
        RNN, GRU, LSTM, a causal TransformerEncoder, a state-space layer.
    d : int
        Columns of the embedding, which the layer takes.
    tied : bool, default=False
        Whether the output layer is the embedding, transposed.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> model = nn.TokenModel(10, nn.LSTM(8, 16), 8)
    >>> nn.decode(model, torch.tensor([[1, 2]]), max_new=3, temperature=0).shape
    torch.Size([1, 3])
    """

    def __init__(self, vocabulary, layer, d, *, tied=False):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d)
        self.layer = layer
        self.output = nn.Linear(layer.width, vocabulary, bias=not tied)
        if tied:
            if layer.width != d:
                raise ValueError(
                    f"tied=True needs a layer as wide as the embedding ({d}), got "
                    f"{layer.width}."
                )
            self.output.weight = self.embedding.weight

    def forward(self, tokens: Tensor, state=None, lengths=None):
        """Logits (n, L, vocabulary) of what follows each token, and the state."""
        H, state = self.layer(self.embedding(tokens), lengths, state)
        return self.output(H), state

    def losses(self, batch) -> dict[str, Tensor]:
        """Cross-entropy of each token after the first; batch (tokens[, lengths])."""
        tokens, *lengths = batch
        logits, _ = self.forward(tokens[:, :-1])
        L = tokens.shape[1] - 1
        mask = step_mask(lengths[0] - 1, L) if lengths else None
        return {"loss": token_loss(logits, tokens[:, 1:], mask)}

    def batch_weight(self, batch) -> float:
        """Tokens that are predicted."""
        tokens, *lengths = batch
        return float((lengths[0] - 1).sum() if lengths else tokens[:, 1:].numel())


def filter_logits(logits: Tensor, top_k=None, top_p=None) -> Tensor:
    """Logits (n, V) with -inf for tokens that eq. (1) leaves out; one always stays."""
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(check_count("top_k", top_k), -1).values[..., -1:]
        logits = logits.masked_fill(logits < least, -math.inf)
    if top_p is not None and top_p < 1:
        ordered, index = logits.sort(-1, descending=True)
        p = ordered.softmax(-1)
        before = p.cumsum(-1) - p  # of the more probable ones; 0 for the first
        out = before >= top_p
        out[..., 0] = False
        logits = logits.masked_fill(out.scatter(-1, index, out), -math.inf)
    return logits


def next_token(logits: Tensor, *, temperature=1.0, top_k=None, top_p=None) -> Tensor:
    """A token (n,) for each row of logits (n, V), drawn from torch's generator."""
    if temperature < 0:
        raise ValueError(f"temperature must not be negative, got {temperature}.")
    if temperature == 0:
        return logits.argmax(-1)
    kept = filter_logits(logits.double() / temperature, top_k, top_p)
    return torch.multinomial(kept.softmax(-1), 1)[:, 0]


def take_rows(state, rows: Tensor):
    """The state of these sequences: every tensor indexed by its first dimension."""
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state[rows]
    if isinstance(state, tuple):
        parts = [take_rows(part, rows) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    raise TypeError(
        f"a state is made of tuples and tensors, got {type(state).__name__}."
    )


@torch.no_grad()
def decode(
    advance: Advance, prompt: Tensor, state=None, *, max_new: int, temperature=1.0,
    top_k=None, top_p=None, end: int | None = None, seed: int = 0,
) -> Tensor:  # fmt: skip
    """Tokens (n, m <= max_new) that follow the prompt, one at a time.

    Parameters
    ----------
    advance : function (tokens, state) -> logits, state
    prompt : tensor of int (n, L), L at least 1
    state : what `advance` takes before the prompt, or None
    max_new : int
    temperature : float, default=1
        0 takes the most probable token (greedy decoding).
    top_k, top_p : int, float or None
    end : int or None
        After this token a sequence gives nothing but it; decoding stops when all have.
    seed : int
        Of the draws; the random numbers of the program are left as they were.
    """
    was_training = getattr(advance, "training", False)
    if was_training:
        advance.eval()  # type: ignore[attr-defined]
    options = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    done = torch.zeros(len(prompt), dtype=torch.bool, device=prompt.device)
    tokens, found = prompt, []
    with seeded_torch(prompt.device, seed):
        for _ in range(check_count("max_new", max_new)):
            logits, state = advance(tokens, state)
            new = next_token(logits[:, -1], **options)
            if end is not None:
                new = torch.where(done, end, new)
                done |= new == end
            found.append(new)
            if end is not None and bool(done.all()):
                break
            tokens = new[:, None]
    if was_training:
        advance.train()  # type: ignore[attr-defined]
    return torch.stack(found, 1)


class Beam(NamedTuple):
    """A partial sequence of a beam search."""

    tokens: list[int]
    log_prob: float


@torch.no_grad()
def beam_search(
    advance: Advance, prompt: Tensor, state=None, *, max_new: int, beams: int = 4,
    end: int | None = None, alpha: float = 0.0,
) -> list[Beam]:  # fmt: skip
    """The best continuations of one prompt (L,), best first by eq. (2).

    Parameters
    ----------
    advance, max_new, end
        As those of `decode`.
    prompt : tensor of int (L,)
    state : what `advance` takes before the prompt, for one sequence
    beams : int
    alpha : float, default=0
        0 compares log-probabilities; larger values favour longer sequences.
    """
    score = lambda b: b.log_prob / max(len(b.tokens), 1) ** alpha
    alive, ended = [Beam([], 0.0)], []
    tokens = prompt[None]
    for _ in range(check_count("max_new", max_new)):
        logits, state = advance(tokens, state)
        step = logits[:, -1].double().log_softmax(-1)
        before = torch.tensor([b.log_prob for b in alive], dtype=step.dtype)
        total = step + before.to(step.device)[:, None]
        # enough candidates that `beams` of them do not end here
        count = min(2 * beams, total.numel())
        best, at = total.flatten().topk(count)
        rows, grown = [], []
        for value, place in zip(best.tolist(), at.tolist()):
            parent, token = divmod(place, total.shape[1])
            beam = Beam([*alive[parent].tokens, token], value)
            if token == end:
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
        state = take_rows(state, torch.tensor(rows, device=prompt.device))
        last = [[b.tokens[-1]] for b in alive]
        tokens = torch.tensor(last, device=prompt.device)
    return sorted([*ended, *alive], key=score, reverse=True)[:beams]
