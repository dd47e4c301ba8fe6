"""The pages of the studio.

Pages are made here from the run folders and tables of one folder; what changes
anything is a POST that starts a command or asks one to stop. Whatever takes long is
done in a process of its own or on a thread, so that a page is answered while all cores
fit models. Every path is taken relative to the folder and refused if it leads out of
it.
"""

import asyncio
import contextlib
import hashlib
import itertools
import json
import os
import re
import shlex
import threading
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..assistant.commands import run_command
from ..assistant.working_folder import WorkingFolder
from ..core.files.previous_files import numbered_names
from ..core.plain_text import plain_text
from ..serve.request_middleware import RequestMiddleware
from .access import HEADERS, StudioAccess
from .answers import LEVEL, ModelShelf, answer_row, fan_chart, model_controls
from .processes import CommandProcesses, command_words, log_lines
from .run_folders import (
    PREDICTIONS,
    REPORTS,
    RunFolders,
    RunKind,
    RunState,
    failure_sentence,
    is_prediction_name,
    json_object,
)
from .setup_page import (
    ROLES,
    SPEEDS,
    TASKS,
    TableShelf,
    compare_options,
    is_table_name,
    make_setup,
)
from .texts import Texts, chosen_language, languages

MAX_UPLOAD = 1_000_000_000  # bytes
MAX_BODY = 1_000_000  # bytes of a form
MAX_LISTED = 200  # tables of the folder
LOOK_SECONDS = 0.4  # between two looks at a run that is watched
SILENCE_SECONDS = 15.0  # after which a stream says that it is there
MAX_FINDINGS = 64  # answers of `explore` that are kept
PREVIEW_ROWS = 20
LANGUAGE_COOKIE = "pansophy-language"
STATIC = {
    "studio.css": "text/css; charset=utf-8",
    "studio.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src '{}'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; "
    "sandbox allow-scripts allow-popups"
)
CHART_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
HTML = "text/html; charset=utf-8"


class PageError(ValueError):
    """What a visitor asked for is not there, or cannot be done."""

    def __init__(self, text, status=400):
        super().__init__(text)
        self.status = status


