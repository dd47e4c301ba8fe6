"""Networks of variables: Bayesian networks, Markov fields, factor graphs."""
