"""Direct preference optimisation: a language model learns which answers are preferred.

Of a prompt x, a preferred answer y_w and another y_l, with log p of the model that
learns (pi) and of the one it began as (ref),

    h(y) = log pi(y | x) - log ref(y | x),     m = h(y_w) - h(y_l)                (1)

the loss is a function of the margin m alone,

    sigmoid   -(1 - e) log s(beta m) - e log s(-beta m),  s(z) = 1 / (1 + exp -z) (2)
    hinge     max(0, 1 - beta m)
    ipo       (m - 1 / (2 beta))^2                                                (3)

beta h(y) is the reward that the model implies. e is the chance that a preference is the
wrong way round. At pi = ref the loss (2) is log 2, and its gradient in log pi(y_w) is
-beta/2, in log pi(y_l) beta/2.

log p(y | x) is the sum over the tokens of the answer and its end; those of the prompt
count nowhere. `length_normalised` takes the mean instead, so that a longer answer has
no advantage. ref does not change: its log p are computed once, before training. Dropout
is off, so that pi = ref at the beginning. A model may lower both log p while the margin
grows; `sft_weight` adds -log pi(y_w) per token as a loss of its own against that, and
`history_` has both.

Refs      [Rafailov2023] (2); [Mitchell2023] e; [Zhao2023] hinge; [Azar2024] (3)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch.nn import functional

from ... import nn
from ...base import Estimator
from ...core.arrays.unreadable import array_of_numbers
from ...core.random import draw_seed, make_rng
from ...neural_network.abstract_net import detached_net
from ...nn.layers.recurrent import step_mask
from ...nn.training.devices import seeded_torch
from ...nn.training.schedules import warmup_linear
from ...params import (
    Count,
    DeviceName,
    Flag,
    FractionBelowOne,
    NonNegative,
    Positive,
    Verbosity,
    check_argument,
    check_params,
)
from ...typing import Seed

REPORTED_PAIRS = 256  # of the training pairs, where none are given to validate


def _sigmoid_preference(m: Tensor, beta: float, smoothing: float) -> Tensor:
    """Eq. (2)."""
    right = functional.softplus(-beta * m)
    return (1 - smoothing) * right + smoothing * functional.softplus(beta * m)


def _hinge_preference(m: Tensor, beta: float, smoothing: float) -> Tensor:
    """The hinge of beta m; with smoothing, that of -beta m too."""
    right = functional.relu(1 - beta * m)
    return (1 - smoothing) * right + smoothing * functional.relu(1 + beta * m)


def _squared_preference(m: Tensor, beta: float, smoothing: float) -> Tensor:
    """Eq. (3); the aim shrinks by the share of wrong preferences."""
    return (m - (1 - 2 * smoothing) / (2 * beta)).square()


PREFERENCE_LOSSES = {
    "sigmoid": _sigmoid_preference,
    "hinge": _hinge_preference,
    "ipo": _squared_preference,
}


class PreferenceLoss(NamedTuple):
    """Loss of each pair, and the rewards beta h that the model implies."""

    loss: Tensor
    chosen_reward: Tensor
    rejected_reward: Tensor


def dpo_loss(
    policy_chosen, policy_rejected, reference_chosen, reference_rejected, *, beta=0.1,
    kind="sigmoid", label_smoothing=0.0,
) -> PreferenceLoss:  # fmt: skip
    """Losses of pairs of answers, eqs. (1) to (3).

    Parameters
    ----------
    policy_chosen, policy_rejected : tensors or arrays
        log pi of the preferred answers and of the others.
    reference_chosen, reference_rejected : tensors or arrays
        log ref of the same.
    beta : float, default=0.1
    kind : {"sigmoid", "hinge", "ipo"}, default="sigmoid"
    label_smoothing : float, default=0
        e.

    Examples
    --------
    >>> from pansophy.text import dpo_loss
    >>> round(float(dpo_loss(-2.0, -3.0, -2.0, -3.0).loss), 6)
    0.693147
    >>> round(float(dpo_loss(-2.0, -3.0, -3.0, -2.5).loss), 6)
    0.620957
    """
    if kind not in PREFERENCE_LOSSES:
        known = ", ".join(PREFERENCE_LOSSES)
        raise ValueError(f"kind must be one of {known}, got {kind!r}.")
    check_argument("beta", beta, Positive)
    arrays = {
        "policy_chosen": policy_chosen,
        "policy_rejected": policy_rejected,
        "reference_chosen": reference_chosen,
        "reference_rejected": reference_rejected,
    }
    tensors = [
        a if isinstance(a, Tensor) else torch.as_tensor(array_of_numbers(a, name))
        for name, a in arrays.items()
    ]
    chosen = tensors[0] - tensors[2]
    rejected = tensors[1] - tensors[3]
    loss = PREFERENCE_LOSSES[kind](chosen - rejected, beta, label_smoothing)
    return PreferenceLoss(loss, beta * chosen.detach(), beta * rejected.detach())


class Answers(NamedTuple):
    """Prompts with answers behind them: tokens, and where the answers begin."""

    tokens: list[np.ndarray]
    begins: np.ndarray

    def padded(self, rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tokens (n, L) of some rows, their lengths, and where the answers begin."""
        parts = [self.tokens[i] for i in rows]
        lengths = np.array([len(part) for part in parts])
        out = np.zeros((len(parts), lengths.max()), np.int64)
        for i, part in enumerate(parts):
            out[i, : len(part)] = part
        return out, lengths, self.begins[rows]

    @property
    def sizes(self) -> np.ndarray:
        """Tokens of the answers, with their ends."""
        return np.array([len(tokens) for tokens in self.tokens]) - self.begins


