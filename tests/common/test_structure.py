"""A module is tested in the file of its name: tests/<folder>/test_<module>.py.

Modules without public names, and those listed below with a reason, need none. What is
listed and has a test, or is gone, must leave the list.
"""

import ast
import functools
from pathlib import Path

import pansophy
from pansophy.testing import estimators

SOURCE = Path(pansophy.__file__).parent
TESTS = Path(__file__).parents[1]

WITHOUT_A_FILE = {
    "steps of a comparison: tests of whole runs go through them": (
        "compare/execution/worker_process",
    ),
    "pages and pictures: tests of whole reports look at what they show": (
        "compare/report/exploration",
        "compare/report/notebook",
        "compare/report/sections",
        "compare/report/target_figures",
        "diagnose/data/notebook_view",
        "graphical/networks/network_drawing",
    ),
    "base classes: tested by every estimator that is one of them": (
        "decomposition/abstract_pca",
        "ensemble/boosting/abstract_boosting",
        "ensemble/committee",
        "forecasting/abstract_forecaster",
        "gaussian_process/abstract_gaussian_process",
        "generative/autoencoders/abstract_autoencoder",
        "generative/gan/abstract_gan",
        "generative/abstract_latent_model",
        "generative/vae/abstract_vae",
        "predictors/abstract_kernel_model",
        "mixture/abstract_mixture",
        "predictors/abstract_bayes",
        "neural_network/abstract_net",
        "nn/training/abstract_training",
        "semi_supervised/abstract_semi_supervised",
        "text/vectorizers/abstract_vectorizer",
    ),
    "numbers alone, without behaviour": ("serve/limits",),
    "one mechanism of several files: tests/accelerate/test_accelerate.py": (
        "accelerate/accelerated_class",
        "accelerate/classes",
        "accelerate/replacement",
        "accelerate/report",
        "accelerate/run_script",
    ),
    "starts the server of tests/assistant/test_server.py": ("cli/mcp_command",),
}
LISTED = {module for modules in WITHOUT_A_FILE.values() for module in modules}


@functools.cache
def public_modules():
    """Modules, as paths in the package, that define public functions or classes."""
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        if path.name.startswith("_"):
            continue
        body = ast.parse(path.read_text("utf-8")).body
        defined = [n for n in body if isinstance(n, (ast.FunctionDef, ast.ClassDef))]
        if any(not node.name.startswith("_") for node in defined):
            found.append(path.relative_to(SOURCE).with_suffix("").as_posix())
    return found


def file_of_tests(module):
    """Where the tests of a module are to stand."""
    folder, _, name = module.rpartition("/")
    return TESTS / folder / f"test_{name}.py"


def test_every_module_has_a_test_file():
    missing = [m for m in public_modules() if not file_of_tests(m).is_file()]
    without = sorted(set(missing) - LISTED)
    assert not without, f"write {file_of_tests(without[0])}"


def test_what_is_listed_has_none():
    gone = LISTED - set(public_modules())
    assert not gone, "no such module: take it off the list"
    tested = {m for m in LISTED if file_of_tests(m).exists()}
    assert not tested, "it has a test: take it off the list"


def test_no_estimator_is_listed():
    """Estimators, generators and models of texts have tests of their own."""
    lists = (
        estimators.all_estimators(),
        estimators.all_generators(),
        estimators.text_estimators(),
        estimators.panel_estimators(),
    )
    homes = {cls.__module__ for members in lists for _, cls in members}
    files = {name.removeprefix("pansophy.").replace(".", "/") for name in homes}
    assert not files & LISTED
    assert not {m for m in files if not file_of_tests(m).is_file()}
