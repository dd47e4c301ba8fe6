"""Language models: n-grams, neural nets, constrained output, preferences."""
