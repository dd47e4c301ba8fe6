"""Tagged sentences from a small grammar with ambiguous words and telling endings."""

import numpy as np

NOUNS = ["dog", "cat", "fish", "can", "light", "garden", "station", "nation"]
VERBS = ["see", "fish", "can", "light", "walk", "hunt"]
ADJECTIVES = ["old", "light", "dangerous", "famous"]
LETTERS = list("bdfgklmnprtvz")


def made_up(rng, ending):
    """A word nobody has seen, with an ending that tells its tag."""
    stem = "".join(rng.choice(LETTERS, 2)) + "a" + "".join(rng.choice(LETTERS, 2))
    return stem + ending


def noun_phrase(rng, new):
    words = [("D", rng.choice(["the", "a"]))]
    if rng.random() < 0.5:
        new_word = rng.random() < new
        word = made_up(rng, "ous") if new_word else rng.choice(ADJECTIVES)
        words.append(("A", word))
    word = made_up(rng, "tion") if rng.random() < new else rng.choice(NOUNS)
    return [*words, ("N", word)]


def tagged_sentences(n, seed=0, new=0.2):
    """Sentences and tags: noun phrase, verb, noun phrase, at times an adverb."""
    rng = np.random.default_rng(seed)
    sentences, tags = [], []
    for _ in range(n):
        words = noun_phrase(rng, new)
        if rng.random() < 0.4:
            words.append(("M", rng.choice(["can", "will"])))
        verb = made_up(rng, "ize") if rng.random() < new else rng.choice(VERBS)
        words.append(("V", verb))
        words += noun_phrase(rng, new)
        if rng.random() < 0.4:
            words.append(("R", made_up(rng, "ly")))
        sentences.append([str(word) for _, word in words])
        tags.append([tag for tag, _ in words])
    return sentences, tags
