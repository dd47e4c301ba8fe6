"""Figures that are images: samples, reconstructions, attention, saliency."""
