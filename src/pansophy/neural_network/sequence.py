"""Nets for sequences and series: classifier, regressor and tagger.

A sequence layer (RNN, GRU, LSTM, transformer, state space) reads x_1..x_T. The
classifier and the regressor pool its outputs to one row for each sequence and predict
from it; the tagger predicts a label for each step, either on its own (softmax) or all
labels of a sequence together (crf):

    P(y | x) ~ exp(sum_t F_t(y_t) + sum_t T(y_t-1, y_t))                          (1)

Sequences may have unequal lengths and come as a `Ragged`, a list of arrays (T_i, d), a
dataframe after groupby, an array (n, T, d), or a table (n, T) whose rows are series of
one column. Columns are centred and scaled by what the training steps have; padding
changes no answer. Steps may also be tokens, words or the numbers of words, whose order
and size mean nothing: each has a learnt vector, and one that training has not seen has
the vector 0. `tokens` says which: "auto" takes texts for tokens, and refuses sequences
of whole numbers of one column, which may be either. The layers are in
`nn.layers.recurrent`, `nn.layers.transformer`, `nn.layers.ssm` and `nn.layers.mamba`,
pool and loss in `nn.nets.sequence_net`, (1) in `nn.nets.crf_output`, training in
`abstract_net`.

Shapes    X n sequences of (T_i, d)   y (n,), (n, outputs), or n sequences of labels
Refs      [Elman1990] [Hochreiter1997] [Cho2014] [Vaswani2017]; [Huang2015] (1)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Literal

import numpy as np
import torch
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .. import nn
from ..base import host_array
from ..core.arrays import arrays
from ..core.arrays.class_weight import compute_class_weight
from ..core.arrays.labels import class_codes, refuse_missing
from ..core.arrays.ragged import (
    Ragged,
    as_ragged,
    is_grouped_frame,
    is_list_of_arrays,
)
from ..core.arrays.rows import rows_in_memory
from ..core.arrays.weighted import check_sample_weight
from ..core.chains.filtering import smooth_chain, viterbi
from ..core.numerics import softmax
from ..nn.layers.recurrent import step_mask
from ..nn.nets.crf_output import chain_evidence
from ..nn.nets.sequence_net import EmbeddedTokens, LayerSize
from ..nn.training.abstract_training import BLOCK_VALUES
from ..params import (
    Count,
    Flag,
    FractionBelowOne,
    ParameterRule,
    Positive,
    check_params,
)
from .abstract_net import (
    AbstractNet,
    AbstractNetClassifier,
    AbstractNetRegressor,
    NetRows,
)

Architecture = Annotated[
    str,
    ParameterRule(
        f"one of {', '.join(nn.ARCHITECTURES)}", lambda v: v in nn.ARCHITECTURES
    ),
]
Pool = Literal["auto", "last", "sum", "mean"]
RECURRENT = ("rnn", "gru", "lstm")  # whose last output has seen all steps in order


# -- input -------------------------------------------------------------------------


def _has_sequence_form(X) -> bool:
    """Whether X is a collection of sequences, and not a table of series."""
    if isinstance(X, Ragged) or is_grouped_frame(X) or is_list_of_arrays(X):
        return True
    return getattr(X, "ndim", 0) == 3


def _listed_arrays(X):
    """Lists of lists as arrays, if their lengths differ or they are three deep."""
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 1:
        X = list(X)
    if not isinstance(X, (list, tuple)) or not len(X):
        return X
    if not all(isinstance(x, (list, tuple)) for x in X):
        return X
    deep = any(len(x) and isinstance(x[0], (list, tuple, np.ndarray)) for x in X)
    if deep or len({len(x) for x in X}) > 1:
        return [np.asarray(x) for x in X]
    return X


def _holds_tokens(model) -> bool:
    """Whether a fitted model has a vocabulary."""
    return getattr(model, "vocabulary_", None) is not None


def _first_step(X):
    """The first step of the first sequence, however deep; None if there is none."""
    while isinstance(X, (list, tuple, np.ndarray)) and getattr(X, "ndim", 1) and len(X):
        X = X[0]
    return None if isinstance(X, (list, tuple, np.ndarray)) else X


def _takes_tokens(model, X) -> bool:
    """Whether the steps of training sequences are tokens, by the parameter `tokens`."""
    if model.tokens != "auto":
        return bool(model.tokens)
    if isinstance(X, Ragged):
        X = X.values
    if is_grouped_frame(X) or sparse.issparse(X):
        return False
    X = X if isinstance(X, (list, tuple)) else arrays.to_numpy(X)
    if getattr(X, "ndim", 1) == 0:
        name = type(model).__name__
        raise ValueError(f"X of {name} must hold sequences, got {X}.")
    return isinstance(_first_step(X), (str, bytes))


def _read_tokens(model, X) -> Ragged:
    """Sequences of tokens as a `Ragged` of texts or whole numbers, (steps,)."""
    name = type(model).__name__
    X = X if isinstance(X, Ragged) or is_grouped_frame(X) else _listed_arrays(X)
    if not _has_sequence_form(X):
        rows = X if isinstance(X, (list, tuple)) else list(arrays.to_numpy(X))
        X = [np.asarray(x.split() if isinstance(x, str) else x) for x in rows]
    X = as_ragged(X)
    values = X.values.reshape(len(X.values), -1)
    if values.shape[1] != 1:
        raise ValueError(
            f"sequences of tokens have one column, but those of {name} have "
            f"{values.shape[1]}: give tokens=False."
        )
    values = values[:, 0]
    if values.dtype.kind == "f" and (values == np.trunc(values)).all():
        values = values.astype(np.int64)
    if values.dtype == object and all(isinstance(v, str) for v in values):
        values = values.astype(str)
    if values.dtype.kind not in "iubUS":
        raise ValueError(
            f"tokens of {name} must be whole numbers or all be texts, got "
            f"{values.dtype}: give tokens=False for numbers."
        )
    return X.with_values(values)


def _refuse_ambiguous_numbers(model, X) -> None:
    """Refuse sequences that may hold tokens or magnitudes, unless the model was told.

    These are whole numbers of one column with more than two values (of two values both
    readings are the same).
    """
    values = X.values
    is_one_column = values.ndim == 1 or values.shape[1] == 1
    if model.tokens != "auto" or values.dtype.kind not in "iu" or not is_one_column:
        return
    if len(np.unique(values)) > 2:
        raise ValueError(
            "sequences of whole numbers may be tokens or magnitudes: give "
            f"{type(model).__name__} tokens=True or tokens=False."
        )


def _read_sequences(model, X) -> Ragged:
    """Sequences as a `Ragged` of floats (steps, d), all of them finite."""
    X = as_ragged(X)
    if len(X) == 0:
        raise ValueError(f"{type(model).__name__} needs at least one sequence.")
    values = X.values if X.values.ndim == 2 else X.values[:, None]
    if values.dtype.kind not in "fiub":
        raise ValueError(
            f"sequences of {type(model).__name__} must hold numbers, got "
            f"{values.dtype}: give tokens=True for words."
        )
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(float)
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        i = int(np.searchsorted(X.offsets, int(np.argmax(bad)), side="right")) - 1
        raise ValueError(
            f"Input X of {type(model).__name__} contains NaN or infinity: the first is "
            f"in sequence {i}."
        )
    return X.with_values(np.ascontiguousarray(values))


def _check_sequences(model, X, y, sample_weight):
    """Training sequences, y and weights; sets `n_features_in_` and `series_length_`."""
    check_params(model)
    X = host_array(model, rows_in_memory(X))
    model.vocabulary_ = None
    if not _takes_tokens(model, X):
        X = _listed_arrays(X)
        if not _has_sequence_form(X):
            checked = model._check_training_data(
                X, y, sample_weight, y_kind=model._y_kind
            )
            model.series_length_ = checked[0].shape[1]
            return as_ragged(np.asarray(checked[0])), *checked[1:]
    X = _training_sequences(model, X)
    # rows of one column stand in for the sequences: y and weights are checked as usual
    rows = np.zeros((len(X), 1))
    checked = model._check_training_data(rows, y, sample_weight, y_kind=model._y_kind)
    model.n_features_in_ = X.n_columns
    model.series_length_ = None
    return X, *checked[1:]


def _training_sequences(model, X) -> Ragged:
    """Training sequences in a form of their own; sets `vocabulary_` if of tokens."""
    if _takes_tokens(model, X):
        X = _read_tokens(model, X)
        model.vocabulary_ = np.unique(X.values)
        return X
    X = as_ragged(X)
    _refuse_ambiguous_numbers(model, X)
    return _read_sequences(model, X)


def _check_new_sequences(model, X) -> Ragged:
    """Sequences to predict, if they fit the model."""
    check_is_fitted(model, "series_length_")
    X = host_array(model, rows_in_memory(X))
    if _holds_tokens(model):
        return _read_tokens(model, X)
    X = _listed_arrays(X)
    if not _has_sequence_form(X) and model.series_length_ is not None:
        return as_ragged(np.asarray(model._check_new_data(X)))
    X = _read_sequences(model, X)
    expected = 1 if model.series_length_ is not None else model.n_features_in_
    if X.n_columns != expected:
        raise ValueError(
            f"X has {X.n_columns} features, but {type(model).__name__} is expecting "
            f"{expected} features as input."
        )
    return X


def learn_scaling(model, X: Ragged, w):
    """Mean and scale of each column over all training steps; the scaled sequences.

    Of tokens, the vocabulary and their codes.
    """
    model._typical_length = float(X.lengths.mean())
    if _holds_tokens(model):
        model.vocabulary_ = np.unique(X.values)
        return _scaled_sequences(model, X)
    weights = None if w is None else np.repeat(w, X.lengths)
    values = X.values.reshape(len(X.values), -1).astype(float)
    model.mean_ = np.average(values, axis=0, weights=weights)
    variance = np.average((values - model.mean_) ** 2, axis=0, weights=weights)
    spread = np.sqrt(variance)
    constant = spread <= 1e-12 * np.abs(model.mean_)
    model.scale_ = np.where(constant, 1.0, spread)
    return _scaled_sequences(model, X)


def _scaled_sequences(model, X: Ragged) -> Ragged:
    """Sequences centred and scaled by the training steps, in the precision of X.

    Tokens become codes from 1; 0 is one that training has not seen.
    """
    if _holds_tokens(model):
        return X.with_values(_token_codes(model, X.values))
    values = X.values.reshape(len(X.values), -1)
    return X.with_values(((values - model.mean_) / model.scale_).astype(values.dtype))


def _token_codes(model, tokens) -> np.ndarray:
    """Place of each token in the vocabulary, counted from 1; 0 if it is not there."""
    known = model.vocabulary_
    if (tokens.dtype.kind in "US") != (known.dtype.kind in "US"):
        kind = "texts" if known.dtype.kind in "US" else "whole numbers"
        raise ValueError(
            f"{type(model).__name__} was fitted to tokens that are {kind}."
        )
    places = np.searchsorted(known, tokens).clip(max=len(known) - 1)
    return np.where(known[places] == tokens, places + 1, 0)[:, None]


def _chosen_pool(model) -> str:
    """The parameter `pool`, "auto" resolved."""
    if model.pool != "auto":
        return model.pool
    return "last" if model.architecture in RECURRENT else "mean"


def _build_sequence_net(model, n_outputs, head, pool):
    """The net of an estimator's parameters."""
    words = _holds_tokens(model)
    d = model.hidden_size if words else len(model.mean_)
    size = LayerSize(
        d,
        model.hidden_size,
        model.n_layers,
        model.n_heads,
        bool(model.bidirectional),
        model.dropout,
    )
    layer = nn.ARCHITECTURES[model.architecture](size)
    if words:
        layer = EmbeddedTokens(len(model.vocabulary_), d, layer)
    return nn.SequenceNet(
        layer,
        n_outputs,
        pool=pool,
        head=head,
        dropout=model.dropout,
        ways=layer.width // model.hidden_size,
        typical_length=model._typical_length,
    )


