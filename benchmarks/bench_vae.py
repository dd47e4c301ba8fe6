"""Variational autoencoders against pythae: the same net, batches, epochs and optimiser.

Both train an encoder 64-512-(8, 8) and a decoder 8-512-64 with relu and a Bernoulli
likelihood on binarised digits by Adam with a rate of 0.001 and batches of 128. Quality
is minus the importance-weighted bound (64 draws) of 500 held-out images, in nats; over
six seeds its mean was 18.50 here and 18.46 there, with a deviation of 0.05 for each.
"""

import tempfile

import numpy as np

from .runner import Case

EPOCHS, BATCH, LATENT, HIDDEN = 20, 128, 8, 512
HELD_OUT = 500


def binary_digits(n):
    """n training and 500 held-out digits; beyond the 1297 real ones, noisy copies."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    X = (load_digits().data > 7).astype(np.float32)
    X = X[rng.permutation(len(X))]
    train, test = X[HELD_OUT:], X[:HELD_OUT]
    rows = train[np.arange(n) % len(train)]
    flips = rng.random(rows.shape) < 0.02
    flips[: len(train)] = False
    return np.abs(rows - flips).astype(np.float32), test


def fit_ours(payload, seed=0):
    from pansophy.generative import VAE

    train, _ = payload
    model = VAE(
        LATENT,
        hidden_layer_sizes=(HIDDEN,),
        activation="relu",
        likelihood="bernoulli",
        batch_size=BATCH,
        n_epochs=EPOCHS,
        learning_rate="constant",
        learning_rate_init=0.001,
        random_state=seed,
        device="cpu",
    )
    return model.fit(train)


def fit_pythae(payload, seed=0):
    import logging
    import os

    import torch
    from pythae.data.datasets import BaseDataset
    from pythae.models import VAE, VAEConfig
    from pythae.trainers import BaseTrainer, BaseTrainerConfig

    logging.disable(logging.INFO)
    os.environ["TQDM_DISABLE"] = "1"  # read when tqdm is imported
    train, _ = payload
    torch.manual_seed(seed)
    config = VAEConfig(input_dim=(64,), latent_dim=LATENT, reconstruction_loss="bce")
    with tempfile.TemporaryDirectory() as folder:
        trainer = BaseTrainer(
            model=VAE(config),
            train_dataset=BaseDataset(torch.as_tensor(train), torch.zeros(len(train))),
            training_config=BaseTrainerConfig(
                output_dir=folder,
                num_epochs=EPOCHS,
                learning_rate=0.001,
                per_device_train_batch_size=BATCH,
                no_cuda=True,
                keep_best_on_train=True,
            ),
        )
        trainer.train()
    return trainer.model


def held_out_bound(payload, model) -> float:
    """Minus the bound of the held-out images, the same code for both."""
    import torch

    _, test = payload
    X = torch.as_tensor(test).double()
    if hasattr(model, "net_"):
        net = model.net_.double()
        posterior, scores = net.posterior, net.scores
    else:
        model = model.double().eval()

        def posterior(X):
            out = model.encoder(X)
            return out["embedding"], out["log_covariance"]

        def scores(z):
            p = model.decoder(z.flatten(0, -2))["reconstruction"].view(
                *z.shape[:-1], -1
            )
            return torch.logit(p.clamp(1e-9, 1 - 1e-9))

    torch.manual_seed(0)
    with torch.no_grad():
        m, log_var = posterior(X)
        eps = torch.randn(64, *m.shape, dtype=m.dtype)
        z = m + (log_var / 2).exp() * eps
        F = scores(z)
        log_px = (X * F - torch.nn.functional.softplus(F)).sum(-1)
        log_prior = -(z.square()).sum(-1) / 2
        log_q = -(eps.square() + log_var).sum(-1) / 2
        bound = (log_px + log_prior - log_q).logsumexp(0) - np.log(64)
    return -float(bound.mean())


CASES = [
    Case(
        name="vae",
        what="VAE of binarised digits, 20 epochs: fit",
        sizes=[600, 1200, 5000],
        data=binary_digits,
        ours=fit_ours,
        peers={"pythae": fit_pythae},
        quality=held_out_bound,
        tolerance=0.15,
        target=1.0,
        rounds=3,
        notes="equal nets, batches and steps; quality in nats per image",
    )
]
