"""Adversarial attacks: small changes of rows that make a fixed model misjudge them.

Within a budget e around a row x, an attack looks for the change that raises most the
log odds m that the model is wrong,

    max_d m(x + d, y),   |d|_inf <= e  or  |d|_2 <= e                              (1)

m is lse_{k != y} F_k - F_y for class scores F, -F or F for one score of two classes,
and the squared error for numbers. Cross-entropy is log(1 + e^m), so that its gradient
has the same direction, but does not vanish where the model is sure. For detectors of
outliers F is the decision function, positive for usual rows: an attack hides outliers
(y = -1) and raises false alarms (y = 1).

    FGSM   d = e sign(g)  (inf),   e g / |g|  (2),   g = grad m(x)                 (2)
    PGD    x <- P(x + a step of (2) of size s), from a random place of the ball,
           where P is the nearest point of the ball; the best x of all is kept     (3)

(2) is the exact maximum for a linear model. A targeted attack lowers the log odds of a
label of the attacker's choice instead. Models are read, never changed: the nets are
copied, linear models are taken by their coefficients.

Cost      one backward pass (FGSM), one a step and restart (PGD)
Refs      [Goodfellow2015] (2); [Madry2018] (3)
"""

import copy
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...core.arrays.labels import class_codes
from ...core.random import draw_seed, make_rng
from ...nn.nets.heads import HEADS
from ...nn.training.devices import seeded_torch
from ...params import check_count

Norm = Literal["inf", "2"]
STEP_SHARE = 2.5  # of the budget that all steps of (3) together could go


class Victim(NamedTuple):
    """A fixed model as functions of tensors in the user's units."""

    scores: Callable[[Tensor], list[Tensor]]  # rows -> F of each net
    targets: Callable[[Any], Tensor]  # labels or numbers -> what the head takes
    head: str  # of `nn.HEADS`

    def log_odds(self, x: Tensor, Y: Tensor) -> Tensor:
        """m of eq. (1), the mean over the nets of an ensemble: (n,)."""
        return torch.stack(
            [wrong_log_odds(F, Y, self.head) for F in self.scores(x)]
        ).mean(0)


def wrong_log_odds(F: Tensor, Y: Tensor, head: str) -> Tensor:
    """m of eq. (1) from scores; for heads without odds the loss itself."""
    if head == "softmax" and Y.ndim == 1:
        own_score = F.gather(1, Y[:, None])[:, 0]
        other_scores = F.scatter(1, Y[:, None], -torch.inf)
        return other_scores.logsumexp(1) - own_score
    if head == "logistic" and F.shape[1] == 1:
        return ((1 - 2 * Y) * F)[:, 0]
    return HEADS[head].value(Y, F)


def victim_of(model, X) -> Victim:
    """A torch module, an estimator with nets, a perceptron or a linear model as victim.

    X are rows as the model takes them, by which their encoding is found.
    """
    if isinstance(model, torch.nn.Module):
        net = _frozen_copy(model)
        head = getattr(net, "head", "softmax")
        head = head if isinstance(head, str) else head.name
        dtype = next(iter(net.parameters()), torch.zeros((), dtype=torch.float64)).dtype
        return Victim(
            lambda x: [net(x.to(dtype))], lambda y: _as_target(y, dtype), head
        )
    if hasattr(model, "nets_"):
        return _net_victim(model, X)
    if hasattr(model, "estimators_") and hasattr(model, "offset_"):
        return _detector_victim(model)
    if hasattr(model, "coefs_") and hasattr(model, "intercepts_"):
        net = _frozen_copy(model._net(np.float64))

        def targets(y):
            Y = model._targets(np.asarray(y), np.zeros((1, 1)), False)
            return _as_target(Y, torch.float64)

        return Victim(lambda x: [net(x)], targets, model.out_activation_)
    if hasattr(model, "coef_") and hasattr(model, "intercept_"):
        return _linear_victim(model)
    raise TypeError(
        f"{type(model).__name__} cannot be attacked by gradients: give a torch module, "
        "a fitted net or detector of ours, or a linear model with coef_ and intercept_."
    )