def _sequence_blocks(X: Ragged):
    """Blocks of sequences of about the same length: (numbers, Ragged)."""
    order = np.argsort(X.lengths, kind="stable")
    steps = np.cumsum(X.lengths[order] * X.n_columns)
    block = steps // BLOCK_VALUES
    for part in np.split(order, np.flatnonzero(np.diff(block)) + 1):
        yield part, X[part]


def _padded_tensors(X: Ragged, device, dtype):
    """Padded values and lengths as tensors; codes stay whole numbers."""
    padded = torch.from_numpy(X.padded()[0]).to(device)
    padded = padded.to(dtype) if padded.is_floating_point() else padded
    return padded, torch.from_numpy(X.lengths).to(device)


def _pooled_outputs(net, X: Ragged, device, dtype) -> np.ndarray:
    """Scores of a net for each sequence, (n, outputs), float64."""
    results = []
    order = []
    for part, block in _sequence_blocks(X):
        results.append(
            net(*_padded_tensors(block, device, dtype)).double().cpu().numpy()
        )
        order.append(part)
    F = np.concatenate(results)
    out = np.empty_like(F)
    out[np.concatenate(order)] = F
    return out


# -- estimators --------------------------------------------------------------------


@dataclass(eq=False, repr=False)
class AbstractSequenceNet(AbstractNet):
    """Nets for sequences: the layer, its parameters, sequences as it takes them.

    Parameters
    ----------
    architecture : {"lstm", "gru", "rnn", "transformer", "s4d", "mamba"}, \
default="lstm"
        The sequence layer, a row of `nn.ARCHITECTURES`.
    hidden_size : int, default=64
        Units of the layer (columns of a transformer).
    n_layers : int, default=1
    bidirectional : bool, default=False
        Whether a second layer reads backwards; a transformer then sees all steps at
        each of them, and otherwise those not later.
    n_heads : int, default=4
        Heads of a transformer.
    dropout : float, default=0.0
        Chance that a unit is left out of a training step: between layers, inside
        transformer blocks, and before the output.
    clip : float or None, default=1.0
        Largest norm of a gradient.
    warm_start : bool, default=False
        Go on from the nets of the last fit, on sequences of the same classes.
    tokens : bool or "auto", default="auto"
        Whether steps are tokens (words, or the numbers of words), each of which has a
        learnt vector of `hidden_size`, and not magnitudes; the module text says what
        "auto" does.

    Attributes
    ----------
    mean_, scale_ : arrays of shape (d,)
        By which columns are centred and scaled.
    vocabulary_ : array or None
        The tokens of the training sequences, sorted, if steps are tokens.
    series_length_ : int or None
        Steps of each series, if X was a table.
    """

    architecture: Architecture = "lstm"
    _: KW_ONLY
    hidden_size: Count = 64
    n_layers: Count = 1
    bidirectional: Flag = False
    n_heads: Count = 4
    dropout: FractionBelowOne = 0.0
    clip: Positive | None = 1.0
    warm_start: Flag = False
    tokens: Flag | Literal["auto"] = "auto"
    learning_rate_init: Positive = 0.005
    n_epochs: Count = 50

    def fit(self, X, y, sample_weight=None, validation=None):
        """Train the net.

        Parameters
        ----------
        X : sequences in any form of the module text
        y : array of shape (n,), (n, outputs) of numbers, or labels of all steps: a
            Ragged, a list of sequences of labels, or an array of shape (n, T)
        sample_weight : array of shape (n,) or None
            Weights of the sequences.
        validation : (X, y) or (X, y, sample_weight) or None
            Sequences of your own to stop by; turns early stopping on.
        """
        if self.warm_start and hasattr(self, "nets_"):
            return self._continue_fit(X, y, sample_weight, validation)
        return self._fit(X, y, sample_weight, validation)

    def _check_new_inputs(self, X):
        return (_check_new_sequences(self, X),)

    def _learn_inputs(self, inputs, w):
        return (learn_scaling(self, inputs[0], w),)

    def _encode_inputs(self, inputs):
        return (_scaled_sequences(self, inputs[0]),)

    def _training_options(self, net, n, valid):
        return {**super()._training_options(net, n, valid), "clip": self.clip}


