"""Looks into a net: its size, saliency, Lipschitz bounds and the course of its
training.
"""
