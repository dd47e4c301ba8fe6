# The picture of examples/pytorch_afternoon.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5, 3))
ax.plot(result.history["loss"], "o-")
ax.set(xlabel="epoch", ylabel="focal loss, stopped after the third and resumed")
