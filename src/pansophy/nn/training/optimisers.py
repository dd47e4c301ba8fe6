"""Optimisers on flat vectors: all parameters of a group are one tensor.

The parameters of a group are moved into one vector w, and their gradients into one
vector g, of which the module's own tensors become views. A step is then a handful of
operations whatever the number of layers, which on small nets is most of the time.

    SGD   u <- mu u - eta g;   w <- w + u   (Nesterov: w <- w + mu u - eta g)   (1)
    Adam  m <- b1 m + (1-b1) g;   v <- b2 v + (1-b2) g^2
          w <- w - eta m^ / (sqrt(v^) + eps),  m^, v^ corrected for their start (2)
    Lion  w <- w - eta sign(b1 m + (1-b1) g);   m <- b2 m + (1-b2) g            (3)
    Muon  u <- mu u + (1-mu) g;   W <- W - eta s UV',  U S V' = svd(u)          (4)

In (4) the update of a matrix is its momentum with all singular values set to about 1,
by five Newton-Schulz iterations X <- a X + (b A + c A^2) X, A = XX', which need
products only; s = 0.2 sqrt(longer side) gives the update the size of Adam's, so that
rates carry over. With Nesterov, (1-mu) g + mu u stands for u. Arrays with more than
two axes are matrices of their first axis against the rest; those with fewer are moved
by the Adam rule in `vectors`.

`decay` pulls matrices (not biases, gains, embeddings: `spared_parameters`) towards 0 by
eta*decay apart from the gradient, as in AdamW. `ParameterGroups` gives parameters rules
by their names. Any `torch.optim` class can be used through `TorchOptimiser`.

The rate's factor `scale` is a number, or a 0-dimensional tensor where the step is
recorded in a CUDA graph (`nn.training.step_capture`).

Refs      [Kingma2015] Adam; [Loshchilov2019] decoupled decay; [Nesterov1983];
          [Chen2023] Lion; [Jordan2024] Muon
"""

import difflib
import functools
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import torch
from torch import Tensor


class FlatParameters:
    """Parameters of one dtype and device as views of a flat vector.

    First come the matrices, of them first those that decay.
    """

    def __init__(self, params: list[torch.nn.Parameter], spared=()):
        decayed, spared_matrices, vectors = decay_order(params, spared)
        matrices = decayed + spared_matrices
        self.params = matrices + vectors
        total = sum(p.numel() for p in self.params)
        like = self.params[0].detach()
        self.w = torch.empty(total, dtype=like.dtype, device=like.device)
        self.g = torch.zeros_like(self.w)
        self.n_matrix = sum(p.numel() for p in matrices)
        self.n_decayed = sum(p.numel() for p in decayed)
        offset = 0
        for p in self.params:
            cut = slice(offset, offset + p.numel())
            self.w[cut] = p.detach().reshape(-1)
            p.data = self.w[cut].view(p.shape)
            p.grad = self.g[cut].view(p.shape)
            offset = cut.stop


def decay_order(params, spared):
    """Matrices that decay, matrices in `spared`, which do not, and vectors."""
    spared_ids = {id(p) for p in spared}
    matrices = [p for p in params if p.ndim > 1]
    return (
        [p for p in matrices if id(p) not in spared_ids],
        [p for p in matrices if id(p) in spared_ids],
        [p for p in params if p.ndim <= 1],
    )


class FlatSlice(NamedTuple):
    """A part of flat parameters without matrices, for a rule of its own."""

    w: Tensor
    g: Tensor
    n_matrix: int = 0
    n_decayed: int = 0


def flatten_parameters(
    params: Iterable[torch.nn.Parameter], spared=()
) -> list[FlatParameters]:
    """Packs of the trainable parameters, one for each dtype and device."""
    groups: dict[Any, list] = {}
    for p in params:
        if p.requires_grad:
            groups.setdefault((p.dtype, p.device), []).append(p)
    return [FlatParameters(group, spared) for group in groups.values()]


def spared_parameters(net) -> list[torch.nn.Parameter]:
    """Parameters with two axes or more that are no matrices of a layer.

    They are the tables of embeddings, and those whose names a module lists in
    `undecayed`: biases by place, positions, the poles of a state space.
    """
    spared = []
    for module in net.modules():
        if isinstance(module, torch.nn.Embedding):
            spared.append(module.weight)
        listed = getattr(module, "undecayed", ())
        spared += [p for name, p in module.named_parameters() if name in listed]
    return spared


def _subtract_scaled(w: Tensor, g: Tensor, eta) -> None:
    """w <- w - eta g, where eta is a number or a 0-dimensional tensor."""
    if isinstance(eta, Tensor):
        w.addcmul_(g, -eta.to(g.dtype))
    else:
        w.sub_(g, alpha=eta)