class Studio:
    """The folder, its runs and processes, and what is kept in memory between pages."""

    def __init__(self, root, access, max_upload=MAX_UPLOAD):
        self.folder = WorkingFolder(root)
        self.access = access
        self.max_upload = max_upload
        self.processes = CommandProcesses(self.folder.root)
        self.runs = RunFolders(self.folder, self.processes)
        self.tables = TableShelf()
        self.models = ModelShelf()
        self.findings: dict = {}
        self.reserving = threading.Lock()
        self.closing = asyncio.Event()
        self.templates = _page_templates()

    # --- pages ---------------------------------------------------------------------

    def page(self, request, name, status=200, **shown):
        """A page in the language of the visitor."""
        from starlette.responses import Response

        t = self.texts(request)
        body = self.templates.get_template(name).render(
            t=t,
            languages=languages(),
            root=self.folder.root.name or "/",
            path=request.url.path,
            max_upload=self.max_upload,
            **shown,
        )
        return Response(body, status, media_type=HTML)

    def texts(self, request) -> Texts:
        cookie = request.cookies.get(LANGUAGE_COOKIE)
        accepted = request.headers.get("accept-language")
        return Texts(chosen_language(cookie, accepted))

    async def home(self, request):
        """The tables and runs of the folder, and a place to drop a table."""
        tables, runs = await asyncio.gather(
            asyncio.to_thread(self.listed_tables), asyncio.to_thread(self.runs.listed)
        )
        return self.page(request, "home.html", tables=tables, runs=runs)

    def listed_tables(self) -> list[tuple[str, int]]:
        """Names and sizes of the tables directly in the folder, the latest first."""
        tables = []
        for path in self.folder.root.iterdir():
            if path.name.startswith(".") or not is_table_name(path.name):
                continue
            with contextlib.suppress(OSError, ValueError):
                place = self.folder.file(path.name)
                status = place.stat()
                tables.append((status.st_mtime, path.name, status.st_size))
        tables.sort(reverse=True)
        return [(name, size) for _, name, size in tables[:MAX_LISTED]]

    async def setup(self, request):
        """A table before anything runs."""
        query = dict(request.query_params)
        name = query.get("file", "")
        path = self.table_file(name)
        setup = await asyncio.to_thread(make_setup, self.tables, path, name, query)
        goal = "forecast" if query.get("goal") == "forecast" else "compare"
        other_tables = [n for n, _ in self.listed_tables() if n != name]
        command = script = ""
        if setup.target and goal == "compare" and not setup.problem:
            with contextlib.suppress(ValueError):
                words = self.compare_words(name, query, _default_run_name(name))
                command = _shell_line(words)
                script = _compare_script(words, query, name)
        return self.page(
            request,
            "setup.html",
            s=setup,
            query=query,
            goal=goal,
            others=other_tables,
            roles=ROLES,
            tasks=TASKS,
            speeds=SPEEDS,
            command=command,
            script=script,
        )

    def table_file(self, name) -> Path:
        """A table of the folder, by its name."""
        path = self.folder.file(name)
        if not is_table_name(path.name):
            raise PageError(f"{name!r} does not look like a table by its name.", 404)
        return path

    async def found(self, request):
        """What `explore` finds about a table, as a part of a page."""
        query = request.query_params
        name, target = query.get("file", ""), query.get("target", "")
        path = self.table_file(name)
        status = path.stat()
        key = (str(path), status.st_mtime_ns, target)
        if key not in self.findings:
            words = ["explore", _file_word(name), "--json"]
            words += [f"--target={target}"] if target else []
            told: Any = await run_command(words, self.folder.root)
            while len(self.findings) >= MAX_FINDINGS:
                self.findings.pop(next(iter(self.findings)))
            self.findings[key] = told["findings"]
        order = {"alarm": 0, "warning": 1, "note": 2}
        findings = sorted(self.findings[key], key=lambda f: order.get(f["severity"], 3))
        return self.page(request, "findings.html", findings=findings)

    async def run_page(self, request):
        """One run: live while it is at work, its answer when it has ended."""
        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        shown = await asyncio.to_thread(self.run_context, run)
        return self.page(request, "run.html", tab="overview", **shown)

    def run_context(self, run) -> dict:
        """Everything that the page of a run shows of it."""
        results = json_object(run.path / "results.json")
        plan = json_object(run.path / "plan.json")
        failure = failure_sentence(run) if run.state is RunState.FAILED else ""
        words = self.recorded_words(run)
        return {
            "run": run,
            "board": self.runs.board(run),
            "results": results,
            "split": plan.get("split") or {},
            "failure": failure,
            "log": log_lines(run.path)[-12:],
            "command": _shell_line(words) if words else "",
            "script": _script_of_run(run, words),
            "resumable": self.is_resumable(run),
        }

    def is_resumable(self, run) -> bool:
        """Whether the very same command can go on with what a run has."""
        if run.state not in (RunState.STOPPED, RunState.FAILED):
            return False
        return (run.path / "plan.json").is_file() and bool(self.recorded_words(run))

    def recorded_words(self, run) -> list[str]:
        """The words of the command that made a run; none if they are not known.

        Those of a run of a terminal are made of the options that its plan records.
        """
        words = [w for w in command_words(run.path) if w != "--resume"]
        if words or run.kind is not RunKind.COMPARE:
            return words
        from ..compare.options import changed_option_words
        from ..compare.saved_runs import recorded_options

        settings = json_object(run.path / "plan.json").get("settings") or {}
        source = Path(str(settings.get("source", "")))
        table = source
        for place in (source, self.folder.root / source.name):  # it may have moved
            if place.is_file() and self.folder.root in place.resolve().parents:
                table = place.resolve().relative_to(self.folder.root)
                break
        try:
            _, options = recorded_options(run.path, table)
            words = ["compare", _file_word(str(table)), *changed_option_words(options)]
        except ValueError:
            return []
        return [*words, "--out", _file_word(run.name)]

    async def events(self, request):
        """What happens in a run, as a stream; the id is the number of its last fit."""
        from starlette.responses import StreamingResponse

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        t = self.texts(request)
        seen = request.headers.get("last-event-id")
        headers = {"x-accel-buffering": "no"}
        return StreamingResponse(
            self.event_stream(run.name, t, seen),
            media_type="text/event-stream",
            headers=headers,
        )

    async def event_stream(self, name, t, last_id):
        """Boards as they change, until the run has ended.

        A visitor who has seen the last fit (`last_id`) gets the next change only.
        """
        seen = None
        silent = 0.0
        while not self.closing.is_set():
            number, mark, body, at_work = await asyncio.to_thread(self.watched, name, t)
            if seen is None and last_id == str(number) and at_work:
                seen = mark
            if mark != seen:
                seen = mark
                silent = 0.0
                data = json.dumps(body)
                yield f"id: {number}\nevent: board\ndata: {data}\n\n"
            elif silent >= SILENCE_SECONDS:
                silent = 0.0
                yield ": here\n\n"
            if not at_work:
                yield f"id: {number}\nevent: end\ndata: {{}}\n\n"
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.closing.wait(), LOOK_SECONDS)
            silent += LOOK_SECONDS

    def watched(self, name, t):
        """(id, mark of the state, its HTML, whether the run is at work)."""
        run = self.runs.open(name)
        board = self.runs.board(run)
        log = log_lines(run.path)[-12:]
        number = self.runs.fits(run).lines if board is not None else 0
        html = self.templates.get_template("board.html").render(
            t=t, run=run, board=board, log=log
        )
        mark = hashlib.sha256(html.encode()).hexdigest()
        return number, mark, {"html": html}, run.state.is_at_work

    async def report(self, request):
        """The report of a run, in the frame of the studio."""
        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        if run.report is None:
            raise PageError("This run has no report yet.", 404)
        return self.page(request, "report.html", run=run, tab="report")

    async def file(self, request):
        """A file of a run: its report as a page of its own, others to take away."""
        from starlette.responses import FileResponse

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        name = request.path_params["file"]
        if name not in run.downloads and not is_prediction_name(name):
            raise PageError(f"There is no file {name[:80]!r} in this run.", 404)
        path = self.folder.file(f"{run.name}/{name}")
        if path.parent != run.path:
            raise PageError(f"There is no file {name[:80]!r} in this run.", 404)
        if name in REPORTS and "save" not in request.query_params:
            policy = REPORT_POLICY.format(_report_script_hash())
            headers = {"content-security-policy": policy}
            return FileResponse(path, media_type=HTML, headers=headers)
        return FileResponse(
            path,
            media_type="application/octet-stream",
            filename=f"{run.name}-{name}",
        )

    async def what_if(self, request):
        """A control for each column, and the model's answer."""
        run, model = await self.kept_model(request)
        controls = await asyncio.to_thread(model_controls, model)
        return self.page(
            request,
            "what_if.html",
            run=run,
            controls=controls,
            schema=model.schema,
            method=model.method,
            tab="what_if",
        )

    async def kept_model(self, request):
        """The run and its model of a table."""
        from ..compare import TableModel

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        model = await self.model_of(run)
        if not isinstance(model, TableModel):
            raise PageError("This run has no model of a table.", 404)
        return run, model

    async def model_of(self, run):
        if not run.has_model:
            raise PageError("This run has no model yet.", 404)
        path = self.folder.file(f"{run.name}/model.pansophy")
        return await asyncio.to_thread(self.models.model, path)

    async def answer(self, request):
        """The model's answer to one row, as a part of a page."""
        _, model = await self.kept_model(request)
        choices = await _json_body(request)
        told = await asyncio.to_thread(answer_row, model, choices)
        return self.page(request, "answer.html", **told)

    async def predict_page(self, request):
        """A form that predicts the rows of a file."""
        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        if not run.has_model:
            raise PageError("This run has no model yet.", 404)
        tables = await asyncio.to_thread(self.listed_tables)
        return self.page(request, "predict.html", run=run, tables=tables, tab="predict")

    async def predictions(self, request):
        """Predict a file with the model of a run, by `pansophy predict`."""
        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        choices = await _json_body(request)
        name = str(choices.get("file", ""))
        table = self.table_file(name)
        stem = table.name.split(".")[0]
        free = numbered_names(run.path / f"{PREDICTIONS}{stem}.csv")
        output = next(p for p in free if not p.exists())
        words = ["predict", _file_word(f"{run.name}/model.pansophy"), _file_word(name)]
        words += ["--out", _file_word(f"{run.name}/{output.name}")]
        words += ["--level", f"{LEVEL:g}"]
        if run.kind is RunKind.COMPARE:
            words.append("--explain")
        told = await run_command([*words, "--json"], self.folder.root)
        head, rows = await asyncio.to_thread(_preview_rows, output)
        return self.page(
            request,
            "predicted.html",
            run=run,
            told=told,
            file=output.name,
            head=head,
            body=rows,
            command=_shell_line(words),
        )

    async def compared_runs(self, request):
        """Two runs side by side."""
        names = request.query_params.getlist("run")
        if len(names) != 2:
            raise PageError(self.texts(request)("choose_two"))
        runs = [await asyncio.to_thread(self.runs.open, n) for n in names]
        boards = [await asyncio.to_thread(self.runs.board, r) for r in runs]
        return self.page(
            request,
            "compare.html",
            runs=runs,
            boards=boards,
            differences=_run_differences(*runs),
            lines=_paired_rows(*boards),
        )

    async def series(self, request):
        """The series of a forecast, with the fan chart of one."""
        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        model = await self.model_of(run)
        if not hasattr(model, "panel"):
            raise PageError("This run has no forecasts.", 404)
        names = list(model.panel.names)
        chosen = _index_of(request.query_params.get("series"), len(names))
        file = run.path / "forecasts.csv"
        table = await asyncio.to_thread(_series_rows, file, chosen, model)
        return self.page(
            request,
            "series.html",
            run=run,
            names=names[:2000],
            chosen=chosen,
            target=run.target,
            head=table[0],
            body=table[1],
            tab="series",
        )

    async def chart(self, request):
        """The fan chart of one series, as a picture."""
        from starlette.responses import Response

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        model = await self.model_of(run)
        number = _index_of(request.path_params["number"], len(model.panel))
        svg = await asyncio.to_thread(fan_chart, model, number)
        headers = {"content-security-policy": CHART_POLICY}
        return Response(svg, headers=headers, media_type="image/svg+xml")

    # --- changes ---------------------------------------------------------------------

    async def upload(self, request):
        """Keep a table in the folder, under a name that is free; where it is."""
        from starlette.responses import JSONResponse

        name = safe_name(request.query_params.get("name", ""))
        if not is_table_name(name):
            raise PageError(self.texts(request)("no_table_name"), 415)
        told = request.headers.get("content-length", "")
        if told.isdigit() and int(told) > self.max_upload:
            raise PageError(self.too_large(request), 413)
        draft = self.folder.root / f".draft-{os.urandom(6).hex()}"
        size = 0
        digest = hashlib.sha256()
        try:
            with open(draft, "xb") as file:
                async for part in request.stream():
                    size += len(part)
                    if size > self.max_upload:
                        raise PageError(self.too_large(request), 413)
                    digest.update(part)
                    file.write(part)
            if size == 0:
                raise PageError(self.texts(request)("empty_file"))
            name = await asyncio.to_thread(
                self.keep_upload, draft, name, digest.digest()
            )
        finally:
            draft.unlink(missing_ok=True)
        return JSONResponse({"file": name})

    def keep_upload(self, draft, name, digest) -> str:
        """Give an upload its name, or that of an equal file which is there."""
        with self.reserving:
            for path in numbered_tables(self.folder.root / name):
                if not path.exists() and not path.is_symlink():
                    os.rename(draft, path)
                    return path.name
                if path.is_file() and _sha256_of_file(path) == digest:
                    return path.name
        raise PageError("No name is free.")

    def too_large(self, request) -> str:
        t = self.texts(request)
        return t("too_large", size=t.bytes(self.max_upload))

    async def start(self, request):
        """Begin a run; where its page is."""
        from starlette.responses import JSONResponse

        choices = {k: str(v) for k, v in (await _json_body(request)).items()}
        name = choices.get("file", "")
        self.table_file(name)
        goal = choices.get("goal", "compare")
        make = {
            "compare": self.compare_words,
            "forecast": self.forecast_words,
            "explore": self.explore_words,
        }.get(goal)
        if make is None:
            raise PageError(f"There is no {goal[:40]!r} to begin.")
        make(name, choices, "checked")  # what cannot be is said before a folder is made
        suffix = {"compare": "pansophy", "forecast": "forecast", "explore": "explored"}
        with self.reserving:
            place = next(
                p
                for p in numbered_names(
                    self.folder.root / _default_run_name(name, suffix[goal])
                )
                if not p.exists()
            )
            place.mkdir()
        words = make(name, choices, place.name)
        await asyncio.to_thread(self.processes.start, words, place)
        return JSONResponse({"location": run_address(place.name)})

    def compare_words(self, name, given, out) -> list[str]:
        """The command that compares methods on a table, as chosen."""
        from ..compare.options import Options, changed_option_words

        if not given.get("target"):
            raise PageError("Choose the column to predict first.")
        options = Options.checked(**compare_options(given))
        words = ["compare", _file_word(name), *changed_option_words(options)]
        return [*words, "--out", _file_word(out)]

    def forecast_words(self, name, given, out) -> list[str]:
        """The command that forecasts the series of a table, as chosen."""
        horizon = given.get("horizon", "")
        if not (horizon.isdigit() and int(horizon) > 0):
            raise PageError("The steps ahead must be a whole number of at least 1.")
        for key in ("time", "target"):
            if not given.get(key):
                raise PageError("Choose the column of time and that to forecast.")
        words = ["forecast", _file_word(name), f"--time={given['time']}"]
        words += [f"--target={given['target']}", f"--horizon={int(horizon)}"]
        series = [k.removeprefix("series.") for k in given if k.startswith("series.")]
        known = [k.removeprefix("known.") for k in given if k.startswith("known.")]
        for option, names in (("series", series), ("known", known)):
            words += [f"--{option}={_quoted_name(n)}" for n in names]
        if given.get("merge") in ("sum", "mean"):
            words.append(f"--merge={given['merge']}")
        return [*words, "--out", _file_word(out)]

    def explore_words(self, name, given, out) -> list[str]:
        """The command that looks for faults of a table, as chosen."""
        words = ["explore", _file_word(name)]
        if given.get("target"):
            words.append(f"--target={given['target']}")
        if given.get("other"):
            self.table_file(given["other"])
            words += ["--other", _file_word(given["other"])]
        return [*words, "--out", _file_word(out)]

    async def stop(self, request):
        """Stop a method of a run, or the run."""
        from starlette.responses import JSONResponse

        from ..compare.execution.run_folder import STOP_ALL, request_stop

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        method = str((await _json_body(request)).get("method", "")) or STOP_ALL
        if not run.state.is_at_work:
            raise PageError("This run is not at work.", 409)
        if run.kind is RunKind.COMPARE and run.state is not RunState.STARTING:
            known = json_object(run.path / "plan.json").get("methods") or {}
            if method != STOP_ALL and method not in known:
                raise PageError(f"There is no method {method[:80]!r} in this run.")
            await asyncio.to_thread(request_stop, run.path, method)
        else:
            self.processes.interrupt(run.path)
        return JSONResponse({"asked": method})

    async def resume(self, request):
        """Go on with a run that was stopped, by its very own command."""
        from starlette.responses import JSONResponse

        run = await asyncio.to_thread(self.runs.open, request.path_params["name"])
        words = self.recorded_words(run)
        if not self.is_resumable(run):
            raise PageError("This run cannot be resumed.", 409)
        if run.kind in (RunKind.COMPARE, RunKind.FORECAST):
            words = [*words, "--resume"]
        await asyncio.to_thread(self.processes.start, words, run.path)
        return JSONResponse({"location": run_address(run.name)})

    async def language(self, request):
        """Remember the language of a visitor."""
        from starlette.responses import JSONResponse

        code = str((await _json_body(request)).get("language", ""))
        if code not in languages():
            raise PageError("There is no such language.")
        response = JSONResponse({"language": code})
        response.set_cookie(
            LANGUAGE_COOKIE,
            code,
            max_age=365 * 86_400,
            httponly=True,
            samesite="strict",
        )
        return response

    # --- parts -----------------------------------------------------------------------

    async def static(self, request):
        """A style sheet, the script or the icon."""
        from starlette.responses import Response

        name = request.path_params["name"]
        if name not in STATIC:
            raise PageError("There is no such file.", 404)
        return Response(static_file(name), media_type=STATIC[name])

    async def problem(self, request, error):
        """A page, or a sentence for the script, about what cannot be done."""
        from starlette.responses import JSONResponse

        status = getattr(error, "status", None) or getattr(error, "status_code", 400)
        text = plain_text(getattr(error, "detail", None) or error)
        text = text.replace(f"{self.folder.root}/", "")
        if status == 404 and not isinstance(error, ValueError):
            text = self.texts(request)("no_page")
        if request.method not in ("GET", "HEAD"):
            return JSONResponse({"error": text}, status)
        return self.page(request, "problem.html", status, text=text)