@dataclass(eq=False, repr=False)
class AbstractPooledSequenceNet(AbstractSequenceNet):
    """Nets that pool the steps of a sequence to one row.

    Parameters
    ----------
    pool : {"auto", "last", "sum", "mean"}, default="auto"
        How the outputs of all steps become one row: the last, their sum, their mean.
        "auto" is the last of "rnn", "gru" and "lstm", the mean of the others.
    """

    _: KW_ONLY
    pool: Pool = "auto"

    def _check_inputs(self, X, y, sample_weight):
        X, y, w = _check_sequences(self, X, y, sample_weight)
        return (X,), y, w

    def _build_net(self, n_outputs, head):
        return _build_sequence_net(self, n_outputs, head, _chosen_pool(self))

    def _net_outputs(self, net, inputs, device, dtype):
        return _pooled_outputs(net, inputs[0], device, dtype)


@dataclass(eq=False, repr=False)
class SequenceClassifier(AbstractPooledSequenceNet, AbstractNetClassifier):
    """Recurrent net, transformer or state-space net for classes of sequences.

    Parameters
    ----------
    architecture : {"lstm", "gru", "rnn", "transformer", "s4d", "mamba"}, \
default="lstm"
        The sequence layer, a row of `nn.ARCHITECTURES`.

    Attributes
    ----------
    classes_ : array

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import SequenceClassifier
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = [rng.normal(size=(rng.integers(5, 15), 1)) for _ in y]
    >>> for x, up in zip(X, y):  # class 1 rises, class 0 falls
    ...     x += np.linspace(-3, 3, len(x))[:, None] * (1 if up else -1)
    >>> model = SequenceClassifier("gru", hidden_size=16, n_epochs=10, random_state=0)
    >>> bool(model.fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.9)
    True
    """


