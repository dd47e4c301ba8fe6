"""Formulas: arithmetic only, parsed and evaluated without running code."""

import numpy as np
import pytest

from pansophy.feature_extraction.formulas import evaluate_formula, parse_formula


class TestFormulas:
    def test_arithmetic_as_python_has_it(self, rng):
        x = rng.normal(size=5)
        text = "-x**2 / (3 - 2) + 2*abs(x) - exp(pi) + tanh(x*e)"
        want = -(x**2) / (3 - 2) + 2 * abs(x) - np.exp(np.pi) + np.tanh(x * np.e)
        np.testing.assert_allclose(
            evaluate_formula(parse_formula(text), {"x": x}), want
        )

    @pytest.mark.parametrize(
        "text",
        ["__import__('os')", "x.shape", "x[0]", "(lambda: 1)()", "open(x)",
         "x if x else 1", "'a'", "True", "sin(x, x)", "[x]", "x; x", "x and x",
         "x == 1", "f'{x}'"],
    )  # fmt: skip
    def test_nothing_but_arithmetic(self, text):
        with pytest.raises(ValueError, match="formula"):
            parse_formula(text)
