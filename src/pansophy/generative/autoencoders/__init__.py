"""Autoencoders: dense, convolutional, sparse, and a detector of unlike rows."""
