"""Synthetic tables: a VAE of mixed columns, data frames in and data frames out.

Numbers, dates, categories, booleans and missing values are encoded by `table_codec` and
have likelihoods by their kind: normal scores a Normal with a learnt variance for each
column, levels a Categorical, the absence of a number a Bernoulli, beside which the
number itself has no likelihood. The bound is that of `vae`, so that every column
counts in nats. With labels the table is modelled given the class, and rows of a class
can be drawn.

Scores are in nats of the encoded table: they rank rows, but are no density in the units
of the columns. `memorisation_report` tells whether synthetic rows are copies.

Shapes    X (n, columns)   codes (n, n_components)
Refs      [Xu2019] tables; [Kingma2014]
"""

from collections import Counter
from dataclasses import KW_ONLY, dataclass

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted, validate_data

from ...base import host_array, validate_rows
from ...core.arrays.frames import column_names, lists_of_columns, rows_of_table
from ...core.arrays.rows import refuse_table_on_disk
from ...core.arrays.unreadable import array_of_rows
from ...core.arrays.weighted import check_sample_weight
from ...params import Count, LayerSizes, Natural, NonNegative, check_params
from ...persist.saved_state import FloatArray, Part, saved_state
from ..abstract_generator import net_placement
from ..vae.abstract_vae import AbstractVAE
from ..vae.likelihoods import (
    BernoulliLikelihood,
    CategoricalLikelihood,
    MixedLikelihood,
    NormalLikelihood,
)
from ..vae.vae import VAENet, kl_options
from .table_codec import TableCodec, learn_table_codec

TABLE_CHECKS = {"dtype": None, "ensure_all_finite": "allow-nan"}


def _table_fits_net(model) -> bool:
    """Whether the table of a loaded model has the columns that its net takes."""
    if not hasattr(model, "table_"):
        return True
    columns = model.table_.columns
    levels = [len(c.levels) for c in columns if c.kind == "level"]
    likelihood = model.net_.likelihood
    known = [
        level
        for part in likelihood.parts
        if isinstance(part, CategoricalLikelihood)
        for level in part.levels
    ]
    return (
        len(columns) == model.n_features_in_
        and sum(c.width for c in columns) == likelihood.n_columns
        and levels == known
    )


def _refuse_repeated_names(table) -> None:
    """Raise ValueError if two columns of a table have one name."""
    for name, count in Counter(column_names(table)).items():
        if count > 1:
            raise ValueError(
                f"{count} columns of X are named {name!r}: give each its own name."
            )


