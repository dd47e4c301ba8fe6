"""FT-transformer: classifier and regressor for tables.

Numbers and categories become tokens that attend to each other (`nn.ft_transformer`),
trained as `abstract_net` says. Scales, quantiles and levels come from the training
rows; missing values and categories that training never saw are inputs like others
(`table_inputs`).

Shapes    X (n, d)   y (n,) or (n, outputs)
Refs      [Gorishniy2021]; [Gorishniy2022]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

from .. import nn
from ..params import Count, NonNegative, TwoOrMore
from ..tree.abstract_decision_tree import ColumnSelection
from .abstract_net import AbstractNetClassifier, AbstractNetRegressor
from .mlp import FractionBelowOne
from .table_inputs import check_new_table, check_table, encode_table, learn_table


def build_ft_transformer(model, n_outputs, head):
    """The net of an estimator's parameters and of what its table is like."""
    return nn.FTTransformer(
        model.bins_,
        model.table_.levels,
        n_outputs,
        n_blocks=model.n_blocks,
        hidden_size=model.hidden_size,
        n_heads=model.n_heads,
        embedding=model.embedding,
        dropout=model.dropout,
        head=head,
    )


@dataclass(eq=False, repr=False)
class FTTransformerClassifier(AbstractNetClassifier):
    """Transformer for classes of table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks of self-attention.
    hidden_size : int, default=64
        Width of a token, a multiple of n_heads.
    embedding : {"piecewise", "periodic"} or None, default="piecewise"
        How numbers are embedded; None: times a vector.
    n_bins : int, default=16
        Most pieces of a piecewise linear embedding.
    n_heads : int, default=4
        Heads of the attention.
    dropout : float, default=0.1
        Chance that a hidden unit is left out of a training step.
    categorical_features : None, "from_dtype", mask, indices or names, \
default="from_dtype"
        Columns of categories; "from_dtype" takes the text and categorical columns of a
        data frame. Missing and new levels share one vector.
    weight_decay : float, default=0.01
        Pull of the kernels and matrices towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.001
        The highest rate.
    n_epochs : int, default=30
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    n_estimators : int, default=1
        Nets from different seeds, whose answers are averaged: a deep ensemble.
    mc_dropout : int, default=0
        Passes with dropout left on that a prediction averages; 0: one without.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order, dropout and augmentation.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; predictions have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and predict; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch; one for each net.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.
    class_weight : dict, "balanced" or None, default=None
        Factors of the classes in the loss.

    Attributes
    ----------
    classes_ : array
    table_ : TableEncoder
        Scales of the numbers and levels of the categories.
    bins_ : list of arrays
        Quantiles of each column of numbers, standardised.
    nets_ : list of torch modules
    loss_ : float
        Training loss of the last epoch.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss, and valid_loss with early stopping.
    converged_, interrupted_ : bool
        How training ended.

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

    n_blocks: Count = 2
    _: KW_ONLY
    hidden_size: Count = 64
    embedding: Literal["piecewise", "periodic"] | None = "piecewise"
    n_bins: TwoOrMore = 16
    n_heads: Count = 4
    dropout: FractionBelowOne = 0.1
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = "from_dtype"
    n_epochs: Count = 30
    weight_decay: NonNegative = 0.01

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,)
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _check_inputs(self, X, y, sample_weight):
        return check_table(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return check_new_table(self, X)

    def _encode_inputs(self, inputs):
        return encode_table(self, inputs)

    def _learn_inputs(self, inputs, w):
        return learn_table(self, inputs, w)

    def _build_net(self, n_outputs, head):
        return build_ft_transformer(self, n_outputs, head)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@dataclass(eq=False, repr=False)
class FTTransformerRegressor(AbstractNetRegressor):
    """Transformer for numbers from table rows; the module text gives the method.

    Parameters
    ----------
    n_blocks : int, default=2
        Blocks of self-attention.
    hidden_size : int, default=64
        Width of a token, a multiple of n_heads.
    embedding : {"piecewise", "periodic"} or None, default="piecewise"
        How numbers are embedded; None: times a vector.
    n_bins : int, default=16
        Most pieces of a piecewise linear embedding.
    n_heads : int, default=4
        Heads of the attention.
    dropout : float, default=0.1
        Chance that a hidden unit is left out of a training step.
    categorical_features : None, "from_dtype", mask, indices or names, \