class SGD(NamedTuple):
    """Gradient descent with momentum, eq. (1)."""

    lr: float = 0.1
    momentum: float = 0.0
    nesterov: bool = False
    decay: float = 0.0

    def init(self, p: FlatParameters) -> dict[str, Tensor]:
        return {"u": torch.zeros_like(p.w)} if self.momentum else {}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        eta = self.lr * scale
        mu = self.momentum
        if self.decay:
            p.w[: p.n_decayed].mul_(1 - eta * self.decay)
        if not mu:
            _subtract_scaled(p.w, p.g, eta)
            return
        u = state["u"].mul_(mu)
        _subtract_scaled(u, p.g, eta)
        if self.nesterov:
            p.w.add_(u, alpha=mu)
            _subtract_scaled(p.w, p.g, eta)
        else:
            p.w.add_(u)


class Adam(NamedTuple):
    """Steps scaled by running moments of the gradient, eq. (2)."""

    lr: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    decay: float = 0.0

    def init(self, p: FlatParameters | FlatSlice) -> dict[str, Tensor]:
        return {
            "m": torch.zeros_like(p.w),
            "v": torch.zeros_like(p.w),
            "t": torch.zeros((), device=p.w.device),
        }

    def step(self, p: FlatParameters | FlatSlice, state: dict, scale: float) -> None:
        eta = self.lr * scale
        if self.decay:
            p.w[: p.n_decayed].mul_(1 - eta * self.decay)
        m, v, t = state["m"], state["v"], state["t"]
        t.add_(1)
        if FUSED:
            torch._fused_adam_(
                [p.w], [p.g], [m], [v], [], [t],
                lr=eta, beta1=self.beta1, beta2=self.beta2, eps=self.eps,
                weight_decay=0.0, amsgrad=False, maximize=False,
            )  # fmt: skip
        else:
            self.plain(p, m, v, float(t), float(eta))

    def plain(self, p, m, v, t, eta):
        """Eq. (2) in separate operations, where torch has no fused one."""
        m.lerp_(p.g, 1 - self.beta1)
        v.mul_(self.beta2).addcmul_(p.g, p.g, value=1 - self.beta2)
        spread = v.sqrt().div_((1 - self.beta2**t) ** 0.5).add_(self.eps)
        p.w.addcdiv_(m, spread, value=-eta / (1 - self.beta1**t))


FUSED = hasattr(torch, "_fused_adam_")  # one pass over w, g, m, v; torch's own name


def AdamW(lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.01) -> Adam:
    """Adam with decoupled weight decay on matrices: `Adam` with a decay that is not 0.

    Examples
    --------
    >>> from pansophy import nn
    >>> nn.AdamW(3e-4).decay
    0.01
    """
    return Adam(lr, beta1, beta2, eps, decay)


class Lion(NamedTuple):
    """Steps of equal size along the sign of a running mean, eq. (3)."""

    lr: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.99
    decay: float = 0.0

    def init(self, p: FlatParameters) -> dict[str, Tensor]:
        return {"m": torch.zeros_like(p.w)}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        eta = self.lr * scale
        if self.decay:
            p.w[: p.n_decayed].mul_(1 - eta * self.decay)
        m = state["m"]
        _subtract_scaled(p.w, torch.lerp(m, p.g, 1 - self.beta1).sign_(), eta)
        m.lerp_(p.g, 1 - self.beta2)


