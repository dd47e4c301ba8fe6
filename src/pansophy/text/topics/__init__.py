"""Topics of texts: latent semantic analysis by probabilities, Dirichlet allocation."""
