# The picture of examples/digits_convolution.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

hardest = np.argsort(p.max(1))[:10]
fig, axes = plt.subplots(1, 10, figsize=(8, 1.4))
for ax, i in zip(axes, hardest):
    ax.imshow(X_new[i], cmap="gray_r")
    ax.set_title(f"{y_new[i]}: {p[i].max():.0%}", fontsize=7)
    ax.axis("off")