@dataclass(eq=False, repr=False)
class SequenceRegressor(AbstractPooledSequenceNet, AbstractNetRegressor):
    """Recurrent net, transformer or state-space net for numbers from sequences.

    Parameters
    ----------
    architecture : {"lstm", "gru", "rnn", "transformer", "s4d", "mamba"}, \
default="lstm"
        The sequence layer, a row of `nn.ARCHITECTURES`.

    Attributes
    ----------
    mean_, scale_ : arrays of shape (d,)
        By which columns are centred and scaled.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import SequenceRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 8, 2))
    >>> y = X[:, :, 0].mean(axis=1)
    >>> model = SequenceRegressor("gru", hidden_size=16, n_epochs=25, random_state=0)
    >>> bool(model.fit(X[:150], y[:150]).score(X[150:], y[150:]) > 0.9)
    True
    """


@dataclass(eq=False, repr=False)
class AbstractTagger(AbstractNet):
    """Nets that give a label to each step of sequences.

    A tagger gives what `AbstractNet` asks for, and `_check_new_inputs`, whose first
    input has the steps.

    Parameters
    ----------
    output : {"softmax", "crf"}, default="softmax"
        Labels of the steps on their own, or all of a sequence together, eq. (1).
    clip : float or None, default=1.0
        Largest norm of a gradient.
    class_weight : dict, "balanced" or None, default=None
        Factors of the labels in the loss of their steps; "balanced": every label has
        the same total weight. With output="crf" a sequence is one observation, which
        counts with the mean factor of its labels.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted.
    transitions_ : array of shape (k, k)
        T of eq. (1), averaged over the nets, if `output` is "crf".
    """

    _: KW_ONLY
    output: Literal["softmax", "crf"] = "softmax"
    clip: Positive | None = 1.0
    class_weight: dict | Literal["balanced"] | None = None

    _y_kind = None

    def _given_rows(self, validation, what="validation"):
        if not isinstance(validation, (tuple, list)) or len(validation) not in (2, 3):
            raise ValueError("validation must be (X, y) or (X, y, sample_weight).")
        X, y, *w = validation
        (X,) = self._check_new_inputs(X)
        y = self._encode_target(_step_labels(y, X))
        weight = check_sample_weight(w[0], len(X)) if w else None
        return NetRows((X,), y, weight)

    def _row_weights(self, y, w):
        return w

    def _learn_target(self, y, w):
        self.classes_ = class_codes(y.values)[0]

    def _train(self, nets, rows, held_out, rng, *, one_pass=False):
        """Train with the factors of `class_weight`, which the nets do not keep."""
        factors = self._label_weights(rows)
        for net in nets:
            net.label_weights = factors
        super()._train(nets, rows, held_out, rng, one_pass=one_pass)
        for net in self.nets_:
            net.label_weights = None

    def _label_weights(self, rows):
        """Factor of each label over the steps of these rows, or None."""
        if self.class_weight is None:
            return None
        w = None if rows.w is None else np.repeat(rows.w, rows.Y.lengths)
        factors = compute_class_weight(
            self.class_weight,
            classes=self.classes_,
            codes=rows.Y.values,
            sample_weight=w,
        )
        return torch.tensor(factors, dtype=getattr(torch, self.dtype))

    def _encode_target(self, y):
        return y.map(lambda labels: class_codes(labels, classes=self.classes_)[1])

    def _outputs(self):
        return len(self.classes_), self.output

    def _training_options(self, net, n, valid):
        return {**super()._training_options(net, n, valid), "clip": self.clip}

    def _net_outputs(self, net, inputs, device, dtype):
        """Scores of all steps, end to end, (steps, k)."""
        (X,) = inputs
        parts, order = [], []
        for part, block in _sequence_blocks(X):
            padded, lengths = _padded_tensors(block, device, dtype)
            mask = step_mask(lengths, padded.shape[1])
            parts.append(net(padded, lengths)[mask].double().cpu().numpy())
            order.append(part)
        order = np.concatenate(order)
        offsets = np.r_[0, np.cumsum(X.lengths[order])]
        return Ragged(np.concatenate(parts), offsets)[np.argsort(order)].values

    def _chain(self, F: Ragged):
        return chain_evidence(F.values, self.transitions_, F.ends)

    def _store_transitions(self):
        """Set `transitions_`, the mean over the nets, if the output is a chain."""
        if self.output == "crf":
            tables = [net.chain.T.detach().double().numpy() for net in self.nets_]
            self.transitions_ = np.mean(tables, axis=0)

    def _best_labels(self, F: Ragged) -> Ragged:
        """The most probable labels given the scores of all steps."""
        if self.output == "crf":
            codes = viterbi(*self._chain(F))[0]
        else:
            codes = F.values.argmax(axis=1)
        return F.with_values(self.classes_[codes])

    def _label_probabilities(self, F: Ragged) -> Ragged:
        """Probability of the labels of every step given the scores."""
        if self.output == "crf":
            return F.with_values(smooth_chain(*self._chain(F))[0])
        return F.with_values(softmax(F.values))