class Muon(NamedTuple):
    """Orthogonalised momentum for matrices, eq. (4), Adam for the rest.

    Meant for the matrices of hidden layers: give embeddings and the output layer
    another rule with `ParameterGroups`.
    """

    lr: float = 1e-3
    momentum: float = 0.95
    nesterov: bool = True
    decay: float = 0.0
    iterations: int = 5
    vectors: Adam = Adam()

    def init(self, p: FlatParameters) -> dict[str, Tensor]:
        state = {"u": torch.zeros_like(p.w[: p.n_matrix])}
        rest = self.without_matrices(p)
        return {**state, **self.vectors.init(rest)} if len(rest.w) else state

    def without_matrices(self, p) -> FlatSlice:
        """Biases and gains of flat parameters."""
        return FlatSlice(p.w[p.n_matrix :], p.g[p.n_matrix :])

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        eta = self.lr * scale
        n = p.n_matrix
        mu = self.momentum
        u = state["u"].lerp_(p.g[:n], 1 - mu)
        if self.nesterov:
            u = torch.lerp(p.g[:n], u, mu)
        if self.decay:
            p.w[: p.n_decayed].mul_(1 - eta * self.decay)
        offset = 0
        alike: dict[Any, list] = {}  # matrices of one shape go through one product
        for q in p.params:
            if q.ndim > 1:
                cut = slice(offset, offset + q.numel())
                offset = cut.stop
                alike.setdefault((len(q), q.numel() // len(q)), []).append(cut)
        for shape, cuts in alike.items():
            stack = torch.stack([u[cut].view(shape) for cut in cuts])
            update = orthogonalised(stack, self.iterations).to(u.dtype)
            size = 0.2 * max(shape) ** 0.5
            for cut, change in zip(cuts, update):
                _subtract_scaled(p.w[cut], change.reshape(-1).mul(size), eta)
        if n < len(p.w):
            self.vectors.step(self.without_matrices(p), state, scale)


def orthogonalised(M: Tensor, iterations: int = 5) -> Tensor:
    """Matrices (..., m, k) with their singular values brought near 1, eq. (4).

    Computed in bfloat16 on a GPU, which is enough for a direction.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn.training.optimisers import orthogonalised
    >>> M = torch.tensor([[3.0, 0.0], [0.0, 0.2]])
    >>> bool((torch.linalg.svdvals(orthogonalised(M)) - 1).abs().max() < 0.35)
    True
    """
    a, b, c = 3.4445, -4.7750, 2.0315  # steep at 0; carries (0, 1] near to 1
    X = M.bfloat16() if M.device.type == "cuda" else M
    wide = X.shape[-1] >= X.shape[-2]
    X = X if wide else X.mT
    X = X / (torch.linalg.matrix_norm(X, keepdim=True) + 1e-7)
    for _ in range(iterations):
        A = X @ X.mT
        X = a * X + (b * A + c * (A @ A)) @ X
    return X if wide else X.mT


class TorchOptimiser(NamedTuple):
    """Any `torch.optim` class: `TorchOptimiser(torch.optim.Adagrad, {"lr": 0.01})`."""

    make: Callable[..., torch.optim.Optimizer]
    options: dict = {}

    def init(self, p: FlatParameters) -> dict:
        return {"optimiser": self.make(p.params, **self.options)}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        optimiser = state["optimiser"]
        for group in optimiser.param_groups:
            group.setdefault("initial_lr", group["lr"])
            group["lr"] = group["initial_lr"] * scale
        optimiser.step()


class BoundOptimiser(NamedTuple):
    """A `torch.optim` object that was made with the parameters of the net."""

    optimiser: torch.optim.Optimizer

    def init(self, p: FlatParameters) -> dict:
        held = [q for group in self.optimiser.param_groups for q in group["params"]]
        if not {id(q) for q in held} & {id(q) for q in p.params}:
            raise ValueError(
                f"the {type(self.optimiser).__name__} was made for parameters that are "
                "not the net's: make it with net.parameters()."
            )
        # parameters of several dtypes are packs of their own, but it steps once
        is_first = any(q is held[0] for q in p.params)
        return {"optimiser": self.optimiser} if is_first else {}

    def step(self, p: FlatParameters, state: dict, scale: float) -> None:
        """A step at the rates of its groups, times `scale`."""
        if not state:
            return
        rates = [group["lr"] for group in self.optimiser.param_groups]
        for group, rate in zip(self.optimiser.param_groups, rates):
            group["lr"] = rate * scale
        self.optimiser.step()
        for group, rate in zip(self.optimiser.param_groups, rates):
            group["lr"] = rate


class ParameterGroups(NamedTuple):
    """Optimisers by the names of parameters; the first pattern that fits decides.

    Parameters
    ----------
    rules : dict
        Shell patterns of names, as `net.named_parameters()` has them, and a rule each.
    default : optimiser
        For the parameters that no pattern fits.

    Examples
    --------
    >>> from pansophy import nn
    >>> rules = nn.ParameterGroups(
    ...     {"embedding.*": nn.Adam(3e-3), "head.*": nn.Adam(1e-3)}, nn.Muon(2e-3)
    ... )
    >>> rules.rule_for("head.weight").lr
    0.001
    """

    rules: dict[str, Any]
    default: Any

    def rule_for(self, name: str):
        """The rule of the parameter with this name."""
        for pattern, rule in self.rules.items():
            if fnmatchcase(name, pattern):
                return rule
        return self.default

    def check_patterns(self, names: Iterable[str]) -> None:
        """Raise if a pattern fits no parameter."""
        names = list(names)
        for pattern in self.rules:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise ValueError(
                    f"no parameter is called {pattern!r}, a pattern of "
                    f"ParameterGroups; there are {', '.join(names)}."
                )


Optimiser = SGD | Adam | Lion | Muon | TorchOptimiser | BoundOptimiser | ParameterGroups

OPTIMISER_NAMES: dict[str, Callable[..., Any]] = {
    "sgd": SGD,
    "momentum": functools.partial(SGD, momentum=0.9),
    "adam": Adam,
    "adamw": AdamW,
    "lion": Lion,
    "muon": Muon,
}
TORCH_OPTIMISERS = {
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rprop": torch.optim.Rprop,
}


def make_optimiser(value, lr=None, **options):
    """An optimiser from a name, a rule of ours, or a class or object of `torch.optim`.

    Parameters
    ----------
    value : str, rule, class, object, or a dict of them
    lr : float or None
        The rate; None is the rule's own.
    **options
        Other parameters of a rule that is given by name or as a class.

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn.training.optimisers import make_optimiser
    >>> make_optimiser("sgd", lr=0.5).lr
    0.5
    >>> make_optimiser(torch.optim.RMSprop, lr=0.01).options
    {'lr': 0.01}
    """
    if isinstance(value, dict):
        return {k: make_optimiser(v, lr, **options) for k, v in value.items()}
    if isinstance(value, str):
        name = value.lower()
        if name in TORCH_OPTIMISERS:
            return make_optimiser(TORCH_OPTIMISERS[name], lr)
        if name not in OPTIMISER_NAMES:
            known = [*OPTIMISER_NAMES, *TORCH_OPTIMISERS]
            near = difflib.get_close_matches(name, known, 1)
            advice = f"Did you mean {near[0]!r}?" if near else f"There are {known}."
            raise ValueError(f"no optimiser is called {value!r}. {advice}")
        rate = {} if lr is None else {"lr": lr}
        return OPTIMISER_NAMES[name](**rate, **options)
    if isinstance(value, torch.optim.LBFGS) or value is torch.optim.LBFGS:
        raise ValueError(
            "torch.optim.LBFGS needs a closure: use MLPClassifier(solver='lbfgs'), or "
            "another optimiser."
        )
    if isinstance(value, torch.optim.Optimizer):
        if lr is not None:
            raise ValueError(
                "lr is a parameter of the torch optimiser that was given: set it there."
            )
        return BoundOptimiser(value)
    is_class = isinstance(value, type) and issubclass(value, torch.optim.Optimizer)
    if is_class or isinstance(value, functools.partial):
        return TorchOptimiser(value, {} if lr is None else {"lr": lr})
    if lr is not None and hasattr(value, "lr"):
        return value._replace(lr=lr)
    is_rule = hasattr(value, "init") and hasattr(value, "step")
    if not is_rule and not isinstance(value, ParameterGroups):
        raise TypeError(
            "optimiser must be a name, a rule of pansophy.nn, or a class or object of "
            f"torch.optim, got {value!r}."
        )
    return value


class ParameterPack(NamedTuple):
    """Flat parameters, the rule that moves them, and its state."""

    rule: Any
    flat: Any  # FlatParameters, or parallel.ShardedParameters
    state: dict[str, Any]


def pack_parameters(
    named: dict[str, torch.nn.Parameter], rule, spared=()
) -> list[ParameterPack]:
    """Packs of the trainable ones of these parameters, by rule, dtype and device."""
    members: list[tuple[Any, list]] = []
    if isinstance(rule, ParameterGroups):
        rule.check_patterns(named)
        chosen = [(rule.rule_for(name), p) for name, p in named.items()]
        for member_rule in (*rule.rules.values(), rule.default):
            members.append(
                (member_rule, [p for member, p in chosen if member is member_rule])
            )
            chosen = [(member, p) for member, p in chosen if member is not member_rule]
    else:
        members.append((rule, list(named.values())))
    return [
        ParameterPack(member_rule, flat, member_rule.init(flat))
        for member_rule, params in members
        for flat in flatten_parameters(params, spared)
    ]


def optimiser_tensors(state: dict) -> dict[str, Tensor]:
    """An optimiser's state as named tensors."""
    if "optimiser" not in state:
        return dict(state)
    slots = state["optimiser"].state_dict()["state"]
    return {
        f"{i}/{name}": value if isinstance(value, Tensor) else torch.tensor(value)
        for i, slot in slots.items()
        for name, value in slot.items()
        if value is not None
    }


def restore_optimiser(state: dict, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimiser_tensors` gave."""
    if "optimiser" not in state:
        for name, value in tensors.items():
            state[name].copy_(value)
        return
    optimiser = state["optimiser"]
    slots = {}
    for key, value in tensors.items():
        i, name = key.split("/", 1)
        slots.setdefault(int(i), {})[name] = value
    saved = optimiser.state_dict()
    optimiser.load_state_dict({**saved, "state": slots})
