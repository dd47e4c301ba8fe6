"""Penalties with kinks: proximal steps, coordinates, working sets, splitting."""
