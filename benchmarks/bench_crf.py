"""Linear-chain fields against CRFsuite, by the same number of L-BFGS steps.

Sentences of made-up words whose tags depend on the word, its neighbours and the tag
before; the features are those taggers use: the word, its ends, the words beside it.
"""

import numpy as np

from .runner import Case

STEPS = 50


def sentences(size):
    many, k = size
    rng = np.random.default_rng(0)
    words = 3000
    T, W = 1.5 * rng.normal(size=(k, k)), 2 * rng.normal(size=(words, k))
    X, y = [], []
    for _ in range(many):
        n = int(rng.integers(8, 30))
        seen = np.minimum(rng.zipf(1.3, n), words) - 1
        tags = []
        for w in seen:
            z = W[w] + (T[tags[-1]] if tags else 0)
            p = np.exp(z - z.max())
            tags.append(int(rng.choice(k, p=p / p.sum())))
        X.append([token(seen, t) for t in range(n)])
        y.append([f"T{v}" for v in tags])
    return X, y


def token(seen, t):
    word = f"{seen[t]:05d}"
    out = {"bias": 1.0, "word": word, "suffix": word[-2:], "prefix": word[:3]}
    out |= {"end": word[-1], "even": bool(seen[t] % 2)}
    if t:
        out |= {"-1:word": f"{seen[t - 1]:05d}", "-1:end": f"{seen[t - 1] % 10}"}
    else:
        out["BOS"] = True
    if t < len(seen) - 1:
        out |= {"+1:word": f"{seen[t + 1]:05d}", "+1:end": f"{seen[t + 1] % 10}"}
    else:
        out["EOS"] = True
    return out


HOW = {"c2": 0.1, "max_iterations": STEPS, "epsilon": 1e-12, "delta": 1e-12}


def ours(payload, c1=0.0):
    from pansophy.graphical import ChainCRF

    model = ChainCRF(c1=c1, **HOW).fit(*payload)
    return model.state_features_, model.transition_features_


def crfsuite(payload, c1=0.0):
    from sklearn_crfsuite import CRF

    model = CRF(algorithm="lbfgs", c1=c1, **HOW).fit(*payload)
    return model.state_features_, model.transition_features_


def objective(payload, weights, c1=0.0):
    """Surprise and penalties per token, computed once for both."""
    from pansophy.graphical import ChainCRF

    X, y = payload
    model = ChainCRF(c1=c1, c2=0.1, max_iterations=1).fit(X, y)
    names, classes = model.attributes_, model.classes_.tolist()
    states, moves = weights
    for a, name in enumerate(names):
        for q in range(model.first_[a], model.first_[a + 1]):
            model.coef_[q] = states.get((name, classes[model.label_[q]]), 0.0)
    for (a, b), v in moves.items():
        model.transitions_[classes.index(a), classes.index(b)] = v
    w = np.r_[model.coef_, model.transitions_.ravel()]
    value = 0.1 * w @ w + c1 * np.abs(w).sum() - model.log_likelihood(X, y)
    return float(value / sum(map(len, y)))


def l1(f):
    return lambda payload, *more: f(payload, *more, c1=0.1)


CASES = [
    Case(
        name="crf_chain",
        what=f"2,000 sentences, 20 tags, 11 features a word, {STEPS} steps of L-BFGS",
        sizes=[(200, 20), (700, 20), (2000, 20)],
        data=sentences,
        ours=ours,
        peers={"crfsuite": crfsuite},
        quality=objective,
        tolerance=2e-3,
        target=1.0,
    ),
    Case(
        name="crf_chain_l1",
        what=f"the same with L1, {STEPS} orthant-wise steps",
        sizes=[(200, 20), (700, 20), (2000, 20)],
        data=sentences,
        ours=l1(ours),
        peers={"crfsuite": l1(crfsuite)},
        quality=l1(objective),
        tolerance=2e-3,
        target=1.0,
    ),
    Case(
        name="crf_chain_few",
        what=f"8,000 sentences, 5 tags, {STEPS} steps of L-BFGS",
        sizes=[(800, 5), (2500, 5), (8000, 5)],
        data=sentences,
        ours=ours,
        peers={"crfsuite": crfsuite},
        quality=objective,
        tolerance=2e-3,
        target=1.0,
    ),
]
