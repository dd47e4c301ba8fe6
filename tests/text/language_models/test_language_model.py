"""Measures of language models."""

import numpy as np
import pytest

from pansophy.text import bits_per_byte, perplexity, token_cross_entropy


def test_worked_numbers():
    assert perplexity(np.full(5, -3 * np.log(2))) == pytest.approx(8)
    assert token_cross_entropy(np.full(5, -3 * np.log(2)), base=2) == pytest.approx(3)
    assert perplexity(np.log(np.full(7, 1 / 50))) == pytest.approx(50)
    log_p = np.log([0.5, 0.25, 0.125])
    assert 2 ** token_cross_entropy(log_p, base=2) == pytest.approx(perplexity(log_p))
    assert bits_per_byte(np.log([0.5, 0.5]), "né") == pytest.approx(2 / 3)
    assert perplexity([-np.inf]) == np.inf


def test_bad_input():
    with pytest.raises(ValueError, match="at least one token"):
        perplexity([])
    with pytest.raises(ValueError, match="above 0"):
        perplexity([0.5])


def test_texts_that_are_no_unicode():
    assert bits_per_byte(np.log([0.5]), "\udcff") == pytest.approx(1 / 3)
