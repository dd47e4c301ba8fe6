"""Independent draws: inversion, rejection, importance, ancestral."""
