"""Residual networks for tables: classifier and regressor.

Numbers and categories are embedded, and residual blocks of dense layers correct a
hidden state (`nn.nets.tabular_net`), trained as `abstract_net` says. Scales, quantiles
and levels come from the training rows; missing values and categories that training
never saw are inputs like others (`table_inputs`).

Shapes    X (n, d)   y (n,) or (n, outputs)
Refs      [Gorishniy2021]; [Gorishniy2022]
"""

from dataclasses import KW_ONLY, dataclass

from .. import nn
from ..params import Activation, Count, NonNegative, Positive
from .abstract_net import AbstractNetClassifier, AbstractNetRegressor
from .table_inputs import AbstractTableNet


@dataclass(eq=False, repr=False)
class AbstractTabularResNet(AbstractTableNet):
    """Residual networks for tables: their own parameters.

    Parameters
    ----------
    n_blocks : int, default=2
        Residual blocks.
    hidden_size : int, default=64
        Units of the hidden state.
    embedding_size : int, default=8
        Size of the vector of a number or category.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="relu"
    alpha : float, default=0
        Penalty on the squared entries of the matrices, over the weight of a batch, as
        in `MLPClassifier`; it suits few rows better than a decay of weights.
    n_members : int, default=8
        Members of an ensemble within the net: they share its matrices, and each sees
        the features through factors of its own. Their answers are averaged. 1: a plain
        residual network.
    """

    n_blocks: Count = 2
    _: KW_ONLY
    hidden_size: Count = 64
    embedding_size: Count = 8
    activation: Activation = "relu"
    alpha: NonNegative = 0.0
    n_members: Count = 8
    n_epochs: Count = 30
    learning_rate_init: Positive = 0.002

    def _build_net(self, n_outputs, head):
        return nn.TabularResNet(
            self.bins_,
            self.table_.levels,
            n_outputs,
            n_blocks=self.n_blocks,
            hidden_size=self.hidden_size,
            embedding=self.embedding,
            embedding_size=self.embedding_size,
            dropout=self.dropout,
            activation=self.activation,
            head=head,
            alpha=self.alpha,
            n_members=self.n_members,
        )

    def _values_per_row(self, inputs):
        return self.n_members * super()._values_per_row(inputs)

    def _member_outputs(self, net, inputs, device, dtype):
        if net.n_members == 1:
            return super()._member_outputs(net, inputs, device, dtype)
        F = self._net_outputs(net.member_scores, inputs, device, dtype)
        return list(F.transpose(1, 0, 2))


@dataclass(eq=False, repr=False)
class TabularResNetClassifier(AbstractTabularResNet, AbstractNetClassifier):
    """Residual network for classes of table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Residual blocks.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pansophy.neural_network import TabularResNetClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TabularResNetClassifier(n_epochs=20, random_state=0, device="cpu")
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """


@dataclass(eq=False, repr=False)
class TabularResNetRegressor(AbstractTabularResNet, AbstractNetRegressor):
    """Residual network for numbers from table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Residual blocks.

    Attributes
    ----------
    bins_ : list of arrays
        Quantiles of each column of numbers, standardised.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import TabularResNetRegressor
    >>> X = np.random.default_rng(0).uniform(-2, 2, (300, 2))
    >>> y = np.abs(X[:, 0]) + X[:, 1]
    >>> model = TabularResNetRegressor(n_epochs=30, random_state=0, device="cpu")
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """
