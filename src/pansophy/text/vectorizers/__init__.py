"""Texts as rows: counts, hashes, TF-IDF and latent semantic analysis."""
