"""Handwritten digits: a convolutional net, what it sees, and what it is unsure of."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from pansophy import nn
from pansophy.linear_model import LogisticRegression
from pansophy.neural_network import ConvClassifier

digits = load_digits()
X, X_new, y, y_new = train_test_split(
    digits.images.astype(np.float32), digits.target, test_size=0.25, random_state=0
)

# -- the plain model, and the net ---------------------------------------------------
flat = X.reshape(len(X), -1) / 16
linear = LogisticRegression().fit(flat, y)
plain = linear.score(X_new.reshape(len(X_new), -1) / 16, y_new)
print(f"logistic regression  {plain:.3f}")

model = ConvClassifier((8, 16), n_epochs=8, random_state=0, device="cpu").fit(X, y)
print(f"convolutional net    {model.score(X_new, y_new):.3f}")
print(f"{nn.count_parameters(model):,} parameters; the layers give")
for layer in model.nets_[0].layer_shapes():
    print(f"  {layer.name:<12} {layer.shape}")

# -- how much a shift by one pixel changes --------------------------------------------
shifted = lambda images: np.roll(images, 1, axis=2)
before = nn.invariance_score(model, X_new, shifted)
print(f"predictions that a shift leaves: {before:.3f}")
augmented = ConvClassifier(
    (8, 16), n_epochs=8, augment={"shift": 1.5}, random_state=0, device="cpu"
).fit(X, y)
after = nn.invariance_score(augmented, X_new, shifted)
print(f"after training on shifted images: {after:.3f}")

# -- doubt: several nets disagree where the digit is hard ------------------------------
ensemble = ConvClassifier(
    (8, 16), n_epochs=5, n_estimators=3, random_state=0, device="cpu"
).fit(X, y)
p = ensemble.predict_proba(X_new)
sure = p.max(1) > 0.9
right = ensemble.predict(X_new) == y_new
print(f"sure of {sure.mean():.0%} of the digits: {right[sure].mean():.1%} are right")
print(f"of the others, {right[~sure].mean():.1%}")

# -- the net as a feature extractor ----------------------------------------------------
features = nn.FeatureExtractor(model).fit(X)
on_top = LogisticRegression().fit(features.transform(X[:200]), y[:200])
from_few = on_top.score(features.transform(X_new), y_new)
print(f"logistic regression on its features, from 200 digits: {from_few:.3f}")
