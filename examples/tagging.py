"""Tag the words of sentences with a conditional random field.

Tokens are dicts of features, as in CRFsuite. The model learns which features speak for
a tag and which tags follow each other; an unknown word is tagged by its ending and by
its neighbours.
"""

from pansophy.graphical import ChainCRF

SENTENCES = """
the/D old/A dog/N barks/V loudly/R
a/D cat/N sleeps/V
the/D small/A cat/N quickly/R eats/V a/D fish/N
old/A dogs/N sleep/V quietly/R
a/D fish/N swims/V
the/D bird/N sings/V sweetly/R
small/A birds/N eat/V
the/D dog/N sees/V a/D small/A bird/N
"""


def features(words, t):
    word = words[t]
    out = {"word": word, "ending": word[-2:], "last": word[-1]}
    out["before"] = words[t - 1] if t else "<start>"
    out["after"] = words[t + 1] if t + 1 < len(words) else "<end>"
    return out


def tokens(words):
    return [features(words, t) for t in range(len(words))]


pairs = [
    [w.rsplit("/", 1) for w in line.split()] for line in SENTENCES.strip().splitlines()
]
X = [tokens([word for word, _ in line]) for line in pairs]
y = [[tag for _, tag in line] for line in pairs]
model = ChainCRF(c2=0.1, all_possible_transitions=True).fit(X, y)

new = ["the", "young", "fox", "runs", "slowly"]
print("tags          ", list(zip(new, model.predict([tokens(new)])[0], strict=True)))
sure = model.predict_proba([tokens(new)])[0].max(axis=1).round(2)
print("how sure      ", sure.tolist())
strongest = sorted(model.transition_features_.items(), key=lambda p: -p[1])[:3]
print("likely pairs  ", [(a, b, round(w, 2)) for (a, b), w in strongest])
assert model.predict([tokens(new)])[0] == ["D", "A", "N", "V", "R"]