def studio_application(root, access=None, max_upload=MAX_UPLOAD, port=8765):
    """The studio of a folder, as an ASGI application; its `Studio` is `state.studio`.

    Parameters
    ----------
    root : path
        The folder whose tables and runs are shown; nothing else is read or written.
    access : StudioAccess, optional
        Who is let in.
    max_upload : int
        Largest table that may be dropped, in bytes.
    port : int
        Where the studio listens, which names its cookie.
    """
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.routing import Route

    access = access or StudioAccess(port)
    studio = Studio(root, access, max_upload)

    @contextlib.asynccontextmanager
    async def life(_):
        yield
        studio.closing.set()
        await asyncio.to_thread(studio.processes.close)

    reads, changes = ["GET"], ["POST"]
    run = "/runs/{name}"
    routes = [
        Route("/", studio.home, methods=reads),
        Route("/table", studio.setup, methods=reads),
        Route("/table/findings", studio.found, methods=reads),
        Route("/compare", studio.compared_runs, methods=reads),
        Route("/files", studio.upload, methods=changes),
        Route("/runs", studio.start, methods=changes),
        Route("/language", studio.language, methods=changes),
        Route(run, studio.run_page, methods=reads),
        Route(f"{run}/events", studio.events, methods=reads),
        Route(f"{run}/report", studio.report, methods=reads),
        Route(f"{run}/what-if", studio.what_if, methods=reads),
        Route(f"{run}/answer", studio.answer, methods=changes),
        Route(f"{run}/predict", studio.predict_page, methods=reads),
        Route(f"{run}/predictions", studio.predictions, methods=changes),
        Route(f"{run}/series", studio.series, methods=reads),
        Route(f"{run}/series/{{number}}.svg", studio.chart, methods=reads),
        Route(f"{run}/files/{{file}}", studio.file, methods=reads),
        Route(f"{run}/stop", studio.stop, methods=changes),
        Route(f"{run}/resume", studio.resume, methods=changes),
        Route("/static/{name}", studio.static, methods=reads),
    ]
    application = Starlette(
        routes=routes,
        lifespan=life,
        exception_handlers={
            HTTPException: studio.problem,
            ValueError: studio.problem,
            OSError: studio.problem,
        },
        middleware=[
            Middleware(
                RequestMiddleware,
                access=access,
                headers=HEADERS,
                write_error=_write_refusal,
            )
        ],
    )
    application.router.redirect_slashes = False  # it would name the host of the client
    application.state.studio = studio
    return application


