# The picture of examples/search_documentation.py in the gallery: run with its names.
# ruff: noqa: F821
import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(5, 2.4))
rankings = {"words": by_words, "meaning": by_meaning, "both": fused}
scores = []
for found in rankings.values():
    ranked = [[int(d) for d in row if d >= 0] for row in found]
    scores.append(reciprocal_rank_at_k(relevant, ranked, 10))
ax.barh(list(rankings), scores)
ax.set_xlabel("mean reciprocal rank of the right paragraph")
