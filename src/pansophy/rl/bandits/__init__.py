"""Bandits: arms without states, with contexts, and from logs of another policy."""
