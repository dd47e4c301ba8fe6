"""Figures of training: curves, gradients, activations, paths of a search."""
