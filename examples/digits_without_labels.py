"""Handwritten digits without their labels: axes, parts, and groups of images."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from pansophy.cluster import KMeans
from pansophy.decomposition import NMF, PCA, ProbabilisticPCA
from pansophy.mixture import GaussianMixture

X, digit = load_digits(return_X_y=True)  # 1797 images of 8 x 8

# how many axes do the images need? the scree, as text
axes = PCA().fit(X)
share = np.cumsum(axes.explained_variance_ratio_)
for k in (1, 2, 5, 10, 20, 40):
    print(f"{k:3} axes {share[k - 1]:6.1%} " + "#" * int(40 * share[k - 1]))
few = PCA(0.9).fit(X)
Z = few.transform(X)
print(f"90% of the variance takes {few.n_components_} of {X.shape[1]} axes")

# parts that only add up: strokes rather than contrasts
parts = NMF(12, random_state=0, tol=1e-3).fit(X)
ink = parts.components_ / parts.components_.max(axis=1, keepdims=True)
print(f"12 parts, {np.mean(ink < 0.05):.0%} of their pixels blank")

# pixels lost at random, filled in from what the rest of the image says
rng = np.random.default_rng(0)
lost = rng.uniform(size=X.shape) < 0.1
model = ProbabilisticPCA(10, max_iter=30, tol=1e-3, random_state=0)
filled = model.fit(np.where(lost, np.nan, X)).impute(np.where(lost, np.nan, X))
error = np.sqrt(np.mean((filled - X)[lost] ** 2))
blunt = np.sqrt(np.mean((X.mean(axis=0) - X)[lost] ** 2))
print(f"lost pixels: off by {error:.2f} of 16, by {blunt:.2f} with the mean pixel")

# groups of images, found twice; the labels are only asked at the end
hard = KMeans(10, random_state=0).fit_predict(Z)
soft = GaussianMixture(10, reg_covar=1.0, random_state=0).fit_predict(Z)
print(f"k-means and mixture agree   {adjusted_rand_score(hard, soft):.2f}")
print(f"k-means and the digits      {adjusted_rand_score(digit, hard):.2f}")
print(f"mixture and the digits      {adjusted_rand_score(digit, soft):.2f}")
for name, group in (("k-means", hard), ("mixture", soft)):
    table = np.array([np.bincount(digit[group == j], minlength=10) for j in range(10)])
    print(f"{name}: most of each group is a", *table.argmax(axis=1))