default="from_dtype"
        Columns of categories; "from_dtype" takes the text and categorical columns of a
        data frame. Missing and new levels share one vector.
    weight_decay : float, default=0.01
        Pull of the kernels and matrices towards 0 in each step, times the rate.
    batch_size : int or "auto", default="auto"
        Rows per step; "auto": a twentieth of the rows, from 32 to 256.
    learning_rate : {"cosine", "constant"}, default="cosine"
        Whether the rate rises for a tenth of the steps and then falls to 0.
    learning_rate_init : float, default=0.001
        The highest rate.
    n_epochs : int, default=30
        Epochs, over which the rate falls.
    early_stopping : bool, default=False
        Hold out a share of the rows, stop by their loss and keep the best epoch.
    validation_fraction : float, default=0.1
        That share. Rows of your own go to `fit` as `validation`.
    n_iter_no_change : int, default=10
        Epochs without improvement that are borne.
    n_estimators : int, default=1
        Nets from different seeds, whose answers are averaged: a deep ensemble.
    mc_dropout : int, default=0
        Passes with dropout left on that a prediction averages; 0: one without.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the weights, held-out rows, order, dropout and augmentation.
    verbose : bool or int, default=False
        1: show a progress bar; more: print the loss of each epoch too.
    dtype : {"float32", "float64"}, default="float32"
        Precision of training; predictions have that of X, at least this.
    device : {"auto", "cpu", "cuda"}, default="auto"
        Where to train and predict; "auto" takes a GPU if there is one.
    checkpoint : path or None, default=None
        File for the state of the run, written after each epoch; one for each net.
    resume : bool, default=False
        Go on from `checkpoint` where it stopped; the result is that of one run.
    loss : {"squared_error", "gaussian"}, default="squared_error"
        "gaussian" predicts a variance for each row as well.

    Attributes
    ----------
    target_mean_, target_scale_ : arrays of shape (outputs,)
        Centre and scale of the numbers to predict.
    table_ : TableEncoder
        Scales of the numbers and levels of the categories.
    bins_ : list of arrays
        Quantiles of each column of numbers, standardised.
    nets_ : list of torch modules
    loss_ : float
        Training loss of the last epoch.
    n_iter_ : int
        Epochs.
    history_ : dict of arrays
        Per epoch: loss, and valid_loss with early stopping.
    converged_, interrupted_ : bool
        How training ended.

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

    n_blocks: Count = 2
    _: KW_ONLY
    hidden_size: Count = 64
    embedding: Literal["piecewise", "periodic"] | None = "piecewise"
    n_bins: TwoOrMore = 16
    n_heads: Count = 4
    dropout: FractionBelowOne = 0.1
    categorical_features: ColumnSelection | Literal["from_dtype"] | None = "from_dtype"
    n_epochs: Count = 30
    weight_decay: NonNegative = 0.01

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            NaN is a missing value.
        y : array of shape (n,) or (n, outputs)
        sample_weight : array of shape (n,) or None
        validation : (X, y) or (X, y, sample_weight) or None
            Rows of your own to stop by; turns early stopping on.
        """
        return self._fit(X, y, sample_weight, validation)

    def _check_inputs(self, X, y, sample_weight):
        return check_table(self, X, y, sample_weight)

    def _check_new_inputs(self, X):
        return check_new_table(self, X)

    def _encode_inputs(self, inputs):
        return encode_table(self, inputs)

    def _learn_inputs(self, inputs, w):
        return learn_table(self, inputs, w)

    def _build_net(self, n_outputs, head):
        return build_ft_transformer(self, n_outputs, head)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
