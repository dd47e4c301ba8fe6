"""Diffusion, scores and flow matching: processes, denoisers, samplers."""
