"""The package: importing it does not load matplotlib."""


def test_import_leaves_matplotlib_alone():
    import subprocess
    import sys

    code = "import pansophy.plot, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
