"""`pansophy doctor`: what the library finds on this machine, and what runs where."""

from .app import (
    AsJson,
    HelpfulCommand,
    app,
    errors_as_one_sentence,
    print_json,
    print_text,
)

EXAMPLES = """Examples:

pansophy doctor

pansophy doctor --json"""


@app.command(cls=HelpfulCommand, epilog=EXAMPLES)
def doctor(as_json: AsJson = False):
    """Show threads, BLAS, compiled loops, devices, and what runs where."""
    with errors_as_one_sentence():
        from ..core.machine import machine_report

        report = {**machine_report(), "estimators": _estimators_by_place()}
        if as_json:
            print_json(report)
        else:
            print_text("\n".join(_report_lines(report)))


def _estimators_by_place() -> dict[str, list[str]]:
    """Names of the estimators that compute where X is, and with NumPy alone."""
    from ..testing import all_estimators

    places: dict[str, list[str]] = {"where X is": [], "with NumPy": []}
    for name, cls in all_estimators():
        places["where X is" if cls._computes_on_devices() else "with NumPy"].append(
            name
        )
    return places


def _report_lines(report) -> list[str]:
    """The report as lines for a reader."""
    versions = ", ".join(
        f"{name} {version or 'not installed'}"
        for name, version in report["versions"].items()
    )
    threads = report["threads"]
    loops = report["loops"]
    lines = [
        f"Python {report['python']} on {report['platform']}",
        f"Versions: {versions}",
        f"Threads: {threads['usable']} usable of {threads['cores']} cores",
    ]
    for blas in report["blas"]:
        lines.append(
            f"BLAS: {blas['library']} {blas['version']}, {blas['threads']} threads"
        )
    shipped = ", ".join(loops["shipped"]) or "none"
    lines.append(
        f"Compiled loops: this processor is {loops['processor'][0]}, shipped for it: "
        f"{shipped}; "
        + (
            f"others are kept in {loops['kept in']}"
            if loops["kept in"]
            else f"others are not kept: {loops['not kept']}"
        )
    )
    for device in report["devices"] or [{"name": "none", "is": "torch is not there"}]:
        size = f", {device['gigabytes']} GB" if "gigabytes" in device else ""
        lines.append(f"Device: {device['name']} ({device['is']}{size})")
    places = report["estimators"]
    lines.append(
        f"{len(places['where X is'])} estimators compute where X is: a tensor on its "
        "device, NumPy rows on the device of `with pansophy.device(...)`: "
        f"{', '.join(places['where X is'])}"
    )
    lines.append(
        f"{len(places['with NumPy'])} compute with NumPy and refuse a tensor of a "
        "device; deep nets move their batches to their parameter `device`"
    )
    return lines
