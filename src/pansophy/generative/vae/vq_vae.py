"""Vector-quantised autoencoder: codes that are entries of a learnt codebook.

The encoder gives P vectors e_p of D numbers for a row. Each is replaced by the nearest
of V codebook vectors,

    i_p = argmin_v |e_p - c_v|^2,   q_p = c_{i_p}                                 (1)

and the decoder sees q. The choice has no slope: gradients of the reconstruction pass
from q to e unchanged (straight-through). Codebook and encoder meet by

    codebook     sum_p |sg(e_p) - q_p|^2 / 2                                      (2)
    commitment   beta sum_p |e_p - sg(q_p)|^2 / 2                                 (3)

sg being "no gradient". The code of a row is the whole numbers i_1, ..., i_P. After
training a prior over codes is counted,

    p(i) = p(i_1) prod_p p(i_p | i_{p-1}),   counts plus 1/V                      (4)

so that codes can be drawn, and so that the score of a row is a lower bound of its
log-density: log p(x) >= log p(x | q(i)) + log p(i) for the row's own code i.

Codebook vectors that a whole epoch did not use start anew from vectors of the encoder,
in the first half of training.

Cost      O(n P V D) beside encoder and decoder
Shapes    X (n, d)   e, q (n, P, D)   codebook (V, D)   codes (n, P)
Refs      [Oord2017]
"""

from dataclasses import KW_ONLY, dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ...nn.layers.dense_layers import DenseLayers
from ...params import Activation, Count, LayerSizes, NonNegative, Positive, TwoOrMore
from ..abstract_generator import batch_mean, net_placement, values_in_blocks
from ..abstract_latent_model import AbstractLatentModel
from ..autoencoders.autoencoder import layer_sizes
from .abstract_vae import Variance
from .likelihoods import NormalLikelihood
from .vae_net import clear_weights


