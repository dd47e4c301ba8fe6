"""Tokenizers: byte pairs, unigrams, normalisation, vocabularies, streams of tokens."""
