# The picture of examples/string_kernel.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

K = kernel(words, words)
K = K / np.sqrt(np.outer(np.diag(K), np.diag(K)))
fig, ax = plt.subplots(figsize=(4, 3.6))
ax.imshow(K, cmap="Blues", vmax=0.4)
ax.axhline(len(english) - 0.5, color="k", lw=0.8)
ax.axvline(len(english) - 0.5, color="k", lw=0.8)
ax.set(xlabel="English, Italian words", ylabel="English, Italian words")