@saved_state(
    table_=Part(TableCodec),
    mean_=FloatArray("encoded", finite=True),
    scale_=FloatArray("encoded", finite=True),
    check=_table_fits_net,
)
@dataclass(eq=False, repr=False)
class TableVAE(AbstractVAE):
    """Variational autoencoder of mixed tables: a generator of synthetic data.

    Parameters
    ----------
    variance : {"column", "global", "predicted"} or float, default="column"
        Variance of the columns of numbers given the code, in units of their normal
        scores.
    scaling : {"auto", "column", "global"} or None, default="auto"
        Whether normal scores are standardised; "auto" and "column": each column.
    beta : float, default=1
        Weight of the divergence from the prior.
    free_bits : float, default=0
        Nats of divergence that each unit has for nothing.
    kl_warm_up : int, default=0
        Epochs in which the weight of the divergence rises from 0 to beta.

    Attributes
    ----------
    mean_, scale_ : arrays of shape (d,)
        Standardisation of the encoded columns.
    table_ : TableCodec
        Kinds, levels and quantiles of the columns.
    classes_, class_prior_ : arrays or None
        Labels and their shares, if `fit` was given any.
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, kl, kl_penalty), valid_loss with
        early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from pansophy.generative import TableVAE
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(18, 90, 400)
    >>> table = pd.DataFrame({"age": age, "retired": age > 65})
    >>> table["city"] = rng.choice(["Bern", "Pune", None], 400)
    >>> model = TableVAE(2, n_epochs=60, random_state=0, device="cpu").fit(table)
    >>> made = model.sample(400, random_state=0)
    >>> made.dtypes.astype(str).tolist() == table.dtypes.astype(str).tolist()
    True
    >>> bool(made.age[made.retired].mean() > made.age[~made.retired].mean() + 20)
    True
    """

    n_components: Count = 16
    _: KW_ONLY
    hidden_layer_sizes: LayerSizes = (128, 128)
    beta: NonNegative = 1.0
    free_bits: NonNegative = 0.0
    kl_warm_up: Natural = 0

    _net_class = VAENet
    _conditional = True
    _is_density = False

    def fit(self, X, y=None, sample_weight=None):
        """Learn the columns and train the net.

        Parameters
        ----------
        X : data frame, Arrow table, dict of columns or array, of shape (n, columns)
            Missing values are modelled.
        y : array of n labels or None
            Classes of the rows; the table is then modelled given the class.
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _check_rows(self, X, y, sample_weight):
        check_params(self)
        self.image_shape_ = None
        X, n = self._checked_table(X, reset=True)
        y = None if y is None else array_of_rows(y, "y of TableVAE")
        if y is not None and y.shape[:1] != (n,):
            entries = f"{len(y)} entries" if y.ndim else f"the value {y.item()!r}"
            raise ValueError(f"X has {n} rows, but y has {entries}.")
        if sample_weight is not None:
            w = np.asarray(check_sample_weight(sample_weight, n))
            kept = np.flatnonzero(w > 0)
            X, sample_weight = rows_of_table(X, kept), w[kept]
            y = None if y is None else y[kept]
        self.table_ = learn_table_codec(X, sample_weight)
        encoded = self.table_.encode(X)
        kind = None if y is None else "class"
        checked = self._check_training_data(encoded, y, sample_weight, y_kind=kind)
        self._checked_table(X, reset=True)  # names and number of the columns
        return checked if len(checked) == 3 else (checked[0], None, checked[1])

    def _checked_table(self, X, *, reset):
        """The table, and its number of rows."""
        refuse_table_on_disk(X)
        X = host_array(self, X)
        if sp.issparse(X) or column_names(X) is None:
            X = validate_rows(self, X, reset=reset, **TABLE_CHECKS)
            return X, len(X)
        if isinstance(X, dict):
            import pyarrow as pa

            X = pa.table(lists_of_columns(X))
        _refuse_repeated_names(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if not len(X):
            raise ValueError(f"{type(self).__name__} needs at least one row, got none.")
        return X, len(X)

    def _check_new_rows(self, X, **checks):
        check_is_fitted(self, "net_")
        return self.table_.encode(self._checked_table(X, reset=False)[0])

    def _learn_scaling(self, X, w):
        mean = np.zeros(X.shape[1])
        scale = np.ones(X.shape[1])
        if self.scaling is None:
            return mean, scale
        numbers, absent = self._number_places()
        for j in numbers:
            is_present = X[:, absent[j]] == 0 if j in absent else np.ones(len(X), bool)
            v = None if w is None else w[is_present]
            if is_present.any():
                mean[j] = np.average(X[is_present, j], weights=v)
                spread = np.sqrt(
                    np.average((X[is_present, j] - mean[j]) ** 2, weights=v)
                )
                scale[j] = spread if spread > 0 else 1.0
        if self.scaling == "global" and numbers:
            scale[numbers] = np.sqrt(np.mean(scale[numbers] ** 2))
        return mean, scale

    def _number_places(self):
        """Encoded columns of numbers, and for some the column of their absence."""
        numbers = [
            (place, column)
            for place, column in zip(self.table_.places, self.table_.columns)
            if column.kind != "level"
        ]
        absent = {place: place + 1 for place, c in numbers if c.some_missing}
        return [place for place, _ in numbers], absent

    def _make_likelihood(self, n_features):
        numbers, absent = self._number_places()
        levels = {
            place: len(column.levels)
            for place, column in zip(self.table_.places, self.table_.columns)
            if column.kind == "level"
        }
        parts = []
        if numbers:
            parts.append((numbers, NormalLikelihood(len(numbers), self.variance)))
        if absent:
            parts.append((list(absent.values()), BernoulliLikelihood(len(absent))))
        if levels:
            parts.append((list(levels), CategoricalLikelihood(list(levels.values()))))
        return MixedLikelihood(parts, absent)

    def _net_options(self):
        return kl_options(self)

    def _decode_rows(self, Z):
        return self.table_.decode(np.asarray(Z, float) * self.scale_ + self.mean_)

    def _given_out(self, Z):
        return self._encode_rows(self.table_.encode(self._decode_rows(Z)))

    def _measured_columns(self, net, Z):
        """Levels as indicators, which have distances, as the encoder sees them."""
        device, dtype = net_placement(net)
        rows = torch.as_tensor(Z, dtype=dtype, device=device)
        return net.likelihood.features(rows).double().cpu().numpy()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