@dataclass(eq=False, repr=False)
class SequenceTagger(AbstractSequenceNet, AbstractTagger):
    """Recurrent net, transformer or state-space net for a label of each step.

    Parameters
    ----------
    architecture : {"lstm", "gru", "rnn", "transformer", "s4d", "mamba"}, \
default="lstm"
        The sequence layer, a row of `nn.ARCHITECTURES`.
    bidirectional : bool, default=True
        Whether a label may depend on later steps.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The labels, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.neural_network import SequenceTagger
    >>> rng = np.random.default_rng(0)
    >>> X = [rng.normal(size=(rng.integers(4, 9), 1)) for _ in range(100)]
    >>> y = [np.where(x[:, 0].cumsum() > 0, "up", "down") for x in X]
    >>> model = SequenceTagger("gru", hidden_size=16, n_epochs=20, random_state=0)
    >>> bool(model.fit(X[:80], y[:80]).score(X[80:], y[80:]) > 0.85)
    True
    """

    architecture: Architecture = "lstm"
    _: KW_ONLY
    bidirectional: Flag = True

    def partial_fit(self, X, y, sample_weight=None, classes=None):
        """One more pass over these sequences, at a constant rate.

        The first call learns the scales of the columns from its sequences, and needs
        `classes` if they do not all occur in y.
        """
        if hasattr(self, "nets_"):
            return self._continue_fit(X, y, sample_weight, one_pass=True)
        return self._fit(X, y, sample_weight, classes=classes, one_pass=True)

    def _train(self, nets, rows, held_out, rng, *, one_pass=False):
        super()._train(nets, rows, held_out, rng, one_pass=one_pass)
        self._store_transitions()

    def _check_inputs(self, X, y, sample_weight):
        X, w = self._check_steps(X, sample_weight)
        return (X,), _step_labels(y, X), w

    def _check_steps(self, X, sample_weight):
        """Training sequences and their weights."""
        return _check_sequences(self, X, None, sample_weight)

    def _build_net(self, n_outputs, head):
        return _build_sequence_net(self, n_outputs, head, None)

    def _step_scores(self, X) -> Ragged:
        """Scores of every step, averaged over nets and passes."""
        X = _check_new_sequences(self, X)
        return X.with_values(self._raw_outputs(X).mean(axis=0))

    def predict(self, X):
        """The most probable labels of each sequence, in the form of X."""
        return _in_form_of(X, self._best_labels(self._step_scores(X)))

    def predict_proba(self, X):
        """Probability of the labels of every step, in the form of X."""
        return _in_form_of(X, self._label_probabilities(self._step_scores(X)))

    def score(self, X, y, sample_weight=None) -> float:
        """Share of the steps with the right label, weighted by sequence."""
        F = _check_new_sequences(self, X)
        labels = _step_labels(y, F)
        result = as_ragged(self.predict(F))
        w = check_sample_weight(sample_weight, len(F))
        weights = None if w is None else np.repeat(w, F.lengths)
        return float(np.average(result.values == labels.values, weights=weights))


