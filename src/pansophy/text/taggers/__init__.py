"""Taggers of words: hidden Markov, random field, neural; measures of spans."""