async def _write_refusal(send, number, status, text, headers=()):
    """A refusal as a small page, which a visitor can read."""
    from html import escape

    body = ""
    if text:
        body = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta '
            'name="viewport" content="width=device-width, initial-scale=1"><title>'
            'pansophy studio</title><link rel="stylesheet" href="/static/studio.css">'
            '</head><body class="alone"><main><h1>pansophy studio</h1>'
            f'<p>{escape(text)}</p><p><a class="button" href="/">Try again</a></p>'
            "</main></body></html>"
        )
    raw = body.encode()
    head = [(b"content-type", HTML.encode()), *headers]
    head.append((b"content-length", b"%d" % len(raw)))
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": raw})


# --- parts of pages -------------------------------------------------------------------


def _page_templates():
    """The templates, which escape whatever they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    env = Environment(
        loader=PackageLoader("pansophy.studio", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=lambda v: plain_text(v) if type(v) is str else v,
    )
    env.filters["quoted"] = lambda text: quote(str(text), safe="")
    env.filters["address"] = run_address
    names: Any = env.globals
    names["bar"] = _interval_bar
    return env


def _interval_bar(row, axis) -> tuple[float, float, float] | None:
    """Where an interval and its mean lie between the ends of an axis, in percent."""
    if axis is None or row.mean is None:
        return None
    start, end = axis
    place = lambda v: max(0.0, min(100.0, 100 * (v - start) / (end - start)))
    low = row.mean if row.low is None else row.low
    high = row.mean if row.high is None else row.high
    return round(place(low), 1), round(place(high), 1), round(place(row.mean), 1)


def static_file(name) -> bytes:
    """A file of the pages; the style begins with the colours and sizes of reports."""
    body = resources.files("pansophy.studio").joinpath("static", name).read_bytes()
    if name != "studio.css":
        return body
    reports = resources.files("pansophy.compare.report").joinpath("templates")
    return reports.joinpath("tokens.css").read_bytes() + body


def _report_script_hash() -> str:
    """By which the policy of a report knows its one script."""
    from ..compare.report.page_script import package_script, script_hash

    return script_hash(package_script())


async def _json_body(request) -> dict:
    """The object of JSON that a page sent."""
    parts = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_BODY:
            raise PageError("This is more than a form holds.", 413)
        parts.append(part)
    try:
        value = json.loads(b"".join(parts) or b"{}")
    except ValueError:
        raise PageError("The body is not JSON.") from None
    if not isinstance(value, dict):
        raise PageError("The body is not an object of JSON.")
    return value


def safe_name(name) -> str:
    """The name of a file without folders, control characters and leading dots.

    Examples
    --------
    >>> from pansophy.studio.application import safe_name
    >>> safe_name("../../.my table.csv"), safe_name("-o.csv")
    ('my table.csv', 'o.csv')
    """
    name = re.split(r"[/\\]", str(name))[-1]
    name = re.sub(r"[\x00-\x1f\x7f<>:\"|?*]", "", plain_text(name))
    return name.strip().lstrip(".-~ ")[-120:]


def numbered_tables(path):
    """`name.csv.gz`, `name-2.csv.gz`, ...: the ending of a table stays whole."""
    stem, dot, ending = path.name.partition(".")
    yield path
    for plain in itertools.islice(numbered_names(path.with_name(stem)), 1, None):
        yield plain.with_name(f"{plain.name}{dot}{ending}")


def _sha256_of_file(path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _file_word(name) -> str:
    """A name as a word of a command line that is no option."""
    return f"./{name}" if name.startswith("-") else name


def _quoted_name(name) -> str:
    """A name in a list of names that commas separate."""
    return f'"{name}"' if "," in name else name


def _default_run_name(table, suffix="pansophy") -> str:
    """The name that the command gives to a run folder, `sales-pansophy`."""
    return f"{Path(table).name.split('.')[0]}-{suffix}"


def run_address(name) -> str:
    return f"/runs/{quote(name, safe='')}"


def _shell_line(words) -> str:
    """The command as it is typed."""
    return shlex.join(["pansophy", *words])


def _compare_script(words, given, table) -> str:
    """A script that does what a command of `compare` does."""
    out = words[words.index("--out") + 1]
    return _python_compare(table, compare_options(given), out)


def _python_compare(table, options, out) -> str:
    """A comparison in Python, from the table to predictions."""
    options = dict(options)
    target = options.pop("target")
    arguments = "".join(f"    {name}={value!r},\n" for name, value in options.items())
    return (
        "import pansophy\n\n"
        f"result = pansophy.compare(\n    {table!r},\n    {target!r},\n{arguments}"
        f"    folder={out!r},\n)\n"
        "result.write()  # report.html, model.pansophy, results.json\nprint(result)\n\n"
        f"model = pansophy.load({out + '/model.pansophy'!r})\n"
        f"print(model.predict({table!r})[:5])\n"
    )


def _script_of_run(run, words) -> str:
    """A script that does what a run did; nothing if it is not known."""
    if not words or run.kind is not RunKind.COMPARE:
        return ""
    settings = json_object(run.path / "plan.json").get("settings") or {}
    if not settings:
        return ""
    from dataclasses import fields

    from ..compare.options import Options

    target = settings.get("target")
    changed = {
        f.name: settings[f.name]
        for f in fields(Options)
        if f.name in settings and f.name != "target" and settings[f.name] != f.default
    }
    return _python_compare(words[1], {"target": target, **changed}, run.name)


def _preview_rows(path) -> tuple[list[str], list[list[str]]]:
    """The head and the first rows of a file of predictions."""
    import csv

    with open(path, encoding="utf-8", newline="") as file:
        lines = list(itertools.islice(csv.reader(file), PREVIEW_ROWS + 1))
    if not lines:
        return [], []
    return lines[0], [[shorter_number(cell) for cell in line] for line in lines[1:]]


def shorter_number(text) -> str:
    """A number with more than six digits, in five; any other text as it is.

    Examples
    --------
    >>> from pansophy.studio.application import shorter_number
    >>> shorter_number("1.7664999999999997"), shorter_number("12"), shorter_number("a")
    ('1.7665', '12', 'a')
    """
    if len(text) < 8 or "." not in text:
        return text
    try:
        return f"{float(text):.5g}"
    except ValueError:
        return text


def _series_rows(path, number, model) -> tuple[list[str], list[list[str]]]:
    """The forecasts of one series, without the columns that name it."""
    from ..tables import read_table

    if not path.is_file():
        return [], []
    table = read_table(path).slice(number * model.horizon, model.horizon)
    named = [n for n in model.columns.get("series", ()) if n in table.column_names]
    table = table.drop_columns(named)
    rows = zip(*(column.to_pylist() for column in table.columns))
    return table.column_names, [[_shown_cell(v) for v in row] for row in rows]


def _shown_cell(value) -> str:
    """A value of a table of forecasts: five digits, and no midnight."""
    if isinstance(value, float):
        return f"{value:.5g}"
    return str(value).removesuffix(" 00:00:00")


def _index_of(text, count) -> int:
    """A place in a list, from an address; the first one if it is none."""
    number = int(text) if str(text).isdigit() else 0
    return number if number < count else 0


def _run_differences(first, second) -> list[tuple[str, str, str]]:
    """(what, first, second) of the recorded options in which two runs differ."""
    plans = [json_object(run.path / "plan.json") for run in (first, second)]
    rows = []
    for key in ("target", "task", "rows", "seed"):
        values = [str(p.get(key, "")) for p in plans]
        rows.append((key, values[0], values[1]))
    for key, what in (("data_hash", "same rows"), ("split_hash", "same folds")):
        same = plans[0].get(key) == plans[1].get(key)
        rows.append((what, "yes" if same else "no", "yes" if same else "no"))
    settings = [p.get("settings") or {} for p in plans]
    shown = (settings[0].keys() | settings[1].keys()) - {"target", "task", "file"}
    for key in sorted(shown):
        values = [settings[k].get(key) for k in (0, 1)]
        if key == "source":
            values = [Path(str(v)).name for v in values]
        if values[0] != values[1]:
            first_value, second_value = ("" if v is None else str(v) for v in values)
            rows.append((key, first_value, second_value))
    return [row for row in rows if row[1] != row[2] or row[0].startswith("same")]


def _paired_rows(first, second) -> list[tuple]:
    """(method, row, row) of two leaderboards, in the order of the first."""
    boards = [
        {} if b is None else {r.method: r for r in b.rows} for b in (first, second)
    ]
    names = list(dict.fromkeys([*boards[0], *boards[1]]))
    return [(name, boards[0].get(name), boards[1].get(name)) for name in names]
