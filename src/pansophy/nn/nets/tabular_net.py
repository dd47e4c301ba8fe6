"""Residual networks for tables, with embeddings of numbers and of categories.

A row is d numbers x and c category codes z. Its features are

    h = [x, missing(x), v_1, ..., v_d, u_1(z_1), ..., u_c(z_c)]                    (1)

the standardised numbers themselves, a mark for each missing one (which is 0 then), an
embedding v_j of each number (`numeric_embeddings`) and u_j of each category, code 0
being a category that is missing or new. Blocks then correct a hidden state,

    h_0 = W h + b,   h_l = h_{l-1} + dropout(B g(dropout(A norm(h_{l-1}))))        (2)
    F = V g(norm(h_L)) + U h + c                                                   (3)

with layer normalisation, so that the answer for a row does not depend on its batch. V
and B begin at 0: training starts from the linear model U h + c, and what bends is what
the rows ask for, which keeps the net tame where rows are few.

With M > 1 members the net is an ensemble that shares its matrices. Member m sees the
features through factors r_m of its own and reads its scores off by a V_m of its own,

    h_0 = W (r_m * h) + b,   F_m = V_m g(norm(h_L)) + U h + c_m                    (4)

The factors begin as random signs, so that the members begin as different functions of
the same matrices, and are learnt. The training loss is the mean of the members' losses,
which keeps them apart where a loss of their mean would let them lean on each other;
the answer is their mixture: the mean of probabilities or of numbers.

Cost      O(rows (d T width + M hidden^2 blocks))
Shapes    x (rows, d), NaN where missing   z (rows, c) of int   F (rows, outputs)
          F_m (rows, M, outputs)
Refs      [Gorishniy2021] residual nets for tables; [Gorishniy2022] embeddings;
          [Gorishniy2025] members; [Wen2020] factors of shared matrices
"""

import torch
from torch import Tensor, nn

from ...params import check_count
from ..layers.activations import ACTIVATIONS
from ..layers.dropout import Dropout
from ..layers.normalisation import LayerNorm
from ..layers.numeric_embeddings import (
    ColumnLinear,
    PeriodicEmbedding,
    PiecewiseLinearEmbedding,
)
from .heads import HEADS, mixture_scores, positive_total, weighted_mean_loss


class CategoryEmbedding(nn.Module):
    """Vectors of categories: a table of its own for each column of codes.

    Parameters
    ----------
    levels : sequence of int
        Codes of each column, 0 (missing or new) included.
    width : int

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import CategoryEmbedding
    >>> CategoryEmbedding([3, 5], 4)(torch.tensor([[2, 4]])).shape
    torch.Size([1, 2, 4])
    """

    start: Tensor

    def __init__(self, levels, width):
        super().__init__()
        begin = torch.tensor([0, *levels]).cumsum(0)
        self.register_buffer("start", begin[:-1])
        self.table = nn.Embedding(int(begin[-1]), width)
        nn.init.normal_(self.table.weight, std=width**-0.5)

    def forward(self, z: Tensor) -> Tensor:
        return self.table(z + self.start)


def number_embedding(kind, bins, width, *, activation=True) -> nn.Module | None:
    """ "piecewise", "periodic" or None, for columns of these bins."""
    if kind is None or not bins:
        return None
    if kind == "periodic":
        return PeriodicEmbedding(len(bins), width, activation=activation)
    if kind == "piecewise":
        return PiecewiseLinearEmbedding(bins, width, activation=activation)
    raise ValueError(
        f'embedding must be "piecewise", "periodic" or None, got {kind!r}.'
    )


def _random_signs(*shape: int) -> Tensor:
    """Numbers 1 and -1 of equal chance."""
    return 2.0 * torch.randint(0, 2, shape) - 1


class ResidualBlock(nn.Module):
    """One correction of the hidden state, eq. (2)."""

    def __init__(self, width, hidden, dropout, activation):
        super().__init__()
        self.norm = LayerNorm(width)
        self.first = nn.Linear(width, hidden)
        self.second = nn.Linear(hidden, width)
        self.dropout = Dropout(dropout)
        self.activation = activation
        nn.init.zeros_(self.second.weight)
        nn.init.zeros_(self.second.bias)

    def forward(self, h: Tensor) -> Tensor:
        inner = ACTIVATIONS[self.activation].value(self.first(self.norm(h)))
        return h + self.dropout(self.second(self.dropout(inner)))


