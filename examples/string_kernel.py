"""Tell languages apart by a kernel of strings, and ask what a kernel test says.

Words are rows. The spectrum kernel counts shared runs of letters, so that any kernel
model takes words as they are: here kernel logistic regression. A mean-discrepancy test
with the same kernel says whether two lists of words are of one kind.
"""

import numpy as np

from pansophy.kernel_model import KernelLogisticRegression, mmd_test
from pansophy.kernels import Spectrum

ENGLISH = """the of and that with which would their there about through because between
another thought should under other right where things water while these"""
ITALIAN = """della nella questo quello perche anche molto tutti essere stato quando
sempre ancora dove cosa giorno tempo casa parola amico gente mano acqua"""
english, italian = ENGLISH.split(), ITALIAN.split()
words = english + italian
language = np.repeat(["english", "italian"], [len(english), len(italian)])

kernel = Spectrum(2, blended=True)
model = KernelLogisticRegression(C=10.0, kernel=kernel).fit(words, language)
fresh = ["whether", "together", "bella", "ragazzo", "thing", "camera"]
for word, guess, p in zip(
    fresh, model.predict(fresh), model.predict_proba(fresh).max(axis=1), strict=True
):
    print(f"{word:10} {guess:8} {p:.2f}")

apart = mmd_test(english, italian, kernel=kernel)
same = mmd_test(english[::2], english[1::2], kernel=kernel)
print(f"English and Italian words: MMD^2 {apart}")
print(f"two halves of the English: MMD^2 {same}")
assert apart.pvalue < 0.05 < same.pvalue
