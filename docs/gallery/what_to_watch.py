# The picture of examples/what_to_watch.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5, 2.6))
reports = {n: evaluate(m, test, k=10, threshold=4.0).ndcg for n, m in models.items()}
ax.barh(list(reports), list(reports.values()))
ax.set_xlabel("NDCG of the first ten")
