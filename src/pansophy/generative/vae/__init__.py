"""Variational autoencoders: bounds, likelihoods of columns, mixtures and codebooks."""
