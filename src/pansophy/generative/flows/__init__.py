"""Normalising flows and energy models."""
