"""Metadata routing: refused without it, cut to rows, sent to who asked for it."""

import numpy as np
import pytest
import sklearn
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import Ridge

from pansophy.core.drivers import routing


def test_extra_arguments_need_routing():
    routing.refuse_unrouted(Ridge(), "fit", {})
    with pytest.raises(ValueError, match=r"Ridge\.fit .* \{'groups'\}"):
        routing.refuse_unrouted(Ridge(), "fit", {"groups": [1]})
    with sklearn.config_context(enable_metadata_routing=True):
        assert routing.routing_enabled()
        routing.refuse_unrouted(Ridge(), "fit", {"groups": [1]})
    assert not routing.routing_enabled()


def test_arguments_go_to_the_member_that_asked():
    with sklearn.config_context(enable_metadata_routing=True):
        asked = Ridge().set_fit_request(sample_weight=True)
        refused = Ridge().set_fit_request(sample_weight=False)
        vote = VotingRegressor([("a", asked), ("b", refused)])
        found = routing.routed_params(vote, "fit", {}, sample_weight=[1, 2])
        assert found["a"].fit == {"sample_weight": [1, 2]} and found["b"].fit == {}


def test_only_arguments_of_rows_are_cut():
    params = {"w": np.arange(3.0), "text": "abc", "pair": (1, 2), "number": 3}
    found = routing.params_of_rows(params, np.array([True, False, True]), 3)
    np.testing.assert_array_equal(found.pop("w"), [0, 2])
    assert found == {"text": "abc", "pair": (1, 2), "number": 3}