def answers_to_prompts(model, prompts, texts) -> Answers:
    """Tokens of a start, a prompt, an answer and its end."""
    tokens = []
    begins = []
    for prompt, text in zip(prompts, texts, strict=True):
        opening = np.r_[[model.start_token], model.encode(prompt)]
        tokens.append(np.r_[opening, model.encode(text), [model.end_token]])
        begins.append(len(opening))
    return Answers(tokens, np.array(begins))


def answer_log_probs(net, tokens, lengths, begins, *, normalised=False) -> Tensor:
    """log p of the tokens of each answer given its prompt: their sum, or mean."""
    logits = net.output(net.layer(net.embedding(tokens[:, :-1]), return_state=False)[0])
    logits = logits.float()
    chosen = logits.gather(2, tokens[:, 1:, None])[:, :, 0] - logits.logsumexp(-1)
    L = tokens.shape[1]
    counted = step_mask(lengths, L) & ~step_mask(begins, L)
    total = torch.where(counted[:, 1:], chosen, 0.0).sum(1)
    return total / (lengths - begins) if normalised else total


class PreferencePairs:
    """Pairs of answers and their log p by the reference, as `nn.train` takes them."""

    def __init__(self, chosen: Answers, rejected: Answers, references):
        self.chosen, self.rejected = chosen, rejected
        self.references = references  # (pairs, 2)

    def __len__(self):
        return len(self.references)

    def take(self, rows):
        padded_answers = (*self.chosen.padded(rows), *self.rejected.padded(rows))
        return (*padded_answers, self.references[rows].astype(np.float32))


class PreferenceNet(torch.nn.Module):
    """A language model's net with the loss of pairs of answers."""

    def __init__(self, policy, trainer):
        super().__init__()
        self.policy = policy
        self.beta = float(trainer.beta)
        self.kind = trainer.loss
        self.smoothing = float(trainer.label_smoothing)
        self.normalised = bool(trainer.length_normalised)
        self.sft_weight = float(trainer.sft_weight)

    def train(self, mode=True):
        """Dropout stays off: the net at the beginning must be the reference."""
        super().train(mode)
        self.policy.eval()
        return self

    def pair_log_probs(self, batch) -> tuple[Tensor, Tensor]:
        """log pi of the preferred answers of a batch, and of the others."""
        chosen, rejected = batch[:3], batch[3:6]
        log_p = lambda part: answer_log_probs(
            self.policy, *part, normalised=self.normalised
        )
        return log_p(chosen), log_p(rejected)

    def losses(self, batch) -> dict[str, Tensor]:
        references = batch[6]
        chosen, rejected = self.pair_log_probs(batch)
        result = dpo_loss(
            chosen, rejected, references[:, 0], references[:, 1], beta=self.beta,
            kind=self.kind, label_smoothing=self.smoothing,
        )  # fmt: skip
        losses = {"preference": result.loss.mean()}
        if self.sft_weight:
            sizes = 1 if self.normalised else batch[1] - batch[2]
            losses["sft"] = -self.sft_weight * (chosen / sizes).mean()
        return losses


