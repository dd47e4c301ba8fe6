"""Perceptrons: ours, a plain torch loop written by hand, JAX, scikit-learn.

JAX trains in one compiled call: a scan over all steps of all epochs, with the batches
gathered inside. It leaves the last, short batch of an epoch out.
"""

from functools import cache
from itertools import pairwise

import numpy as np

from .runner import Case

EPOCHS, BATCH = 10, 128
HIDDEN = (256, 128)


def digits(size):
    """Noisy copies of the 8 x 8 digits, float32."""
    from sklearn.datasets import load_digits

    (n,) = size
    rng = np.random.default_rng(0)
    X, y = load_digits(return_X_y=True)
    rows = rng.integers(len(X), size=n)
    noisy = X[rows] / 16 + 0.3 * rng.normal(size=(n, 64))
    return noisy.astype(np.float32), y[rows]


def settings(seed):
    return {
        "hidden_layer_sizes": HIDDEN,
        "batch_size": BATCH,
        "max_iter": EPOCHS,
        "n_iter_no_change": EPOCHS,
        "alpha": 0.0,
        "random_state": seed,
    }


def classifier(payload, seed=0):
    from pansophy.neural_network import MLPClassifier

    return MLPClassifier(device="cpu", **settings(seed)).fit(*payload).predict_proba


def peer_classifier(payload, seed=0):
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(**settings(seed)).fit(*payload).predict_proba


def torch_loop(payload, seed=0):
    """What one writes without a library: eager, Adam, batches by index."""
    import torch
    from torch import nn
    from torch.nn import functional

    X, y = torch.from_numpy(payload[0]), torch.from_numpy(payload[1])
    torch.manual_seed(seed)
    sizes = [X.shape[1], *HIDDEN]
    layers = []
    for m, k in zip(sizes, HIDDEN):
        layers += [nn.Linear(m, k), nn.ReLU()]
    net = nn.Sequential(*layers, nn.Linear(HIDDEN[-1], 10))
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3)
    for _ in range(EPOCHS):
        order = torch.randperm(len(X))
        for i in range(0, len(X), BATCH):
            rows = order[i : i + BATCH]
            optimiser.zero_grad()
            loss = functional.cross_entropy(net(X[rows]), y[rows])
            loss.backward()
            optimiser.step()

    def predict_proba(rows):
        with torch.no_grad():
            return net(torch.from_numpy(rows)).softmax(1).numpy()

    return predict_proba


@cache
def jax_training(n, d):
    """A jitted function that does the whole training; compiled once a process."""
    import jax
    import jax.numpy as jnp
    import optax

    adam = optax.adam(1e-3)

    def scores(params, X):
        for W, b in params[:-1]:
            X = jax.nn.relu(X @ W + b)
        W, b = params[-1]
        return X @ W + b

    def loss(params, X, y):
        F = scores(params, X)
        return optax.softmax_cross_entropy_with_integer_labels(F, y).mean()

    def train(params, X, y, orders):
        def step(state, rows):
            params, moments = state
            grads = jax.grad(loss)(params, X[rows], y[rows])
            updates, moments = adam.update(grads, moments)
            return (optax.apply_updates(params, updates), moments), None

        state, _ = jax.lax.scan(step, (params, adam.init(params)), orders)
        return state[0]

    def start(rng):
        sizes = [d, *HIDDEN, 10]
        return [
            (
                jnp.asarray(rng.uniform(-1, 1, (m, k)) * (6 / (m + k)) ** 0.5, "f4"),
                jnp.zeros(k, "f4"),
            )
            for m, k in pairwise(sizes)
        ]

    return start, jax.jit(train), jax.jit(scores)


def jax_scan(payload, seed=0):
    """All steps of all epochs in one compiled scan."""
    import jax

    X, y = payload
    rng = np.random.default_rng(seed)
    start, train, scores = jax_training(*X.shape)
    whole = len(X) // BATCH
    orders = np.concatenate(
        [
            rng.permutation(len(X))[: whole * BATCH].reshape(whole, BATCH)
            for _ in range(EPOCHS)
        ]
    )
    params = train(start(rng), X, y, orders)
    jax.block_until_ready(params)

    def predict_proba(rows):
        return np.asarray(jax.nn.softmax(scores(params, rows), axis=1))

    return predict_proba


def cross_entropy(payload, predict_proba):
    """Mean training loss reached."""
    X, y = payload
    p = predict_proba(X)[np.arange(len(y)), y]
    return float(-np.log(np.maximum(p.astype(float), 1e-12)).mean())


def friedman(size):
    from sklearn.datasets import make_friedman1

    (n,) = size
    X, y = make_friedman1(n, 20, noise=1.0, random_state=0)
    return X, (y - y.mean()) / y.std()


def regressor(payload, seed=0):
    from pansophy.neural_network import MLPRegressor

    model = MLPRegressor(max_iter=EPOCHS, random_state=seed, device="cpu")
    return model.fit(*payload).predict


def peer_regressor(payload, seed=0):
    from sklearn.neural_network import MLPRegressor

    return MLPRegressor(max_iter=EPOCHS, random_state=seed).fit(*payload).predict


def squared_error(payload, predict):
    X, y = payload
    return float(np.mean((predict(X) - y) ** 2))


CASES = [
    Case(
        name="mlp",
        what="64-256-128-10 relu, Adam 1e-3, batch 128, 10 epochs, digits, float32",
        sizes=[(2000,), (6000,), (20000,)],
        data=digits,
        ours=classifier,
        peers={
            "torch loop": torch_loop,
            "jax, one scan": jax_scan,
            "sklearn": peer_classifier,
        },
        written=(
            "torch loop",
            "jax, one scan",
        ),
        quality=cross_entropy,
        tolerance=0.03,  # spread over seeds
        target=1.0,
        main="torch loop",
        # why JAX is ahead: docs/decisions/neural-networks.md
        targets={"sklearn": 1.2, "jax, one scan": 0.5},
    ),
    Case(
        name="mlp_regressor",
        what="20-100-1 relu, Adam 1e-3, batch 200, 10 epochs, float64",
        sizes=[(2000,), (6000,), (20000,)],
        data=friedman,
        ours=regressor,
        peers={"sklearn": peer_regressor},
        quality=squared_error,
        tolerance=0.05,
        target=1.0,
    ),
]
