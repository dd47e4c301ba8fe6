"""A synthetic version of a private table, and what it gives away.

A model learns the customers table (numbers, categories, booleans, missing values) and
draws new rows. Three questions decide whether they can be handed out: do the columns
look alike, is a classifier trained on them as good as one trained on the real rows, and
are there copies of real customers among them?
"""

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from pansophy.datasets import load
from pansophy.ensemble import HistGradientBoostingClassifier
from pansophy.generative import TableVAE, memorisation_report

table = load("customers").table.to_pandas()
y = table.pop("left")
X = table.drop(columns="customer_id")  # an identifier is not a property to learn
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.3, random_state=0, stratify=y
)

model = TableVAE(8, n_epochs=60, batch_size=64, random_state=0, device="cpu")
model.fit(X_train, y_train)
labels = np.random.default_rng(0).choice(model.classes_, 2000, p=model.class_prior_)
synthetic = model.sample(2000, y=labels, random_state=0)

print("a few synthetic customers")
print(synthetic.head(4).to_string(index=False))

print("\nmeans of the columns of numbers")
numbers = X_train.select_dtypes("number").columns
means = pd.DataFrame(
    {"real": X_train[numbers].mean(), "synthetic": synthetic[numbers].mean()}
)
print(means.round(2).to_string())

print("\nshares of the plans")
shares = pd.DataFrame(
    {
        "real": X_train.plan.value_counts(normalize=True),
        "synthetic": synthetic.plan.value_counts(normalize=True),
    }
)
print(shares.round(3).to_string())


def auc(rows, classes):
    """How well a classifier of these rows ranks the real test rows."""
    as_categories = lambda frame: frame.astype(
        dict.fromkeys(frame.select_dtypes(exclude="number").columns, "category")
    )
    text = X.select_dtypes(exclude="number").columns
    levels = {c: sorted(X[c].dropna().unique()) for c in text}
    prepare = lambda frame: as_categories(frame).assign(
        **{c: pd.Categorical(frame[c], levels[c]) for c in text}
    )
    booster = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=50, random_state=0
    )
    booster.fit(prepare(rows), classes)
    return roc_auc_score(y_test, booster.predict_proba(prepare(X_test))[:, 1])


print(f"\nAUC on real test rows, trained on real rows      {auc(X_train, y_train):.3f}")
print(f"AUC on real test rows, trained on synthetic rows {auc(synthetic, labels):.3f}")
print(
    "\nmemorisation:", memorisation_report(X_train, synthetic, X_test, random_state=0)
)
