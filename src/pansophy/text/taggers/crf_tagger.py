"""CRF tagger: a linear-chain conditional random field over features of words.

Features are those of `text.taggers.word_features`: the word, its endings, beginnings
and shape, and its neighbours; the model and its fit are `graphical.ChainCRF`.

Refs      [Lafferty2001]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.chains.filtering import smooth_chain, viterbi
from ...graphical.crf.chain_crf import ChainCRF
from ...params import Count, Flag, Natural, NonNegative, Verbosity, check_params
from ...persist.saved_state import FloatArray, Part, saved_state
from .word_features import (
    check_sentences,
    check_tags,
    class_weight_offsets,
    sentence_features,
    split_by_sentence,
    tag_accuracy,
)


@saved_state(crf_=Part(ChainCRF), tag_offsets_=FloatArray("tags"))
@dataclass(eq=False, repr=False)
class CRFTagger(Estimator):
    """Tags of words by a linear-chain conditional random field.

    Parameters
    ----------
    c1, c2 : float, default=0 and 0.1
        Strengths of the L1 and L2 penalty.
    window : int, default=1
        How far neighbours whose word and shape are features may be.
    min_freq : float, default=0
        Features that occur less often are dropped.
    all_possible_transitions : bool, default=True
        Whether pairs of tags that never occur have weights too.
    max_iterations : int or None, default=None
        None is 1000.
    class_weight : dict, "balanced" or None, default=None
        Factors c of the tags, eq. (1) of `text.taggers.word_features`.
    verbose : int, default=0

    Attributes
    ----------
    classes_ : array of shape (k,)
        The tags, sorted.
    crf_ : ChainCRF
    tag_offsets_ : array of shape (k,)
        log c.

    Examples
    --------
    >>> from pansophy.text import CRFTagger
    >>> sentences = ["the dog barks", "a cat sleeps"]
    >>> model = CRFTagger().fit(sentences, [["D", "N", "V"], ["D", "N", "V"]])
    >>> model.predict(["the fish swims"])
    [['D', 'N', 'V']]
    """

    c1: NonNegative = 0.0
    _: KW_ONLY
    c2: NonNegative = 0.1
    window: Natural = 1
    min_freq: NonNegative = 0.0
    all_possible_transitions: Flag = True
    max_iterations: Count | None = None
    class_weight: dict | Literal["balanced"] | None = None
    verbose: Verbosity = 0

    def fit(self, sentences, tags):
        """Fit the weights to tagged sentences.

        Parameters
        ----------
        sentences : list of lists of str, or of str, split at spaces
        tags : list of sequences of labels
        """
        check_params(self)
        sentences = check_sentences(sentences)
        labels = check_tags(tags, sentences)
        self.crf_ = ChainCRF(
            c1=self.c1,
            c2=self.c2,
            min_freq=self.min_freq,
            all_possible_transitions=self.all_possible_transitions,
            max_iterations=self.max_iterations,
            verbose=self.verbose,
        ).fit(self._features(sentences), labels)
        self.classes_ = self.crf_.classes_
        self.tag_offsets_ = class_weight_offsets(
            self.class_weight, self.classes_, np.concatenate(labels)
        )
        return self

    def _features(self, sentences):
        return [sentence_features(words, self.window) for words in sentences]

    def _weighted_chain(self, sentences):
        """The chain and the evidence of all words, with the offsets of the tags."""
        chain, evidence, _ = self.crf_._potentials(self._features(sentences), None)
        return chain, evidence._replace(
            log_table=evidence.log_table + self.tag_offsets_
        )

    def predict(self, sentences) -> list[list]:
        """The most probable tags of the words of each sentence."""
        check_is_fitted(self, "crf_")
        sentences = check_sentences(sentences)
        tags = self.classes_[viterbi(*self._weighted_chain(sentences))[0]]
        return [part.tolist() for part in split_by_sentence(tags, sentences)]

    def predict_proba(self, sentences) -> list[np.ndarray]:
        """Probability of the tags of every word: an array (words, k) a sentence."""
        check_is_fitted(self, "crf_")
        sentences = check_sentences(sentences)
        P, _ = smooth_chain(*self._weighted_chain(sentences))
        return split_by_sentence(P, sentences)

    def score(self, sentences, tags) -> float:
        """Share of the words with the right tag."""
        return tag_accuracy(self, sentences, tags)