def _frozen_copy(net):
    """A copy for evaluation whose weights take no gradients."""
    net = copy.deepcopy(net).cpu().eval()
    for p in net.parameters():
        p.requires_grad_(False)
    return net


def _as_target(y, dtype) -> Tensor:
    """Class numbers, or numbers in this precision."""
    y = torch.as_tensor(np.asarray(y))
    return y.to(dtype) if y.is_floating_point() else y.long()


def _net_victim(model, X) -> Victim:
    """An estimator that holds nets, with the encoding of its inputs undone."""
    encode = _input_encoding(model, X)
    nets = [_frozen_copy(net).double() for net in model.nets_]
    head = nets[0].head
    head = head if isinstance(head, str) else head.name

    def targets(y):
        return _as_target(model._encode_target(np.asarray(y)), torch.float64)

    def scores(x):
        inputs = encode(x)
        return [net(*inputs) for net in nets]

    return Victim(scores, targets, head)


def _input_encoding(model, X) -> Callable[[Tensor], tuple[Tensor, ...]]:
    """The map from rows in the user's units to the tensors that the nets take.

    Our nets take images with channels first, and columns centred and scaled: what is
    affine in every value is found from the encodings of rows of zeros and of ones.
    """
    shape = np.shape(X)
    probes = np.concatenate([np.zeros((1, *shape[1:])), np.ones((1, *shape[1:]))])
    first, *rest = model.net_inputs(probes)
    if any(np.size(a) for a in rest):
        raise ValueError(
            f"{type(model).__name__} has categorical columns, which have no gradient: "
            "attack a model of numbers."
        )
    empty = [torch.as_tensor(a[:1]) for a in rest]
    offset = torch.as_tensor(np.asarray(first[0], float))
    slope = torch.as_tensor(np.asarray(first[1], float)) - offset
    images = getattr(model, "image_shape_", None)

    def encode(x):
        if images is not None:
            x = x.reshape(len(x), *images).permute(0, 3, 1, 2)
        filled = [a.expand(len(x), *a.shape[1:]) for a in empty]
        return (x * slope + offset, *filled)

    (encoded, *_) = encode(torch.as_tensor(np.asarray(X[:2], float)))
    (truth, *_) = model.net_inputs(X[:2])
    if encoded.shape != truth.shape or not np.allclose(
        encoded.numpy(), truth, atol=1e-6
    ):
        raise ValueError(
            f"the inputs of {type(model).__name__} are no affine map of X, so that "
            "changes of X cannot be traced."
        )
    return encode


def _detector_victim(model) -> Victim:
    """A detector of outliers, by the mean score of its members less its threshold."""
    members = []
    for member in model.estimators_:
        if not hasattr(member, "net_") or not hasattr(member, "_log_density"):
            raise TypeError(
                f"{type(member).__name__} in {type(model).__name__} cannot be attacked "
                "by gradients: its members must be generative models of ours."
            )
        members.append((member, _frozen_copy(member.net_).double()))

    def decision(x):
        rows = x.flatten(1).double()
        total = torch.zeros(len(rows), dtype=torch.float64)
        for member, net in members:
            mean, scale = (
                torch.as_tensor(np.asarray(a, float))
                for a in (member.mean_, member.scale_)
            )
            # the noise of a score is the same for every row and call
            with seeded_torch(torch.device("cpu"), 0):
                score = member._log_density(net, (rows - mean) / scale, None)
            total = total + score
            if member._is_density:
                total = total - member._log_volume()
        return [(total / len(members) - model.offset_)[:, None]]

    def targets(y):
        y = np.asarray(y)
        if not np.isin(y, (-1, 1)).all():
            raise ValueError("y of a detector must be 1 (usual) or -1 (outlier).")
        return torch.as_tensor((y == 1).astype(float))[:, None]

    return Victim(decision, targets, "logistic")


def _linear_victim(model) -> Victim:
    """A linear model by its coefficients."""
    W = torch.as_tensor(np.atleast_2d(np.asarray(model.coef_, float)))
    b = torch.as_tensor(np.atleast_1d(np.asarray(model.intercept_, float)))
    classes = getattr(model, "classes_", None)
    if classes is None:
        head = "identity"
    else:
        head = "logistic" if len(classes) == 2 else "softmax"

    def targets(y):
        if classes is None:
            Y = torch.as_tensor(np.asarray(y, float))
            return Y[:, None] if Y.ndim == 1 else Y
        codes = torch.as_tensor(class_codes(np.asarray(y), classes=classes)[1])
        return codes.double()[:, None] if head == "logistic" else codes.long()

    return Victim(lambda x: [x.flatten(1).double() @ W.T + b], targets, head)