class TabularResNet(nn.Module):
    """Residual net for rows of numbers and category codes, eq. (1) to (4).

    Parameters
    ----------
    bins : list of arrays
        Quantiles of each column of numbers (`distinct_quantiles`), in the units of x.
    levels : sequence of int
        Codes of each categorical column.
    n_outputs : int
    n_blocks : int, default=2
    hidden_size : int, default=128
    embedding : {"piecewise", "periodic"} or None, default="piecewise"
    embedding_size : int, default=8
    dropout : float, default=0.1
    activation : str, default="relu"
    head : str, default="softmax"
    alpha : float, default=0
        Penalty on the squared entries of all matrices, over the weight of a batch.
    n_members : int, default=1
        M, members that share the matrices, eq. (4).

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import TabularResNet
    >>> net = TabularResNet([[0.0, 1.0]] * 3, [4], 2)
    >>> net(torch.zeros(5, 3), torch.zeros(5, 1, dtype=torch.int64)).shape
    torch.Size([5, 2])
    """

    undecayed = ("factors",)
    output_layers = ("output", "linear")
    n_members = 1  # of nets that were saved before there were members

    def __init__(
        self, bins, levels, n_outputs, *, n_blocks=2, hidden_size=128,
        embedding="piecewise", embedding_size=8, dropout=0.1, activation="relu",
        head="softmax", alpha=0.0, n_members=1,
    ):  # fmt: skip
        super().__init__()
        self.head, self.activation = head, activation
        self.alpha = float(alpha)
        self.numbers = number_embedding(embedding, bins, embedding_size)
        self.categories = CategoryEmbedding(levels, embedding_size) if levels else None
        embedded = len(levels) + (len(bins) if self.numbers is not None else 0)
        width = 2 * len(bins) + embedding_size * embedded
        self.input = nn.Linear(width, hidden_size)
        self.blocks = nn.ModuleList(
            ResidualBlock(hidden_size, 2 * hidden_size, dropout, activation)
            for _ in range(n_blocks)
        )
        self.norm = LayerNorm(hidden_size)
        self.n_members = check_count("n_members", n_members)
        if self.n_members > 1:
            self.factors = nn.Parameter(_random_signs(self.n_members, width))
        self.reset_output(n_outputs)

    def reset_output(self, n_outputs: int):
        """New layers V and U for so many outputs; they begin at 0."""
        k = self.input.out_features
        self.output = (
            nn.Linear(k, n_outputs)
            if self.n_members == 1
            else ColumnLinear(self.n_members, k, n_outputs)
        )
        self.linear = nn.Linear(self.input.in_features, n_outputs, bias=False)
        for layer in (self.output, self.linear):
            nn.init.zeros_(layer.weight)
        nn.init.zeros_(self.output.bias)
        self.to(self.input.weight)

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: three passes."""
        shared = sum(
            p.numel()
            for part in (self.input, self.blocks)
            for p in part.parameters()
            if p.ndim > 1
        )
        n_weights = sum(p.numel() for p in self.parameters() if p.ndim > 1)
        return 6.0 * n * (n_weights + (self.n_members - 1) * shared)

    def features(self, x: Tensor, z: Tensor) -> Tensor:
        """h of eq. (1)."""
        missing = torch.isnan(x)
        x = torch.where(missing, torch.zeros_like(x), x)
        parts = [x, missing.to(x.dtype)]
        if self.numbers is not None:
            v = self.numbers(x) * ~missing[:, :, None]
            parts.append(v.flatten(1))
        if self.categories is not None:
            parts.append(self.categories(z).flatten(1))
        return torch.cat(parts, 1)

    def member_scores(self, x: Tensor, z: Tensor) -> Tensor:
        """F_m of eq. (4): (rows, members, outputs); with one member, F of eq. (3)."""
        features = self.features(x, z)
        linear = self.linear(features)
        if self.n_members > 1:
            features = features[:, None] * self.factors
            linear = linear[:, None]
        h = self.input(features)
        for block in self.blocks:
            h = block(h)
        deep = self.output(ACTIVATIONS[self.activation].value(self.norm(h)))
        return deep + linear

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        """Scores of the members' mixture."""
        F = self.member_scores(x, z)
        return F if self.n_members == 1 else mixture_scores(self.head, F)

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted mean loss of a batch (x, z, Y) or (x, z, Y, w).

        In training it is the mean of the members' losses, else that of their mixture.
        """
        x, z, Y, *rest = batch
        w = rest[0] if rest else None
        head = HEADS[self.head]
        M = self.n_members
        if M > 1 and self.training:
            F = self.member_scores(x, z).flatten(0, 1)
            repeated = None if w is None else w.repeat_interleave(M)
            loss = weighted_mean_loss(head, Y.repeat_interleave(M, 0), F, repeated)
        else:
            loss = weighted_mean_loss(head, Y, self.forward(x, z), w)
        if self.alpha and self.training:  # a held-out loss is of the data alone
            rows = len(x) if w is None else positive_total(w.sum())
            squares = sum(p.square().sum() for p in self.parameters() if p.ndim > 1)
            loss = loss + self.alpha / 2 * squares / rows
        return {"loss": loss}
