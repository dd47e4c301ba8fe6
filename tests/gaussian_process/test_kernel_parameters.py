"""Parameters of a kernel: their prior by parts."""

import numpy as np
import pytest

from pansophy.gaussian_process import student_t_likelihood
from pansophy.gaussian_process.kernel_parameters import kernel_family
from pansophy.gaussian_process.parameter_search import (
    HyperparameterVector,
    parameter_prior,
)
from pansophy.kernels import RBF


def test_prior_of_the_parts():
    family = kernel_family(1.0 * RBF(1.0), 1)
    vector = HyperparameterVector(family, student_t_likelihood(scale=0.5), np.ones(3))
    prior = parameter_prior(vector, "auto")
    assert prior.sd.tolist() == [3.0, 3.0, 3.0, np.inf, np.inf, np.inf]
    x = vector.start + 1.0
    assert prior.value(x) == pytest.approx(-3 / 18)
    assert prior.gradient(x).tolist() == pytest.approx([-1 / 9] * 3 + [0.0] * 3)
    theta, likelihood, own = vector.split(x)
    assert len(theta) == 2
    assert likelihood.scale == pytest.approx(0.5 * np.e)
    assert own.tolist() == [2.0, 2.0, 2.0]
    assert np.isinf(parameter_prior(vector, None).sd).all()