# -- steps inside the ball -----------------------------------------------------------


def ascent_step(g: Tensor, size, norm: Norm) -> Tensor:
    """The change of this size along which a linear function rises most, eq. (2)."""
    if norm == "inf":
        return size * g.sign()
    length = g.flatten(1).norm(dim=1).view(-1, *[1] * (g.ndim - 1))
    return size * g / torch.where(length > 0, length, torch.ones_like(length))


def inside_ball(d: Tensor, budget, norm: Norm) -> Tensor:
    """The nearest change within the budget."""
    if norm == "inf":
        return d.clamp(-budget, budget)
    length = d.flatten(1).norm(dim=1).view(-1, *[1] * (d.ndim - 1))
    return d * torch.clamp(budget / torch.where(length > 0, length, 1.0), max=1.0)


def random_start(x: Tensor, budget, norm: Norm) -> Tensor:
    """A random change within the budget, uniform in its ball."""
    if norm == "inf":
        return (2 * torch.rand_like(x) - 1) * budget
    d = torch.randn_like(x)
    values = d[0].numel()
    length = d.flatten(1).norm(dim=1)
    radius = torch.rand_like(length) ** (1 / values) * budget
    return d * (radius / length).view(-1, *[1] * (x.ndim - 1))


def _input_gradient(victim: Victim, x: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """m of each row, and its gradient in the row."""
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        m = victim.log_odds(x, Y)
        (g,) = torch.autograd.grad(m.sum(), x)
    return m.detach(), g


class AttackProblem(NamedTuple):
    """Checked rows and rules of an attack."""

    X: np.ndarray  # as given, in floating point
    x: Tensor
    Y: Tensor
    victim: Victim
    bounds: tuple | None

    def limit(self, x: Tensor) -> Tensor:
        return x if self.bounds is None else x.clamp(*self.bounds)


def check_norm(norm) -> Norm:
    """ "inf" or "2"; the numbers are taken for their names."""
    names = {"inf": "inf", "2": "2", np.inf: "inf", 2: "2"}
    if isinstance(norm, (str, int, float)) and norm in names:
        return names[norm]  # pyrefly: ignore
    raise ValueError(f'norm must be "inf" or "2", got {norm!r}.')


def _attack_problem(model, X, y, budget, norm, bounds) -> AttackProblem:
    """Everything an attack needs, checked."""
    if not (np.ndim(budget) == 0 and 0 <= budget < np.inf):
        raise ValueError(f"budget must be a number of at least 0, got {budget!r}.")
    X = np.asarray(X)
    X = X if X.dtype.kind == "f" else X.astype(float)
    if X.ndim < 2 or len(X) == 0 or not np.isfinite(X).all():
        raise ValueError("X must hold rows of finite numbers.")
    if len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, but y has {len(y)}.")
    if bounds is not None:
        low, high = (float(v) for v in bounds)
        if not low < high:
            raise ValueError(f"bounds must ascend, got {bounds!r}.")
        if X.min() < low or X.max() > high:
            raise ValueError(
                f"X has values from {X.min():g} to {X.max():g}, outside of bounds "
                f"{tuple(bounds)}."
            )
        bounds = (low, high)
    expected = getattr(model, "n_features_in_", None)
    if expected is not None and X[0].size != expected:
        raise ValueError(
            f"X has {X[0].size} features, but {type(model).__name__} is expecting "
            f"{expected} features as input."
        )
    victim = victim_of(model, X)
    x = torch.as_tensor(X.astype(float))
    return AttackProblem(X, x, victim.targets(y), victim, bounds)


def _as_given(problem: AttackProblem, x: Tensor) -> np.ndarray:
    """Attacked rows in the precision of X."""
    return x.numpy().astype(problem.X.dtype)


# -- attacks -------------------------------------------------------------------------


def fgsm(model, X, y, budget, *, norm: Norm = "inf", bounds=None, targeted=False):
    """Fast gradient sign method, eq. (2): one step that uses up the budget.

    Parameters
    ----------
    model : fitted net or detector of ours, linear model, or torch module
        A linear model has coef_ and intercept_, a detector is `AutoencoderDetector`.
    X : array of rows or images, as the model takes them
    y : array of n labels or numbers
        The true ones; with `targeted` those that the model is to answer. For a
        detector 1 (usual) or -1 (outlier).
    budget : float
        e, in the units of X.
    norm : {"inf", "2"}, default="inf"
        Largest change of any value, or length of the whole change.
    bounds : (low, high), optional
        Range of values that rows may have, such as (0, 1) for pixels.
    targeted : bool, default=False

    Returns
    -------
    array in the shape of X

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import fgsm
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.array([[-2.0, 0.0], [-1.0, 0.3], [1.0, -0.3], [2.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> model = LogisticRegression().fit(X, y)
    >>> bad = fgsm(model, X, y, 1.5)
    >>> model.predict(bad).tolist(), float(abs(bad - X).max())
    ([0, 1, 0, 1], 1.5)
    """
    norm = check_norm(norm)
    problem = _attack_problem(model, X, y, budget, norm, bounds)
    _, g = _input_gradient(problem.victim, problem.x, problem.Y)
    step = ascent_step(-g if targeted else g, float(budget), norm)
    return _as_given(problem, problem.limit(problem.x + step))


def pgd(
    model, X, y, budget, *, norm: Norm = "inf", bounds=None, targeted=False,
    n_steps=20, step_size=None, n_restarts=1, random_state=0,
):  # fmt: skip
    """Projected gradient descent, eq. (3): many small steps within the budget.

    Parameters
    ----------
    model, X, y, budget, norm, bounds, targeted
        As for `fgsm`.
    n_steps : int, default=20
    step_size : float, optional
        s; 2.5 budget / n_steps by default.
    n_restarts : int, default=1
        Random places to start from; the worst row of all is kept, the row itself among
        them, so that an attack never helps the model.
    random_state : seed

    Returns
    -------
    array in the shape of X

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import pgd
    >>> from pansophy.linear_model import LogisticRegression
    >>> X = np.array([[-2.0, 0.0], [-1.0, 0.3], [1.0, -0.3], [2.0, 0.0]])
    >>> y = np.array([0, 0, 1, 1])
    >>> model = LogisticRegression().fit(X, y)
    >>> model.predict(pgd(model, X, y, 1.5)).tolist()
    [0, 1, 0, 1]
    """
    n_steps = check_count("n_steps", n_steps)
    n_restarts = check_count("n_restarts", n_restarts)
    norm = check_norm(norm)
    problem = _attack_problem(model, X, y, budget, norm, bounds)
    if step_size is None:
        step_size = STEP_SHARE * budget / n_steps
    seed = draw_seed(make_rng(random_state))
    with seeded_torch(torch.device("cpu"), seed):
        result = _projected_ascent(
            problem, float(budget), norm, float(step_size), n_steps, n_restarts,
            -1.0 if targeted else 1.0,
        )  # fmt: skip
    return _as_given(problem, result)


def _projected_ascent(problem, budget, norm, step_size, n_steps, n_restarts, sign):
    """Eq. (3): the rows of largest sign * m over all steps and restarts."""
    victim, x, Y = problem.victim, problem.x, problem.Y
    with torch.no_grad():
        best_value = sign * victim.log_odds(x, Y)
    best = x.clone()

    def keep_better(place, value):
        better = value > best_value
        best[better] = place[better]
        best_value[better] = value[better]

    for _ in range(n_restarts):
        attacked = problem.limit(x + random_start(x, budget, norm))
        for _ in range(n_steps):
            m, g = _input_gradient(victim, attacked, Y)
            keep_better(attacked, sign * m)
            moved = attacked + ascent_step(sign * g, step_size, norm)
            attacked = problem.limit(x + inside_ball(moved - x, budget, norm))
        with torch.no_grad():
            keep_better(attacked, sign * victim.log_odds(attacked, Y))
    return best
