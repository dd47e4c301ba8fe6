"""N-gram probabilities by dictionaries and recursion, one word at a time."""

from collections import Counter


class SlowNGramModel:
    """Interpolated n-gram model straight from its definition."""

    def __init__(
        self, order, smoothing, sentences, *, k=1.0, share=0.7, discounts=None
    ):
        self.order = order
        self.smoothing = smoothing
        self.k = k
        self.share = share
        self.discounts = discounts  # (order + 1, 3)
        self.counts = {}
        words = sorted({w for s in sentences for w in s})
        self.words = [*words, "</s>", "<unk>"]
        padded = [["<s>"] * (order - 1) + list(s) + ["</s>"] for s in sentences]
        for n in range(1, order + 1):
            grams = Counter()
            for s in padded:
                grams.update(tuple(s[i : i + n]) for i in range(len(s) - n + 1))
            self.counts[n] = grams
        if smoothing.endswith("kneser_ney"):
            for n in range(1, order):
                before = Counter(gram[1:] for gram in self.counts[n + 1])
                self.counts[n] = Counter(
                    {
                        gram: c if gram[0] == "<s>" else before[gram]
                        for gram, c in self.counts[n].items()
                    }
                )
        for grams in self.counts.values():
            for gram in [g for g in grams if g[-1] == "<s>"]:
                del grams[gram]

    def prob(self, word, context):
        """p(word | the last words of context), of every length down to none."""
        context = tuple(context)[len(context) - self.order + 1 :]
        if self.smoothing == "add_k":
            following = self._following(context)
            whole = sum(following.values()) + self.k * len(self.words)
            return (following[word] + self.k) / whole
        return self._prob(word, context)

    def _following(self, context):
        n = len(context) + 1
        return Counter(
            {g[-1]: c for g, c in self.counts[n].items() if g[:-1] == context and c}
        )

    def _prob(self, word, context):
        lower = self._prob(word, context[1:]) if context else 1.0 / len(self.words)
        following = self._following(context)
        total = sum(following.values())
        if not total:
            return lower
        c = following[word]
        if self.smoothing == "mle":
            return c / total
        if self.smoothing == "jelinek_mercer":
            return self.share * c / total + (1 - self.share) * lower
        if self.smoothing == "witten_bell":
            return (c + len(following) * lower) / (total + len(following))
        D = self.discounts[len(context) + 1]
        take = lambda c: min(c, D[min(int(c), 3) - 1]) if c else 0.0
        spare = sum(take(c) for c in following.values())
        return (c - take(c)) / total + spare / total * lower
