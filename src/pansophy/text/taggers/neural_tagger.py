"""Neural tagger: a recurrent net or a transformer over embedded words, with a chain.

    x_i = [E_word(w_i), E_ending(s_i), ..., E_shape(w_i)],   H = layer(x)          (1)
    log P(t | w) = sum_i F_i(t_i) + sum_i T(t_i-1, t_i) - log Z,   F = W H + b     (2)

The columns of x are embeddings of the lower-case word, of its ending and beginning and
of its shape, so that an unknown word is still known by its form. With "lstm" both ways
this is the BiLSTM-CRF. Words that occur once in training share the embedding of unknown
words, and a share of the others is taken for unknown in each step (`word_dropout`), so
that the net learns to go by form and context. Training is that of `neural_network`, the
chain (2) `nn.nets.crf_output`.

Refs      [Huang2015]; [Lample2016]; [Vaswani2017]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from ... import nn
from ...core.arrays.ragged import Ragged
from ...neural_network.abstract_net import AbstractNet
from ...neural_network.sequence import AbstractTagger, Architecture
from ...nn.nets.sequence_net import LayerSize
from ...params import Count, Flag, FractionBelowOne, Positive, check_params
from .word_features import (
    check_sentences,
    check_tags,
    split_by_sentence,
    tag_accuracy,
    word_form,
)

UNKNOWN = 0  # code of what training has not seen
COLUMNS = ("word", "ending3", "ending2", "beginning2", "shape")
SHARES = (0.5, 0.2, 0.1, 0.1, 0.1)  # of the columns of x that each embedding has


class EmbeddedWords(torch.nn.Module):
    """Eq. (1): codes of words and their forms (n, T, 5), embedded, then a layer.

    Parameters
    ----------
    sizes : codes of each column
    columns : columns of each embedding
    layer : sequence layer
    word_dropout : float
        Share of the words that are taken for unknown in training.
    """

    def __init__(self, sizes, columns, layer, word_dropout=0.0):
        super().__init__()
        self.embeddings = torch.nn.ModuleList(
            torch.nn.Embedding(size, d) for size, d in zip(sizes, columns)
        )
        self.layer = layer
        self.width, self.causal = layer.width, layer.causal
        self.word_dropout = float(word_dropout)

    def forward(self, X: Tensor, lengths=None, state=None, *, return_state=True):
        if self.training and self.word_dropout:
            X = X.clone()
            is_dropped = torch.rand(X.shape[:2], device=X.device) < self.word_dropout
            X[..., 0] = X[..., 0].masked_fill(is_dropped, UNKNOWN)
        parts = [embed(X[..., j]) for j, embed in enumerate(self.embeddings)]
        return self.layer(
            torch.cat(parts, -1), lengths, state, return_state=return_state
        )


def _form_columns(words) -> list[list[str]]:
    """The five columns of every word, as texts; "" where a word is too short."""
    forms = [word_form(word) for word in words]
    return [[form.get(name, "") for name in COLUMNS] for form in forms]


@dataclass(eq=False, repr=False)
class NeuralTagger(AbstractTagger):
    """Tags of words by a recurrent net or a transformer, eqs. (1) and (2).

    Parameters
    ----------
    architecture : {"lstm", "gru", "rnn", "transformer", "s4d", "mamba"}
        The sequence layer, a row of `nn.ARCHITECTURES`.
    output : {"crf", "softmax"}, default="crf"
        Tags of a sentence together, eq. (2), or each on its own.
    embedding_size : int, default=64
        Columns of x, eq. (1).
    hidden_size : int, default=64
        Units of the layer (columns of a transformer).
    n_layers : int, default=1
    bidirectional : bool, default=True
        Whether a tag may depend on later words.
    n_heads : int, default=4
        Heads of a transformer.
    dropout : float, default=0.3
        Chance that a unit is left out of a training step.
    word_dropout : float, default=0.1
        Chance that a word is taken for unknown in a training step.
    min_count : int, default=2
        Words that occur less often in training share one embedding.
    clip : float or None, default=1
        Largest norm of a gradient.
    warm_start : bool, default=False
        Go on from the nets of the last fit.
    class_weight : dict, "balanced" or None, default=None
        Factors of the tags in the loss, as that of `neural_network.SequenceTagger`.
    weight_decay, batch_size, learning_rate, learning_rate_init, n_epochs,
    early_stopping, validation_fraction, n_iter_no_change, n_estimators, mc_dropout,
    dtype, random_state, verbose, device, checkpoint, resume
        As those of `neural_network.SequenceTagger`.

    Attributes
    ----------
    classes_ : array of shape (k,)
        The tags, sorted.
    transitions_ : array of shape (k, k)
        T of eq. (2), averaged over the nets, if `output` is "crf".
    vocabularies_ : list of lists of str
        What the codes 1, 2, ... of each column of x stand for.
    nets_, loss_, n_iter_, history_, converged_, interrupted_
        As those of `neural_network.SequenceTagger`.

    Examples
    --------
    >>> from pansophy.text import NeuralTagger
    >>> sentences = ["the dog barks", "a cat sleeps", "the cat barks"] * 5
    >>> model = NeuralTagger(hidden_size=16, n_epochs=20, random_state=0)
    >>> model = model.fit(sentences, [["D", "N", "V"]] * 15)
    >>> model.predict(["a dog sleeps"])
    [['D', 'N', 'V']]
    """

    architecture: Architecture = "lstm"
    _: KW_ONLY
    output: Literal["softmax", "crf"] = "crf"
    embedding_size: Count = 64
    hidden_size: Count = 64
    n_layers: Count = 1
    bidirectional: Flag = True
    n_heads: Count = 4
    dropout: FractionBelowOne = 0.3
    word_dropout: FractionBelowOne = 0.1
    min_count: Count = 2
    warm_start: Flag = False
    learning_rate_init: Positive = 0.005
    n_epochs: Count = 30

    def fit(self, sentences, tags, validation=None):
        """Train the net.

        Parameters
        ----------
        sentences : list of lists of str, or of str, split at spaces
        tags : list of sequences of labels
        validation : (sentences, tags) or None
            Sentences of your own to stop by; turns early stopping on.
        """
        if self.warm_start and hasattr(self, "nets_"):
            self._continue_fit(sentences, tags, None, validation)
        else:
            self._fit(sentences, tags, None, validation)
        self._store_transitions()
        return self

    def partial_fit(self, sentences, tags, classes=None):
        """One more pass over these sentences, at a constant rate.

        The first call learns the words, and needs `classes` if they do not all occur.
        """
        if hasattr(self, "nets_"):
            self._continue_fit(sentences, tags, None, one_pass=True)
        else:
            self._fit(sentences, tags, None, classes=classes, one_pass=True)
        self._store_transitions()
        return self

    def _check_inputs(self, X, y, sample_weight):
        check_params(self)
        (words,) = self._check_new_inputs(X)
        check_tags(y, check_sentences(X))
        return (words,), Ragged.from_list([np.asarray(list(t)) for t in y]), None

    def _check_new_inputs(self, X):
        return (Ragged.from_list([np.array(words) for words in check_sentences(X)]),)

    def _learn_inputs(self, inputs, w):
        (words,) = inputs
        columns = list(zip(*_form_columns(words.values.tolist())))
        self.vocabularies_ = []
        for name, column in zip(COLUMNS, columns):
            min_count = self.min_count if name == "word" else 1
            texts, counts = np.unique(np.array(column), return_counts=True)
            self.vocabularies_.append(texts[counts >= min_count].tolist())
        self._typical_length = float(words.lengths.mean())
        return self._encode_inputs(inputs)

    def _encode_inputs(self, inputs):
        (words,) = inputs
        codes = [
            {text: i for i, text in enumerate(texts, 1)} for texts in self.vocabularies_
        ]
        rows = [
            [code.get(text, UNKNOWN) for code, text in zip(codes, row)]
            for row in _form_columns(words.values.tolist())
        ]
        return (Ragged(np.array(rows, dtype=np.int64), words.offsets),)

    def _build_net(self, n_outputs, head):
        columns = [max(2, round(self.embedding_size * share)) for share in SHARES]
        size = LayerSize(
            sum(columns),
            self.hidden_size,
            self.n_layers,
            self.n_heads,
            bool(self.bidirectional),
            self.dropout,
        )
        layer = nn.ARCHITECTURES[self.architecture](size)
        sizes = [len(texts) + 1 for texts in self.vocabularies_]
        return nn.SequenceNet(
            EmbeddedWords(sizes, columns, layer, self.word_dropout),
            n_outputs,
            pool=None,
            head=head,
            dropout=self.dropout,
            typical_length=self._typical_length,
        )

    def _word_scores(self, sentences) -> Ragged:
        """Scores of every word, averaged over nets and passes."""
        (words,) = self._check_new_inputs(sentences)
        scores = AbstractNet._raw_outputs(self, sentences).mean(axis=0)
        return words.with_values(scores)

    def predict(self, sentences) -> list[list]:
        """The most probable tags of the words of each sentence."""
        result = self._best_labels(self._word_scores(sentences))
        return [part.tolist() for part in result.to_list()]

    def predict_proba(self, sentences) -> list[np.ndarray]:
        """Probability of the tags of every word: an array (words, k) a sentence."""
        result = self._label_probabilities(self._word_scores(sentences))
        return split_by_sentence(result.values, check_sentences(sentences))

    def score(self, sentences, tags) -> float:
        """Share of the words with the right tag."""
        return tag_accuracy(self, sentences, tags)
