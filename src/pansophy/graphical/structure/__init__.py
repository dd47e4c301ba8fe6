"""Learning of networks from rows: counts, scores, searches, parameters."""
