"""FT-transformer: a table's row as a set of tokens that attend to each other.

Each number and each category of a row becomes a token of width k,

    number    t_j = W_j e(x_j) + b_j    (e piecewise linear, periodic, or x_j itself)
    missing   t_j = m_j                                                            (1)
    category  t_j = u_j(z_j)

to which a token of the whole row is added. Blocks of self-attention without positions
(the columns have no order; their tokens tell them apart) mix the tokens, and the score
is read off the token of the row,

    F = V relu(norm(t_row)) + c                                                    (2)

Cost      O(rows (d + c + 1)^2 k layers), memory linear in the number of tokens
Shapes    x (rows, d), NaN where missing   z (rows, c) of int   F (rows, outputs)
Refs      [Gorishniy2021]
"""

import torch
from torch import Tensor, nn

from ..layers.normalisation import LayerNorm
from ..layers.transformer import BlockOptions, TransformerEncoder
from .heads import HEADS, weighted_mean_loss
from .tabular_net import CategoryEmbedding, number_embedding


class LinearTokens(nn.Module):
    """x_j W_j + b_j: (rows, d) -> (rows, d, width)."""

    def __init__(self, columns, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(columns, width) * width**-0.5)
        self.bias = nn.Parameter(torch.randn(columns, width) * width**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        return torch.addcmul(self.bias, x[:, :, None], self.weight)


class FTTransformer(nn.Module):
    """Transformer for rows of numbers and category codes, eq. (1) and (2).

    Parameters
    ----------
    bins : list of arrays
        Quantiles of each column of numbers (`distinct_quantiles`), in the units of x.
    levels : sequence of int
        Codes of each categorical column.
    n_outputs : int
    n_blocks : int, default=2
    hidden_size : int, default=64
        k, the width of a token; a multiple of the heads.
    n_heads : int, default=4
    embedding : {"piecewise", "periodic"} or None, default="piecewise"
        e of eq. (1); None: the number itself.
    dropout : float, default=0.1
    head : str, default="softmax"

    Examples
    --------
    >>> import torch
    >>> from pansophy.nn import FTTransformer
    >>> net = FTTransformer([[0.0, 1.0]] * 3, [4], 2)
    >>> net(torch.zeros(5, 3), torch.zeros(5, 1, dtype=torch.int64)).shape
    torch.Size([5, 2])
    """

    def __init__(
        self, bins, levels, n_outputs, *, n_blocks=2, hidden_size=64, n_heads=4,
        embedding="piecewise", dropout=0.1, head="softmax",
    ):  # fmt: skip
        super().__init__()
        if hidden_size % n_heads:
            raise ValueError(
                f"hidden_size must be a multiple of n_heads, got {hidden_size} and "
                f"{n_heads}."
            )
        self.head = head
        k = hidden_size
        self.numbers = number_embedding(embedding, bins, k, activation=False)
        if self.numbers is None and len(bins):
            self.numbers = LinearTokens(len(bins), k)
        self.categories = CategoryEmbedding(levels, k) if levels else None
        self.missing = nn.Parameter(torch.randn(len(bins), k) * k**-0.5)
        self.row = nn.Parameter(torch.randn(1, 1, k) * k**-0.5)
        options = BlockOptions(positions=None, zero_init=True, dropout=dropout)
        self.encoder = TransformerEncoder(k, n_heads, n_blocks, 2 * k, options=options)
        self.norm = LayerNorm(k)
        # not 0: the blocks begin by adding the same vector to every token, so that the
        # token of the row is the same for all rows, and with V = 0 as well no gradient
        # would leave that point
        self.output = nn.Linear(k, n_outputs)
        self.n_tokens = 1 + len(bins) + len(levels)

    @property
    def undecayed(self) -> list[str]:
        """Parameters that are no matrices of a layer: tokens and their parts."""
        layers = ("encoder.", "norm.", "output.", "numbers.map.weight")
        return [n for n, _ in self.named_parameters() if not n.startswith(layers)]

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows: three passes, each token once."""
        matrices = [p for p in self.encoder.parameters() if p.ndim > 1]
        products = sum(p.numel() for p in matrices) * self.n_tokens
        return 6.0 * n * (products + self.n_tokens**2 * self.row.numel())

    def tokens(self, x: Tensor, z: Tensor) -> Tensor:
        """Eq. (1), the token of the row first: (rows, 1 + d + c, k)."""
        parts = [self.row.expand(len(x), -1, -1)]
        if self.numbers is not None:
            missing = torch.isnan(x)
            known = torch.where(missing, torch.zeros_like(x), x)
            t = self.numbers(known)
            parts.append(torch.where(missing[:, :, None], self.missing, t))
        if self.categories is not None:
            parts.append(self.categories(z))
        return torch.cat(parts, 1)

    def forward(self, x: Tensor, z: Tensor) -> Tensor:
        t, _ = self.encoder(self.tokens(x, z))
        return self.output(torch.relu(self.norm(t[:, 0])))

    def losses(self, batch) -> dict[str, Tensor]:
        """Weighted mean loss of a batch (x, z, Y) or (x, z, Y, w)."""
        x, z, Y, *rest = batch
        w = rest[0] if rest else None
        return {"loss": weighted_mean_loss(HEADS[self.head], Y, self.forward(x, z), w)}
