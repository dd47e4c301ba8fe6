"""Word vectors: skip-gram, GloVe and the counts they start from."""
