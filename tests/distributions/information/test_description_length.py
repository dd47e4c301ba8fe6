"""Description lengths: the true order of a polynomial, priors of code lengths."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import description_length, mdl_prior


def test_description_length_picks_the_true_order(rng):
    x = np.linspace(-2, 2, 80)
    y = 1 + x - 0.7 * x**2 + 0.2 * rng.normal(size=80)
    lengths = []
    for degree in range(7):
        rest = y - np.polyval(np.polyfit(x, y, degree), x)
        log_likelihood = stats.norm(0, rest.std()).logpdf(rest).sum()
        lengths.append(description_length(log_likelihood, degree + 2, 80))
    assert int(np.argmin(lengths)) == 2
    assert description_length(-3.0, 0, 10, base=np.e) == pytest.approx(3.0)
    np.testing.assert_allclose(mdl_prior([3, 4, 4]), [0.5, 0.25, 0.25])
    for bad in (lambda: description_length(0, -1, 5), lambda: mdl_prior([])):
        with pytest.raises(ValueError, match=r"must not be negative|must be finite"):
            bad()