class VQVAENet(nn.Module):
    """Encoder, codebook, decoder and prior, eq. (1) to (4).

    Parameters
    ----------
    n_features, n_positions, n_codes, code_size : int
        d, P, V and D.
    hidden : sequence of int
    activation : str
    commitment : float
        beta.
    variance
        Of the normal likelihood.
    """

    first: Tensor
    transition: Tensor
    used: Tensor
    restarts: Tensor

    def __init__(
        self, n_features, n_positions, n_codes, code_size, hidden, *,
        activation="elu", commitment=0.25, variance="global",
    ):  # fmt: skip
        super().__init__()
        P, D, V = int(n_positions), int(code_size), int(n_codes)
        self.likelihood = NormalLikelihood(n_features, variance)
        self.encoder = DenseLayers([n_features, *hidden, P * D], activation=activation)
        outputs = self.likelihood.n_outputs
        self.decoder = DenseLayers(
            [P * D, *hidden[::-1], outputs], activation=activation
        )
        clear_weights(self.decoder, self.likelihood.exponentiated)
        self.codebook = nn.Parameter(torch.randn(V, D))
        self.shape = (P, D)
        self.commitment = float(commitment)
        self.register_buffer("first", torch.full((V,), 1 / V))
        self.register_buffer("transition", torch.full((P - 1, V, V), 1 / V))
        self.register_buffer("used", torch.zeros(V))
        self.register_buffer("restarts", torch.zeros((), dtype=torch.int64))

    def flops(self, n: int) -> float:
        """Operations of a training step on n rows."""
        return self.encoder.flops(n) + self.decoder.flops(n)

    def vectors(self, X: Tensor) -> Tensor:
        """e: (n, P, D)."""
        return self.encoder(X).view(-1, *self.shape)

    def nearest(self, e: Tensor) -> Tensor:
        """The codes of vectors, eq. (1): (n, P)."""
        c = self.codebook
        # |e|^2 is the same for all entries
        return (c.square().sum(1) - 2 * e @ c.T).argmin(-1)

    def scores(self, q: Tensor) -> Tensor:
        """Outputs of the decoder for codebook vectors (n, P, D)."""
        return self.decoder(q.flatten(1))

    def losses(self, batch) -> dict[str, Tensor]:
        """Reconstruction in nats per row, and eq. (2) and (3)."""
        X = batch["X"]
        e = self.vectors(X)
        codes = self.nearest(e.detach())
        q = self.codebook[codes]
        if self.training:
            self.used += torch.bincount(codes.flatten(), minlength=len(self.used))
        straight_through = e + (q - e).detach()
        log_px = self.likelihood.log_prob(X, self.scores(straight_through)).sum(-1)
        apart = lambda a, b: (a - b).square().sum((1, 2)) / 2
        losses = {
            "reconstruction": -batch_mean(log_px, batch),
            "codebook": batch_mean(apart(e.detach(), q), batch),
        }
        if self.commitment:
            close = batch_mean(apart(e, q.detach()), batch)
            losses["commitment"] = self.commitment * close
        return losses

    @torch.no_grad()
    def restart_unused(self, e: Tensor) -> int:
        """Put unused codebook vectors onto vectors of the encoder (m, D)."""
        unused = torch.nonzero(self.used == 0)[:, 0]
        if len(unused):
            rows = torch.randint(len(e), (len(unused),), device=e.device)
            self.codebook[unused] = e[rows]
        self.used.zero_()
        return len(unused)

    def log_prior(self, codes: Tensor) -> Tensor:
        """Log of eq. (4): (n,)."""
        total = self.first[codes[:, 0]].log()
        for p, table in enumerate(self.transition):
            total = total + table[codes[:, p], codes[:, p + 1]].log()
        return total

    def draw_codes(self, n: int) -> Tensor:
        """n codes by eq. (4): (n, P)."""
        codes = [torch.multinomial(self.first, n, replacement=True)]
        for table in self.transition:
            codes.append(torch.multinomial(table[codes[-1]], 1)[:, 0])
        return torch.stack(codes, 1)

    @torch.no_grad()
    def count_prior(self, codes: np.ndarray, w) -> None:
        """Learn eq. (4) from the codes of training rows (n, P)."""
        V = len(self.codebook)
        w = np.ones(len(codes)) if w is None else w
        first = np.bincount(codes[:, 0], w, minlength=V) + 1 / V
        self.first.copy_(torch.as_tensor(first / first.sum()))
        for p, table in enumerate(self.transition):
            pairs = codes[:, p] * V + codes[:, p + 1]
            counts = np.bincount(pairs, w, minlength=V * V).reshape(V, V) + 1 / V
            table.copy_(torch.as_tensor(counts / counts.sum(axis=1, keepdims=True)))


