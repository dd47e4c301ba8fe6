"""Letters from sixteen measurements: a kernel machine for each pair of 26 classes."""

import string

import numpy as np

from pansophy.kernels import RBF
from pansophy.svm import SVC, OneClassSVM

# rows like the LetterRecognition data: each letter is printed in several styles
rng = np.random.default_rng(0)
n, d = 3000, 16
alphabet = np.array(list(string.ascii_uppercase))
styles = rng.normal(size=(26, 4, d))
letter = rng.integers(0, 26, n)
X = styles[letter, rng.integers(0, 4, n)] + 0.6 * rng.normal(size=(n, d))
y = alphabet[letter]
train, test = slice(0, 2000), slice(2000, n)

# C by a path that starts each fit from the last one
model = SVC(warm_start=True)
for C in (0.5, 1.0, 2.0, 5.0):
    model.set_params(C=C).fit(X[train], y[train])
    right = model.score(X[test], y[test])
    print(
        f"C={C:3g}: {right:.3f} right, {len(model.support_)} support vectors, "
        f"{model.n_iter_.sum()} pair steps"
    )

# which pairs of letters are hard to tell apart: those with the smallest margin
norms = np.sqrt(-2 * model.dual_objective_)
hard = np.argsort(norms)[::-1][:3]
pairs = [(a, b) for i, a in enumerate(alphabet) for b in alphabet[i + 1 :]]
print("hardest pairs:", ", ".join("".join(pairs[p]) for p in hard))

# probabilities that agree with the predictions
sure = SVC(C=2.0, probability=True, random_state=0).fit(X[train], y[train])
p = sure.predict_proba(X[test])
assert (sure.classes_[p.argmax(axis=1)] == sure.predict(X[test])).all()
doubtful = p.max(axis=1) < 0.5
good = sure.predict(X[test]) == y[test]
print(f"right where p > 0.5: {good[~doubtful].mean():.3f}")
print(f"right where it is less: {good[doubtful].mean():.3f}")

# a kernel of our own making, and rows that are no letter at all
mixed = SVC(kernel=0.7 * RBF(3.0) + 0.3 * RBF(6.0)).fit(X[train], y[train])
print(f"sum of two kernels: {mixed.score(X[test], y[test]):.3f} right")
usual = OneClassSVM(nu=0.05).fit(X[train])
strange = rng.normal(scale=3.0, size=(200, d))
print(
    f"outside: {np.mean(usual.predict(X[test]) < 0):.3f} of letters, "
    f"{np.mean(usual.predict(strange) < 0):.3f} of noise"
)
