"""FT-transformer: classifier and regressor for tables.

Numbers and categories become tokens that attend to each other
(`nn.nets.ft_transformer`), trained as `abstract_net` says. Scales, quantiles and levels
come from the training rows; missing values and categories that training never saw are
inputs like others (`table_inputs`).

Shapes    X (n, d)   y (n,) or (n, outputs)
Refs      [Gorishniy2021]; [Gorishniy2022]
"""

from dataclasses import KW_ONLY, dataclass

from .. import nn
from ..params import Count
from .abstract_net import AbstractNetClassifier, AbstractNetRegressor
from .table_inputs import AbstractTableNet


@dataclass(eq=False, repr=False)
class AbstractFTTransformer(AbstractTableNet):
    """FT-transformers: their own parameters.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks of self-attention.
    hidden_size : int, default=64
        Width of a token, a multiple of n_heads.
    n_heads : int, default=4
        Heads of the attention.
    """

    n_blocks: Count = 2
    _: KW_ONLY
    hidden_size: Count = 64
    n_heads: Count = 4

    def _build_net(self, n_outputs, head):
        return nn.FTTransformer(
            self.bins_,
            self.table_.levels,
            n_outputs,
            n_blocks=self.n_blocks,
            hidden_size=self.hidden_size,
            n_heads=self.n_heads,
            embedding=self.embedding,
            dropout=self.dropout,
            head=head,
        )


@dataclass(eq=False, repr=False)
class FTTransformerClassifier(AbstractFTTransformer, AbstractNetClassifier):
    """Transformer for classes of table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks of self-attention.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.neural_network import FTTransformerClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = FTTransformerClassifier(
    ...     hidden_size=16, n_epochs=20, learning_rate_init=0.01, random_state=0,
    ...     device="cpu",
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """


@dataclass(eq=False, repr=False)
class FTTransformerRegressor(AbstractFTTransformer, AbstractNetRegressor):
    """Transformer for numbers from table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks of self-attention.

    Attributes
    ----------
    bins_ : list of arrays
        Quantiles of each column of numbers, standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import FTTransformerRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> model = FTTransformerRegressor(
    ...     hidden_size=16, n_epochs=20, learning_rate_init=0.01, random_state=0,
    ...     device="cpu",
    ... )
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """
