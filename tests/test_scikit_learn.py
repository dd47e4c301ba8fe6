"""Every public name of scikit-learn is found under pansophy at the same path."""

import importlib
import inspect
import pickle
import pydoc
import re
import subprocess
import sys
import textwrap
from types import ModuleType

import pytest
import sklearn

import pansophy
from pansophy.scikit_learn import SharedModule, peer_name, provider, share_names
from tools.scikit_learn_page import PAGE, documented_names, page_text, public_modules

MODULES = public_modules()


def test_there_are_many_modules():
    assert len(MODULES) > 60


@pytest.mark.parametrize("peer", MODULES)
def test_every_name_resolves(peer):
    """Ours has the kind of theirs (a class is a class); the rest is the same object."""
    theirs = importlib.import_module(peer)
    ours = importlib.import_module(peer.replace("sklearn", "pansophy", 1))
    for name in documented_names(theirs):
        a, b = getattr(ours, name), getattr(theirs, name)
        if isinstance(b, ModuleType):
            assert a.__name__ == f"{ours.__name__}.{name}"
        elif a is not b:
            assert a.__module__.startswith("pansophy."), name
            assert inspect.isclass(a) == inspect.isclass(b), name
            assert name in vars(ours), f"{name} of ours is found by chance"
        assert name in dir(ours)


def modules_with_a_namesake():
    """Modules of ours, with files, at a path that scikit-learn has too."""
    modules = [importlib.import_module(f"pansophy{m[7:]}") for m in MODULES[1:]]
    return [m for m in modules if not isinstance(m, SharedModule)]


def test_modules_with_a_namesake_share_its_names():
    names = {m.__name__ for m in modules_with_a_namesake()}
    assert {"pansophy.base", "pansophy.cluster", "pansophy.feature_extraction.text"} < (
        names
    )
    without = [m for m in modules_with_a_namesake() if not hasattr(m, "__getattr__")]
    assert not without, "end it with `__getattr__, __dir__ = share_names(__name__)`"


def test_our_names_come_first():
    """What a package of ours exports is in it, and is not looked up in theirs."""
    imported = {"OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"}
    imported |= {"SelectFromModel", "ENGLISH_STOP_WORDS"}  # theirs, exported by name
    for module in modules_with_a_namesake():
        for name in vars(module).get("__all__", ()):
            getattr(module, name)  # some are imported when they are first asked for
            assert name in vars(module)
            if name not in imported:
                assert provider(f"{module.__name__}.{name}") == "pansophy"


def test_functions_are_not_hidden_by_files_of_ours():
    from sklearn.cluster import dbscan

    assert pansophy.cluster.dbscan is dbscan
    assert "pansophy.cluster.density.dbscan" in sys.modules
    from pansophy.cluster.density.dbscan import DBSCAN

    assert DBSCAN is pansophy.cluster.DBSCAN
    assert pansophy.cluster.centers.kmeans.KMeans is pansophy.cluster.KMeans


def run_python(code):
    """The output of a fresh process."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_statements_of_every_form():
    out = run_python(
        """
        import sys
        import pansophy
        assert "sklearn" not in sys.modules
        import pansophy.metrics.pairwise
        import pansophy.utils.fixes as fixes
        from pansophy import clone, metrics, set_config
        from pansophy.gaussian_process.kernels import RBF
        from pansophy.utils._testing import ignore_warnings
        from pansophy.metrics import *
        pansophy.metrics.pairwise.rbf_kernel([[0.0]])
        import sklearn
        print(roc_auc_score is sklearn.metrics.roc_auc_score)
        print(clone is sklearn.clone, metrics is pansophy.metrics)
        print(fixes.__spec__.origin, pansophy.utils.fixes is fixes)
        print(sklearn.metrics.__spec__.name, pansophy.__version__)
        """
    )
    assert out.split("\n")[:4] == [
        "True",
        "True True",
        "sklearn.utils.fixes True",
        f"sklearn.metrics {pansophy.__version__}",
    ]


def test_experimental_classes_appear_when_they_are_enabled():
    run_python(
        """
        import pansophy.impute
        try:
            from pansophy.impute import IterativeImputer
        except ImportError as error:
            assert "enable_iterative_imputer" in str(error)
        else:
            raise SystemExit("scikit-learn shows it only when asked")
        from pansophy.experimental import enable_iterative_imputer
        from pansophy.impute import IterativeImputer
        import pansophy.experimental.enable_halving_search_cv
        from pansophy.model_selection import HalvingGridSearchCV
        """
    )


def test_objects_are_those_of_scikit_learn():
    from pansophy.pipeline import make_pipeline
    from pansophy.preprocessing import StandardScaler

    from pansophy.model_selection import GridSearchCV

    search = GridSearchCV(make_pipeline(StandardScaler()), {})
    assert isinstance(search, sklearn.model_selection.GridSearchCV)
    assert type(sklearn.clone(search)) is sklearn.model_selection.GridSearchCV
    assert b"pansophy" not in pickle.dumps(search)
    with pansophy.config_context(transform_output="pandas"):
        assert sklearn.get_config()["transform_output"] == "pandas"


def test_names_that_nobody_has():
    with pytest.raises(AttributeError, match=r"no attribute 'nine', and neither has"):
        _ = pansophy.linear_model.nine
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'pansophy\.nine'"):
        importlib.import_module("pansophy.nine")
    with pytest.raises(AttributeError, match="no attribute '_base'"):
        _ = pansophy.linear_model._base
    # private modules beside files of ours, and scikit-learn's tests
    for name in ("pansophy.linear_model._base", "pansophy.tests", "pansophy.conftest"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
    for name in ("os", "logging"):  # what sklearn/__init__.py imports
        with pytest.raises(AttributeError):
            getattr(pansophy, name)
    with pytest.raises(AttributeError):
        _ = pansophy.metrics.__wrapped__


def test_provider_tells_who_serves():
    assert provider("pansophy.linear_model.Ridge") == "pansophy"
    assert provider("pansophy.linear_model.GroupLasso") == "pansophy"  # theirs has none
    assert provider("pansophy.linear_model.lars_path") == "sklearn"
    assert provider("pansophy.rl.QLearning") == "pansophy"
    assert peer_name("pansophy.rl") == "sklearn.rl"


def test_help_says_whose_names_are_shown():
    text = pydoc.plain(pydoc.render_doc(pansophy.neighbors))
    assert "scikit-learn's" in text and "`sklearn.neighbors`" in text
    text = pydoc.plain(pydoc.render_doc(pansophy.inspection))
    assert "The module `sklearn.inspection` of scikit-learn" in text
    assert "permutation_importance" in text


def test_the_page_is_true():
    written = PAGE.read_text("utf-8")
    version = re.search(r"with scikit-learn (\S+)\.", written)[1]
    if version == sklearn.__version__:
        assert page_text() == written, "make docs"
    for module, ours, _ in re.findall(r"\| `(.*)` \| (.*) \| (.*) \|", written):
        for name in re.findall(r"`(\w+)`", ours):
            assert provider(f"{module}.{name}") == "pansophy"


def test_a_module_without_a_text():
    """As with `python -OO`, which removes texts."""
    module = ModuleType("pansophy.svm")
    kept = sys.modules["pansophy.svm"]
    sys.modules["pansophy.svm"] = module
    try:
        look_up, names = share_names("pansophy.svm")
    finally:
        sys.modules["pansophy.svm"] = kept
    assert "scikit-learn's" in module.__doc__
    assert look_up("l1_min_c") is sklearn.svm.l1_min_c
    assert "l1_min_c" in names()