@dataclass(eq=False, repr=False)
class VQVAE(AbstractLatentModel):
    """Vector-quantised autoencoder: codes of whole numbers.

    Parameters
    ----------
    n_components : int, default=4
        P, whole numbers of a code.
    n_codes : int, default=32
        V, vectors of the codebook: numbers of a code are below it.
    code_size : int, default=8
        D, numbers of a codebook vector.
    commitment : float, default=0.25
        beta, how strongly the encoder is drawn to the codebook.
    hidden_layer_sizes : sequence of int, default=(64,)
        Units of the hidden layers of the encoder; the decoder has them in reverse.
    activation : {"relu", "leaky", "elu", "tanh", "logistic", "identity"}, \
default="elu"
        Of the hidden layers.
    variance : {"column", "global", "predicted"} or float, default="global"
        Variance of the columns given the code, in units of the standardised columns.

    Attributes
    ----------
    codebook_ : array of shape (n_codes, code_size)
    codebook_perplexity_ : float
        exp of the entropy of how often codebook vectors are used: n_codes if all are
        used alike, 1 if one is.
    history_ : dict of arrays
        Per epoch: loss and its terms (reconstruction, codebook, commitment), and
        valid_loss with early stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.generative import VQVAE
    >>> t = np.random.default_rng(0).uniform(-2, 2, (300, 1))
    >>> X = np.hstack([t, t**2])
    >>> model = VQVAE(1, n_codes=8, random_state=0, device="cpu").fit(X)
    >>> codes = model.encode(X)
    >>> codes.dtype, codes.shape, bool(codes.max() < 8)
    (dtype('int64'), (300, 1), True)
    >>> model.sample(2).shape
    (2, 2)
    """

    n_components: Count = 4
    _: KW_ONLY
    n_codes: TwoOrMore = 32
    code_size: Count = 8
    commitment: NonNegative = 0.25
    hidden_layer_sizes: LayerSizes = (64,)
    activation: Activation = "elu"
    variance: Variance = "global"
    weight_decay: NonNegative = 0.0
    learning_rate_init: Positive = 0.003
    n_epochs: Count = 100

    def fit(self, X, y=None, sample_weight=None):
        """Train the net.

        Parameters
        ----------
        X : array of shape (n, d), or images (n, h, w) or (n, h, w, channels)
        y : ignored
        sample_weight : array of shape (n,) or None
        """
        return self._fit(X, y, sample_weight)

    def _build_net(self, n_features, n_classes):
        return VQVAENet(
            n_features,
            self.n_components,
            self.n_codes,
            self.code_size,
            layer_sizes(self.hidden_layer_sizes),
            activation=self.activation,
            commitment=self.commitment,
            variance=self.variance,
        )

    def _start_net(self, net, rows):
        """The codebook starts from vectors of training rows."""
        net.restart_unused(self._some_vectors(net, rows))
        net.restarts.fill_(self.n_epochs // 2)

    def _some_vectors(self, net, rows) -> Tensor:
        n = min(len(rows.X), 4 * self.n_codes)
        chosen = torch.randperm(len(rows.X))[:n].numpy()
        device, dtype = net_placement(net)
        X = torch.as_tensor(rows.X[chosen]).to(device, dtype)
        with torch.no_grad():
            return net.vectors(X).flatten(0, 1)

    def _monitors(self, rows, held_out, rng):
        def restart(net):
            if net.restarts:
                net.restarts -= 1
                net.restart_unused(self._some_vectors(net, rows))
            return {}

        return [restart, *super()._monitors(rows, held_out, rng)]

    def _prepare_sampling(self, net, rows):
        codes = values_in_blocks(net, self._encode, rows.X).astype(np.int64)
        net.count_prior(codes, rows.w)

    def _finish_fit(self, rows):
        self.codebook_ = self.net_.codebook.detach().double().numpy()
        codes = self._row_values(self._encode, rows.X).astype(np.int64)
        w = None if rows.w is None else np.repeat(rows.w, codes.shape[1])
        counts = np.bincount(codes.ravel(), w, minlength=self.n_codes)
        share = counts[counts > 0] / counts.sum()
        self.codebook_perplexity_ = float(np.exp(-(share * np.log(share)).sum()))

    def _encode(self, net, X, y):
        return net.nearest(net.vectors(X))

    def _decode(self, net, codes, y):
        return net.likelihood.mean(net.scores(net.codebook[codes.long()]))

    def _generate(self, net, n, y):
        q = net.codebook[net.draw_codes(n)]
        return net.likelihood.draw(net.scores(q))

    def _log_density(self, net, X, y):
        codes = net.nearest(net.vectors(X))
        log_px = net.likelihood.log_prob(X, net.scores(net.codebook[codes])).sum(-1)
        return log_px + net.log_prior(codes)

    def encode(self, X, y=None):
        """The code of each row: whole numbers (n, n_components)."""
        return super().encode(X).astype(np.int64)

    def decode(self, codes, y=None):
        """The mean row of each code: (n, d), or images."""
        C = np.asarray(codes)
        if C.size and (C.min() < 0 or C.max() >= self.n_codes or (C % 1 != 0).any()):
            raise ValueError(
                f"codes must be whole numbers from 0 to {self.n_codes - 1}."
            )
        return super().decode(C)
