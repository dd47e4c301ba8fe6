"""Stop a fit from a callback, use the model, go on where it stopped."""

import warnings

import numpy as np

from pansophy.mixture import GaussianMixture


class StopAfter:
    """A scikit-learn callback that ends the loop after a number of rounds."""

    def __init__(self, rounds):
        self.rounds = rounds

    def setup(self, estimator, context):
        self.seen = 0

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.seen += 1
        return self.seen >= self.rounds

    def teardown(self, estimator, context):
        pass


rng = np.random.default_rng(0)
X = np.vstack([rng.normal(m, 1.0, size=(500, 2)) for m in (0, 2, 4)])
model = GaussianMixture(3, tol=1e-8, max_iter=500, warm_start=True, random_state=0)

model.set_callbacks(StopAfter(3)).fit(X)
print(f"stopped after {model.n_iter_} rounds, log-likelihood {model.score(X):.6f}")

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    model.set_callbacks().fit(X)
print(f"resumed for {model.n_iter_} rounds, log-likelihood {model.score(X):.6f}")
