"""Metadata routing of the linear models that cross-validate.

As in scikit-learn: with `sklearn.set_config(enable_metadata_routing=True)` further
keywords of `fit` (groups, say) and the sample weights go to the splitter and to the
scorer that have asked for them (`set_split_request`, `set_score_request`). Without it
such keywords are refused, and the weights go to the scorer.
"""

from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from ..core.drivers.routing import refuse_unrouted, routed_params, routing_enabled


def route_fit_metadata(model, params, sample_weight, *, scored=False):
    """Keywords of the splitter and, if rows are scored, of the scorer of a `fit`.

    Examples
    --------
    >>> from pansophy.linear_model import LassoCV
    >>> from pansophy.linear_model.metadata_routing import route_fit_metadata
    >>> route_fit_metadata(LassoCV(), {}, [1.0, 2.0])
    ({}, {})
    """
    refuse_unrouted(model, "fit", params)
    if not routing_enabled():
        weighted = scored and sample_weight is not None
        return {}, {"sample_weight": sample_weight} if weighted else {}
    routed = routed_params(model, "fit", params, sample_weight=sample_weight)
    score = dict(routed.scorer.score) if scored else {}
    return dict(routed.splitter.split), score


def cross_validation_router(model, splitter, scorer=None, *, scores=False):
    """The router of a model whose `fit` splits rows and maybe scores them."""
    router = MetadataRouter(owner=model).add_self_request(model)
    router.add(
        splitter=splitter,
        method_mapping=MethodMapping().add(caller="fit", callee="split"),
    )
    if scorer is not None:
        mapping = MethodMapping().add(caller="fit", callee="score")
        if scores:
            mapping.add(caller="score", callee="score")
        router.add(scorer=scorer, method_mapping=mapping)
    return router
