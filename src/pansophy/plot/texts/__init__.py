"""Figures of texts: alignments, topics."""
