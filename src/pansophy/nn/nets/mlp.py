"""The multi-layer perceptron: linear maps with an activation g between them.

    H_0 = X,   Z_l = H_{l-1} W_l + b_l,   H_l = g(Z_l),   F = Z_L               (1)

trained on the weighted mean loss of a batch plus a penalty on the matrices,

    J = [ sum_i w_i l(y_i, f_i) + alpha/2 sum_l |W_l|^2 ] / sum_i w_i           (2)

where l is that of a head (`nn.heads`). Back-propagation goes through (1) in reverse:

    D_L = w (mean(F) - Y) / sum w                                               (3)
    dJ/dW_l = H_{l-1}' D_l + alpha W_l / sum w,   dJ/db_l = sum_i D_l           (4)
    D_{l-1} = (D_l W_l') * g'(Z_{l-1})                                          (5)

`losses` states J for autograd. `gradients` computes (1)-(5) without autograd,
straight into the gradient vector: a net this small spends more time in autograd's
bookkeeping than in its matrix products. Tests compare the two.

Cost      O(n sum_l m_{l-1} m_l) a pass, three products a layer
Shapes    X (n, m_0)   W_l (m_{l-1}, m_l)   b_l (m_l,)   F, Y (n, m_L)   w (n,)
Refs      [Rumelhart1986] back-propagation; [Srivastava2014] dropout
"""

import numpy as np
import torch
from torch import Tensor, nn

from ...core.arrays.arrays import to_numpy
from ..layers.activations import ACTIVATIONS, Activation
from ..layers.init import warn_of_equal_units
from .heads import HEADS, Head, positive_total


class MLP(nn.Module):
    """Eq. (1) from given matrices and biases, with a head's loss.

    Parameters
    ----------
    coefs, intercepts : list of arrays
        W_l and b_l; their dtype is the net's.
    activation : str
        g, one of `nn.ACTIVATIONS`.
    head : str
        One of `nn.HEADS`.
    alpha : float
        Weight of the penalty in eq. (2).
    dropout : float
        Chance that a hidden unit is silenced in a training step.
    """

    def __init__(
        self, coefs, intercepts, *, activation="relu", head="softmax", alpha=0.0,
        dropout=0.0,
    ):  # fmt: skip
        super().__init__()
        parameter = lambda a: nn.Parameter(torch.tensor(np.asarray(a)))
        self.weights = nn.ParameterList([parameter(W) for W in coefs])
        self.biases = nn.ParameterList([parameter(b) for b in intercepts])
        self.layers = list(zip(self.weights, self.biases))
        self.activation_name, self.head_name = activation, head
        self.alpha, self.dropout = float(alpha), float(dropout)
        warn_of_equal_units(*([np.asarray(a) for a in p] for p in (coefs, intercepts)))

    capturable = True  # every step does the same

    @property
    def activation(self) -> Activation:
        """g of eq. (1); held by its name, so that a net can be saved."""
        return ACTIVATIONS[self.activation_name]

    @property
    def head(self) -> Head:
        return HEADS[self.head_name]

    @property
    def has_manual_gradients(self) -> bool:
        """Whether `gradients` may replace autograd."""
        return self.dropout == 0

    def flops(self, n: int) -> float:
        """Operations of a step on n rows: three products a layer."""
        return 6.0 * n * sum(W.numel() for W in self.weights)

    def forward(self, X: Tensor) -> Tensor:
        """Raw scores F, eq. (1)."""
        *hidden, (W, b) = self.layers
        H = X
        for V, c in hidden:
            H = self.activation.value(torch.addmm(c, H, V))
            if self.dropout:
                H = nn.functional.dropout(H, self.dropout, self.training)
        return torch.addmm(b, H, W)

    def losses(self, batch) -> dict[str, Tensor]:
        """J of eq. (2) for a batch (X, Y) or (X, Y, w); no penalty in eval mode."""
        X, Y, *rest = batch
        value = self.head.value(Y, self.forward(X))
        w = rest[0] if rest else None
        total = len(X) if w is None else positive_total(w.sum())
        cost = value.sum() if w is None else w @ value
        if self.alpha and self.training:  # a held-out loss is of the data alone
            cost = cost + self.alpha / 2 * sum(W.square().sum() for W in self.weights)
        return {"loss": cost / total}

    def forward_pass(self, X: Tensor) -> list[Tensor]:
        """H_0, ..., H_{L-1} and F of eq. (1), for `backward_pass`; no dropout."""
        *hidden, (W, b) = self.layers
        apply_ = self.activation.apply_
        H = [X]
        for V, c in hidden:
            H.append(apply_(torch.addmm(c, H[-1], V)))
        H.append(torch.addmm(b, H[-1], W))
        return H

    def backward_pass(self, H: list[Tensor], D: Tensor, decay=0.0) -> None:
        """Put dJ/dW_l and dJ/db_l of eqs. (4), (5) into `.grad`, under `no_grad`.

        H is what `forward_pass` gave, D (n, m_L) is dJ/dF of any objective J, and
        `decay` stands for alpha / sum w.
        """
        slope = self.activation.backward
        for i in range(len(self.layers) - 1, -1, -1):
            W, b = self.layers[i]
            if isinstance(decay, Tensor):
                torch.mm(H[i].t(), D, out=W.grad)
                W.grad.addcmul_(W, decay)
            elif decay:
                torch.addmm(W, H[i].t(), D, beta=decay, out=W.grad)  # (4)
            else:
                torch.mm(H[i].t(), D, out=W.grad)
            torch.sum(D, 0, out=b.grad)
            if i:
                D = slope(torch.mm(D, W.t()), H[i])  # (5)

    def gradients(self, batch) -> dict[str, Tensor]:
        """J, its gradient put into `.grad` of every parameter; under `no_grad`."""
        X, Y, *rest = batch
        H = self.forward_pass(X)
        value, D = self.head.value_and_gradient(Y, H[-1])
        if rest:
            w = rest[0]
            J = torch.dot(rest[0], value)
            total = positive_total(w.sum())
            if X.device.type == "cpu":
                total = float(total)  # elsewhere the CPU would wait for the device
            D.mul_((w / total)[:, None])  # (3)
        else:
            total = len(X)
            J = value.sum()
            D.div_(total)
        self.backward_pass(H, D, self.alpha / total)
        if self.alpha:
            for W in self.weights:
                J.add_(torch.dot(W.view(-1), W.view(-1)), alpha=self.alpha / 2)
        return {"loss": J.div_(total)}


def fitted_weights(net) -> dict:
    """Fitted attributes of a net: plain arrays."""
    copies = lambda parts: [to_numpy(p).copy() for p in parts]
    return {"coefs_": copies(net.weights), "intercepts_": copies(net.biases)}
