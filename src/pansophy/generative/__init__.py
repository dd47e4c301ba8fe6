"""Generative models: estimators that learn to draw rows like those they have seen.

All have `fit(X, y=None, sample_weight=None)`, `sample(n_samples, y=None,
random_state=None)` and `score_samples` (`abstract_generator`); those with a code have
`encode`, `decode` and `reconstruct` (`abstract_latent_model`).
"""

__all__: list[str] = []
