"""Latent diffusion: a diffusion of the codes of an autoencoder.

An autoencoder maps rows to codes c = e(x) of few numbers and back, x = d(c). The
diffusion learns the law of the codes, and a sample is the row of a drawn code:

    fit      e, d by reconstruction; then the law of e(x) by denoising           (1)
    sample   c from the diffusion, x = d(c)                                      (2)

The diffusion works in k dimensions instead of those of an image, and what it does not
have to learn, the small detail of rows, is left to the decoder. A row's score is the
log density of its code, which says nothing about what the code leaves out.

Cost      a fit of each part
Shapes    X (n, d) or images   codes (n, k)
Refs      [Rombach2022]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from ...base import Density, Estimator, fit_stage, host_array
from ...core.arrays.unreadable import array_of_rows
from ...core.random import draw_seed, make_rng
from ...params import check_params
from ...typing import Seed
from ..abstract_latent_model import AbstractLatentModel
from ..autoencoders.autoencoder import Autoencoder
from .diffusion import AbstractDiffusion, DiffusionModel


@dataclass(eq=False, repr=False)
class LatentDiffusion(Density, Estimator):
    """Diffusion model of the codes of an autoencoder.

    Parameters
    ----------
    autoencoder : generative model with codes, or None, default=None
        Such as `Autoencoder`, `ConvAutoencoder` or `VAE`; None: `Autoencoder`.
    diffusion : DiffusionModel, DDPM or None, default=None
        None: `DiffusionModel`.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the parts that have no seed of their own.

    Attributes
    ----------
    autoencoder_, diffusion_ : fitted models
    interrupted_ : bool
        Whether the training of the diffusion was stopped by Ctrl-C. While the
        autoencoder is trained there is no model yet: Ctrl-C raises KeyboardInterrupt
        and leaves this one as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import Autoencoder, DiffusionModel, LatentDiffusion
    >>> t = np.random.default_rng(0).uniform(0, 3, 300)
    >>> X = np.c_[np.cos(t), np.sin(t), t]
    >>> model = LatentDiffusion(
    ...     Autoencoder(1, n_epochs=5), DiffusionModel(n_epochs=5), random_state=0
    ... ).fit(X)
    >>> model.sample(2, random_state=0).shape
    (2, 3)
    """

    autoencoder: AbstractLatentModel | None = None
    diffusion: AbstractDiffusion | None = None
    _: KW_ONLY
    random_state: Seed = None

    _tensors = False
    _conditional = True  # y holds classes

    def fit(self, X, y=None, sample_weight=None):
        """Fit the autoencoder, and then the diffusion to its codes, eq. (1).

        Parameters
        ----------
        X : array of shape (n, d), or images
        y : array of n labels or None
            Classes that samples can be asked for.
        sample_weight : array of shape (n,) or None
        """
        check_params(self)
        X = host_array(self, X)
        rng = make_rng(self.random_state)
        coder = self._part(self.autoencoder, Autoencoder, rng)
        if coder._needs_labels:
            raise ValueError(
                f"{type(coder).__name__} needs labels to encode rows: take another "
                "autoencoder; the labels condition the diffusion."
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        for part in (coder, self.diffusion or DiffusionModel()):
            if weights and not has_fit_parameter(part, "sample_weight"):
                name = type(part).__name__
                raise ValueError(f"{name} takes no sample_weight.")
        fit_stage(coder, X, **weights)
        diffusion = self._part(self.diffusion, DiffusionModel, rng)
        diffusion.fit(coder.encode(X), y, **weights)
        self.autoencoder_, self.diffusion_ = coder, diffusion
        self.interrupted_ = diffusion.interrupted_
        self.n_features_in_ = coder.n_features_in_
        if hasattr(coder, "feature_names_in_"):
            self.feature_names_in_ = coder.feature_names_in_
        return self

    def _part(self, model, default, rng):
        """A fresh copy of a part, seeded if it has no seed."""
        part = default() if model is None else clone(model)
        seed = draw_seed(rng)
        if self.random_state is not None and part.random_state is None:
            part.set_params(random_state=seed)
        return part

    def sample(self, n_samples=1, y=None, random_state=None, **options):
        """Draw new rows, eq. (2).

        Parameters
        ----------
        n_samples, y, random_state
            As in `DiffusionModel.sample`.
        options
            Its `n_steps`, `sampler`, `variance`, `eta` and `guidance`.
        """
        check_is_fitted(self, "diffusion_")
        codes = self.diffusion_.sample(n_samples, y, random_state, **options)
        return self.autoencoder_.decode(codes)

    def encode(self, X):
        """The code of each row, (n, k)."""
        check_is_fitted(self, "diffusion_")
        return self.autoencoder_.encode(X)

    def decode(self, codes):
        """The row of each code."""
        check_is_fitted(self, "diffusion_")
        return self.autoencoder_.decode(codes)

    def reconstruct(self, X):
        """Rows decoded from their codes."""
        check_is_fitted(self, "diffusion_")
        return self.autoencoder_.reconstruct(X)

    def score_samples(self, X, y=None):
        """Log density of the code of each row, (n,)."""
        check_is_fitted(self, "diffusion_")
        X = array_of_rows(X, "X of LatentDiffusion") if isinstance(X, list) else X
        X = self._check_new_data(X) if np.ndim(X) <= 2 else X
        return self.diffusion_.score_samples(self.autoencoder_.encode(X), y)

    def score(self, X, y=None):
        """The mean of `score_samples`, for rows of any class."""
        return float(np.mean(self.score_samples(X)))
