"""Synthetic tables: is a classifier of synthetic rows as good as one of real rows?

For each bundled table and split: `TableVAE` learns the training rows given their class,
draws rows with the shares of the classes, and a random forest is trained on real and on
synthetic rows. Both are judged by the AUC on real test rows (one class against the rest
where there are more than two). Copies are counted by `memorisation_report`. Run by

    python -m benchmarks.studies.synthetic_tables

It prints a line for each split, and the means that `synthetic_tables.md` quotes.
"""

import time

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

TABLES = ("customers", "breast_cancer", "wine", "diabetes")
SPLITS = 6
MOST_SYNTHETIC = 2000  # rows drawn, whatever the number of real ones


def bundled_table(name):
    """Columns and classes of a bundled table."""
    from pansophy.datasets import load

    data = load(name)
    table = data.table.to_pandas()
    y = table.pop(data.target)
    if name == "diabetes":  # numbers: above or below the median
        y = (y > y.median()).map({True: "high", False: "low"})
    return table.drop(columns=["customer_id"], errors="ignore"), y


def auc(train, y_train, test, y_test) -> float:
    """AUC on test rows of a random forest of the training rows."""
    from pansophy.ensemble import RandomForestClassifier

    text = [c for c in train if train[c].dtype.kind not in "fiub"]
    numbers = [c for c in train if c not in text]
    codes = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2
    )
    forest = RandomForestClassifier(200, min_samples_leaf=3, random_state=0)
    columns = make_column_transformer((codes, text), (SimpleImputer(), numbers))
    model = make_pipeline(columns, forest).fit(train, y_train)
    p = model.predict_proba(test)
    return roc_auc_score(y_test, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")


def compare(name, seed):
    """AUC of real and of synthetic rows, the report of copies, and seconds."""
    from pansophy.generative import TableVAE, memorisation_report

    X, y = bundled_table(name)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed, stratify=y
    )
    begun = time.process_time()
    model = TableVAE(8, n_epochs=100, batch_size=64, random_state=seed, device="cpu")
    model.fit(X_train, y_train)
    seconds = time.process_time() - begun
    rng = np.random.default_rng(seed)
    labels = rng.choice(model.classes_, MOST_SYNTHETIC, p=model.class_prior_)
    rows = model.sample(MOST_SYNTHETIC, y=labels, random_state=seed)
    report = memorisation_report(X_train, rows, X_test, random_state=0)
    real = auc(X_train, y_train, X_test, y_test)
    return real, auc(rows, labels, X_test, y_test), report, seconds


def main():
    for name in TABLES:
        found = [compare(name, seed) for seed in range(SPLITS)]
        for real, synthetic, report, seconds in found:
            print(
                f"  {name}: real {real:.3f}, synthetic {synthetic:.3f}, {seconds:.0f} s"
            )
            print(f"    {report}")
        real, synthetic = np.mean([f[:2] for f in found], axis=0)
        copies = sum(f[2].n_copies for f in found)
        share = synthetic / real
        print(f"{name:14} {real:.3f} {synthetic:.3f} {share:6.1%} copies {copies}")


if __name__ == "__main__":
    main()