@dataclass(eq=False, repr=False)
class DPOTrainer(Estimator):
    """Trains a language model on pairs of answers, eqs. (1) to (3).

    Parameters
    ----------
    model : NeuralLanguageModel
        A fitted one; it stays as it is and is the reference.
    beta : float, default=0.1
        How strongly the model is held to the reference.
    loss : {"sigmoid", "hinge", "ipo"}, default="sigmoid"
    label_smoothing : float, default=0
        Chance that a preference is the wrong way round.
    length_normalised : bool, default=False
        Whether log p is the mean over the tokens of an answer and not the sum.
    sft_weight : float, default=0
        Weight of -log p of the preferred answers, per token, as a further loss.
    rank : int or None, default=None
        Learn additions of this rank to linear layers only (`nn.add_lora`).
    batch_size : int, default=16
        Pairs per step.
    n_epochs : int, default=3
    learning_rate_init : float, default=1e-4
        Rate at the beginning, which falls linearly to 0.
    clip : float or None, default=1
        Largest norm of a gradient.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the order.
    verbose : bool or int, default=False
    device : {"auto", "cpu", "cuda"}, default="auto"

    Attributes
    ----------
    model_ : NeuralLanguageModel
        The trained model.
    history_ : dict of arrays
        Per epoch: loss, chosen_log_prob and rejected_log_prob (means), margin (mean of
        beta m), accuracy (share of pairs with a margin above 0), of the pairs given as
        `validation`, else of up to 256 training pairs; and the mean lengths
        chosen_length and rejected_length.
    n_iter_, converged_, interrupted_

    Examples
    --------
    >>> from pansophy.text import DPOTrainer, NeuralLanguageModel
    >>> model = NeuralLanguageModel(
    ...     vocab_size=270, hidden_size=16, n_layers=1, n_heads=2, n_epochs=20,
    ...     early_stopping=False, random_state=0,
    ... ).fit(["tea is hot", "tea is cold", "ice is cold"])
    >>> trainer = DPOTrainer(model, learning_rate_init=0.01, n_epochs=10)
    >>> trainer = trainer.fit(["tea is"] * 4, [" hot"] * 4, [" cold"] * 4)
    >>> trainer.score(["tea is"], [" hot"], [" cold"])
    1.0
    """

    model: Any = None
    _: KW_ONLY
    beta: Positive = 0.1
    loss: Literal["sigmoid", "hinge", "ipo"] = "sigmoid"
    label_smoothing: FractionBelowOne = 0.0
    length_normalised: Flag = False
    sft_weight: NonNegative = 0.0
    rank: Count | None = None
    batch_size: Count = 16
    n_epochs: Count = 3
    learning_rate_init: Positive = 1e-4
    clip: Positive | None = 1.0
    random_state: Seed = None
    verbose: Verbosity = False
    device: DeviceName = "auto"

    def fit(self, prompts, chosen, rejected, *, validation=None):
        """Train on prompts, each with a preferred answer and another.

        Parameters
        ----------
        prompts, chosen, rejected : lists of str
        validation : (prompts, chosen, rejected) or None
            Pairs that the history is about.
        """
        check_params(self)
        self._check_model()
        rng = make_rng(self.random_state)
        pairs = self._pairs(prompts, chosen, rejected)
        shown = pairs if validation is None else self._pairs(*validation)
        model = self.model._copied()
        if self.rank is not None:
            with seeded_torch(torch.device("cpu"), draw_seed(rng)):
                nn.add_lora(model.net_, rank=self.rank)
        net = PreferenceNet(model.net_, self)
        steps = self.n_epochs * -(-len(pairs) // self.batch_size)
        run = lambda task: nn.train(
            net,
            pairs,
            epochs=self.n_epochs,
            batch_size=self.batch_size,
            optimiser=nn.Adam(self.learning_rate_init),
            schedule=warmup_linear(steps // 10),
            clip=self.clip,
            device=self.device,
            evaluate=lambda net: self._report(net, shown),
            seed=rng,
            task=task,
        )
        self._run_driver(run, total=self.n_epochs)
        model.net_ = detached_net(net.policy)
        self.model_ = model
        return self

    def _check_model(self):
        if self.model is None or not hasattr(self.model, "net_"):
            raise ValueError(
                "model of DPOTrainer must be a fitted NeuralLanguageModel."
            )

    def _pairs(self, prompts, chosen, rejected) -> PreferencePairs:
        """Tokens of pairs, and log ref of their answers, computed once."""
        listed = [list(prompts), list(chosen), list(rejected)]
        if len({*map(len, listed)}) != 1 or not listed[0]:
            sizes = ", ".join(str(len(part)) for part in listed)
            raise ValueError(
                "prompts, chosen and rejected must have equally many texts, at least "
                f"one; got {sizes}."
            )
        better, worse = (
            answers_to_prompts(self.model, listed[0], t) for t in listed[1:]
        )
        limit = self.model.context_length
        if isinstance(self.model.net_.layer, nn.TransformerEncoder):
            for part in (better, worse):
                longest = max(map(len, part.tokens))
                if longest > limit + 1:
                    raise ValueError(
                        f"a prompt and its answer have {longest - 1} tokens, but the "
                        f"model sees {limit}."
                    )
        logs = [self._log_probs(self.model, part) for part in (better, worse)]
        return PreferencePairs(better, worse, np.stack(logs, axis=1))

    def _log_probs(self, model, answers: Answers) -> np.ndarray:
        """log p of answers by a model, as eq. (1) takes them."""
        scored = model._scored(answers.tokens)
        parts = [v[b - 1 :] for v, b in zip(scored, answers.begins)]
        add = np.mean if self.length_normalised else np.sum
        return np.array([add(part) for part in parts])

    @torch.no_grad()
    def _report(self, net, pairs) -> dict[str, float]:
        """Entries of the history about pairs."""
        rows = np.arange(min(len(pairs), REPORTED_PAIRS))
        device = net.policy.embedding.weight.device
        results = []
        for start in range(0, len(rows), self.batch_size):
            batch = pairs.take(rows[start : start + self.batch_size])
            placed = [torch.from_numpy(part).to(device) for part in batch]
            logs = torch.stack(net.pair_log_probs(placed), 1)
            results.append(logs.double().cpu().numpy())
        logs = np.concatenate(results)
        rewards = self.beta * (logs - pairs.references[rows])
        margins = rewards[:, 0] - rewards[:, 1]
        return {
            "chosen_log_prob": float(logs[:, 0].mean()),
            "rejected_log_prob": float(logs[:, 1].mean()),
            "margin": float(margins.mean()),
            "accuracy": float(np.mean(margins > 0)),
            "chosen_length": float(pairs.chosen.sizes[rows].mean()),
            "rejected_length": float(pairs.rejected.sizes[rows].mean()),
        }

    def implicit_reward(self, prompts, answers) -> np.ndarray:
        """beta h of answers to prompts."""
        check_is_fitted(self, "model_")
        tokens = answers_to_prompts(self.model, list(prompts), list(answers))
        policy_log_probs = self._log_probs(self.model_, tokens)
        return self.beta * (policy_log_probs - self._log_probs(self.model, tokens))

    def score(self, prompts, chosen, rejected) -> float:
        """Share of pairs whose preferred answer has the higher implied reward."""
        better = self.implicit_reward(prompts, chosen)
        return float(np.mean(better > self.implicit_reward(prompts, rejected)))
