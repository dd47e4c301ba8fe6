"""Preparation and model in one, so that both are fitted inside the fold."""

from sklearn.pipeline import Pipeline

from ..tables import Preparation


def pipeline(method, schema, setting) -> Pipeline:
    """An unfitted pipeline that takes frames."""
    prepare = Preparation(
        tuple(schema.used),
        task=schema.task,
        n_classes=len(schema.classes),
        scale=method.scale,
        full_rank=method.full_rank,
        native=method.native,
        random_state=setting.seed,
    )
    known = {"categorical_features": prepare.categories} if method.native else {}
    return Pipeline([("prepare", prepare), ("model", method.build(setting, **known))])


def fit_pipeline(model, frame, y, weight=None):
    """Fit; weights go to the model, where it takes them."""
    extra = {} if weight is None else {"model__sample_weight": weight}
    return model.fit(frame, y, **extra)