def _step_labels(y, X: Ragged) -> Ragged:
    """Labels of the steps as a `Ragged`, if there is one for each step of X."""
    if y is None:
        raise ValueError("SequenceTagger requires y: a label for each step.")
    if isinstance(y, Ragged):
        labels = y
    elif getattr(y, "ndim", 0) == 2:
        labels = as_ragged(arrays.to_numpy(y))
    else:
        parts = [np.asarray(part) for part in y]
        if any(part.ndim != 1 for part in parts):
            raise ValueError("y must hold a sequence of labels for each sequence of X.")
        labels = Ragged.from_list(parts)
    if len(labels) != len(X):
        raise ValueError(f"X has {len(X)} sequences, but y has {len(labels)}.")
    wrong = np.flatnonzero(labels.lengths != X.lengths)
    if len(wrong):
        i = wrong[0]
        raise ValueError(
            f"sequence {i} of X has {X.lengths[i]} steps, but y has "
            f"{labels.lengths[i]} labels."
        )
    refuse_missing(labels.values)
    return labels


def _in_form_of(X, answers: Ragged):
    """Answers for steps: a list for a list, an array for an array, else a Ragged."""
    if isinstance(X, Ragged) or is_grouped_frame(X):
        return answers
    X = _listed_arrays(X)
    if is_list_of_arrays(X) or isinstance(_first_step(X), str):
        return answers.to_list()
    n = len(answers)
    return answers.values.reshape(n, -1, *answers.values.shape[1:])
