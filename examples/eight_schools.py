"""Effects of coaching in eight schools: a hierarchical model by the no-U-turn sampler.

Each school has an estimate y and its standard error s; the true effects theta are drawn
from Normal(mu, tau). With theta = mu + tau * eta and eta standard normal the posterior
has no narrow neck, and gradients come from torch.
"""

import torch

from pansophy.sampling import NUTS, sample

y = torch.tensor([28.0, 8, -3, 7, -1, 1, 18, 12], dtype=torch.float64)
s = torch.tensor([15.0, 10, 16, 11, 9, 11, 10, 18], dtype=torch.float64)


def log_prob(x):
    """Log posterior at x (chains, 10): mu, log tau and the eight eta."""
    mu, log_tau, eta = x[:, :1], x[:, 1:2], x[:, 2:]
    tau = log_tau.exp()
    theta = mu + tau * eta
    likelihood = -0.5 * (((y - theta) / s) ** 2).sum(dim=1)
    prior = -0.5 * (eta**2).sum(dim=1) - 0.5 * (mu[:, 0] / 5) ** 2
    half_cauchy = -torch.log1p((tau[:, 0] / 5) ** 2) + log_tau[:, 0]
    return likelihood + prior + half_cauchy


names = ["mu", "log tau", *(f"eta {i}" for i in range(1, 9))]
draws = sample(
    NUTS(log_prob, target_accept=0.9),
    200,
    init=[0.0] * 10,
    warmup=150,
    names=names,
    random_state=0,
)
print(draws)
table = draws.summary()
assert (table.r_hat < 1.1).all()
assert abs(table.mean[0] - 4.4) < 1.5
