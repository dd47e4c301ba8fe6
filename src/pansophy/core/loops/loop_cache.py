"""Cache of compiled loops: where machine code comes from, and what may be loaded.

A loop (a function under `core.loops.compiled.compiled`) needs machine code for the
types of its arguments. It is taken from the first of these that has it:

    1. the loops shipped inside the package, compiled when the wheel was built,
    2. the user's cache folder, where this machine keeps what it had to compile,
    3. the compiler, which takes seconds; the result is stored in the user's folder.

**Key.** One file holds one loop for one signature. Its name ends in a hash of all that
the machine code depends on:

    the versions of Numba, llvmlite and Python;
    the target: triple, CPU and CPU features; Numba's own settings of the compiler;
    the argument types;
    the loop itself: bytecode, constants, defaults, closure, options of the compiler,
    values of the global names it reads;
    the same of every loop that it calls, directly or not.

The last line is what Numba's own cache lacks: there an edit to a called file goes
unnoticed. Comments and line numbers are not part of the key, so that moving a loop
does not compile it again. What is no loop and no plain value (an intrinsic, a class)
counts by the content of the file that defines it.

**Levels.** The name of a CPU model is too narrow a key for code that travels. Shipped
loops are compiled for a level: a set of instructions that many models share, such as
x86-64-v3 (AVX2 and FMA, 2013). Of each loop the host takes the highest shipped level
all of whose features it has: one level holds all loops, and a higher one those few
that run faster by it. A host below all levels compiles, as does one with another
version of Python or Numba.

**Safety.** Cache files are pickles, and reading a pickle can run any code. They are
read from two places only. In the package, a list made at build time holds the SHA-256
of every file; a file that differs is not read. In the user's folder, the folder and
the file must belong to the user and be writable by nobody else. The working directory
and shared temporary folders are never read. A file that is damaged is compiled again.

**Several processes** that need the same loop at the same time, such as the workers of a
comparison, compile it once: one holds a lock while it compiles, the others wait and
read what it has stored. None waits longer than `LONGEST_WAIT`.

The folder is `loops` in `$PANSOPHY_CACHE_DIR` if set, else `pansophy/loops` in the
platform's cache directory (`~/.cache`, `~/Library/Caches`, `%LOCALAPPDATA%`). Both must
be absolute paths, since others would lie in the working directory. Where the folder
cannot be written, or a user has no home, loops are compiled in every process.

Numba's private interfaces are in `core/loops/numba_internals.py`. Where they are not as
expected there is no such cache: `core/loops/compiled.py` leaves loops to Numba's own.
"""

import contextlib
import gc
import hashlib
import importlib
import json
import multiprocessing
import os
import platform
import stat
import sys
import tempfile
import threading
import time
import types
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from ..files.folder_lock import FolderLockedError, lock_folder
from .deferred_signals import deferred_signals

internals: Any = None
try:
    from . import numba_internals as internals
except Exception as error:  # an unexpected Numba can raise anything
    reason = (str(error) or type(error).__name__).splitlines()[0]
    UNEXPECTED = f"Numba {numba.__version__} is not as expected: {reason}"
else:
    UNEXPECTED = ""

PACKAGE = __name__.split(".")[0]
NUMBA_KNOWS = ("builtins", "cmath", "llvmlite", "math", "numba", "numpy")
SHIPPED = Path(__file__).parents[2] / "_compiled_loops"
MANIFEST = "manifest.json"
DRAFT = ".draft-"  # names of files that are being written begin with it
OLD_DRAFT = 3600.0  # seconds after which nobody writes a draft any more
LONGEST_WAIT = 60.0  # seconds for a loop that another process compiles

# Features that LLVM must report for a level, beyond those of every 64-bit CPU. The
# first level of which a machine has all is its level.
X86_64_V2 = ("cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3")
X86_64_V3 = (*X86_64_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
X86_64_V4 = (*X86_64_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
# AMD since 2022: LLVM gives them vectors of 512 bits, others that have AVX-512 of 256
ZNVER4 = (
    *X86_64_V4, "adx", "aes", "avx512bf16", "avx512bitalg", "avx512ifma", "avx512vbmi",
    "avx512vbmi2", "avx512vnni", "avx512vpopcntdq", "gfni", "pclmul", "prfchw", "sha",
    "sse4a", "vaes", "vpclmulqdq",
)  # fmt: skip
LEVELS = {
    "x86_64": {
        "znver4": ZNVER4,
        "x86-64-v4": X86_64_V4,
        "x86-64-v3": X86_64_V3,
        "x86-64-v2": X86_64_V2,
    },
    "aarch64": {"generic": ()},
    "arm64": {"apple-m1": (), "generic": ()},
}


# Settings of Numba (`NUMBA_OPT=0`, ...) that change the machine code of every loop
SETTINGS = (
    "OPT",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
)


def host_levels() -> list[str]:
    """The levels of this machine, highest first.

    Examples
    --------
    >>> from pansophy.core.loops.loop_cache import host_levels
    >>> isinstance(host_levels(), list)
    True
    """
    machine = platform.machine().lower().replace("amd64", "x86_64")
    features = binding.get_host_cpu_features()
    return [
        level
        for level, needed in LEVELS.get(machine, {}).items()
        if all(features.get(name) for name in needed)
    ]


def target_name() -> str:
    """Name of the CPU target of this process, with the versions that compile."""
    triple = binding.get_default_triple()
    cpu = numba.config.CPU_NAME or binding.get_host_cpu_name()
    versions = f"{numba.__version__} {llvmlite.__version__}"
    return f"{triple} {cpu} {versions} {sys.implementation.cache_tag}"


# ---- what the machine code of a loop depends on


def loop_key(loop, argument_types, target) -> str:
    """Hash of all that the machine code of a loop for these argument types depends on.

    Parameters
    ----------
    loop : Dispatcher or CFunc
    argument_types : sequence of Numba types
    target : tuple
        Triple, CPU name and CPU features.
    """
    content = (
        numba.__version__,
        llvmlite.__version__,
        sys.implementation.cache_tag,
        *target,
        *(str(getattr(numba.config, name, None)) for name in SETTINGS),
        ", ".join(_type_name(t) for t in argument_types),
        *sorted(_own_digest(part) for part in _reachable_loops(loop)),
    )
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def _type_name(numba_type) -> str:
    """Name of a Numba type that no other type shares.

    Numba names a NamedTuple without the module of its class.
    """
    named_tuple = getattr(numba_type, "instance_class", None)
    members = getattr(numba_type, "types", None)
    if named_tuple is None and not isinstance(members, tuple):
        return str(numba_type)
    inside = ", ".join(_type_name(t) for t in members or ())
    return f"{numba_type}<{_describe_class(named_tuple)}: {inside}>"


def _reachable_loops(loop) -> list:
    """A loop and all loops that it calls, directly or through others."""
    loops = {}
    waiting = [loop]
    while waiting:
        part = waiting.pop()
        if id(part) not in loops:
            loops[id(part)] = part
            waiting.extend(_called_loops(part))
    return list(loops.values())


def _called_loops(loop) -> list:
    function = internals.made_from(loop).function
    return [value for value in _values_read(function) if internals.is_loop(value)]


@cache
def _own_digest(loop) -> str:
    """Hash of a loop without those it calls."""
    function, options, compiler_class = internals.made_from(loop)
    content = (
        type(loop).__name__,
        function.__module__,
        function.__qualname__,
        repr(sorted((k, _describe_value(v)) for k, v in options.items())),
        _describe_class(compiler_class),
        _describe_code(function.__code__),
        _describe_value(function.__defaults__),
        *(_describe_value(v) for v in _values_read(function)),
    )
    return hashlib.sha256("\n".join(content).encode()).hexdigest()


def _values_read(function) -> list:
    """Values of the global names and of the enclosing variables a function reads."""
    names = sorted(_all_names(function.__code__))
    scopes = [function.__globals__]
    values = [cell.cell_contents for cell in function.__closure__ or ()]
    for scope in scopes:  # it grows: a loop may be read as module.loop
        for name in names:
            value = scope.get(name)
            if not isinstance(value, types.ModuleType) or not _is_followed(value):
                continue
            if not any(vars(value) is known for known in scopes):
                scopes.append(vars(value))
    values += [scope[name] for scope in scopes for name in names if name in scope]
    return values


def _is_followed(module) -> bool:
    """Whether a loop may read values of a module; of others Numba has its own code."""
    return module.__name__.split(".")[0] not in NUMBA_KNOWS


def _all_names(code) -> set:
    """Names that a code object and those inside it look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _all_names(constant)
    return names


def _describe_code(code) -> str:
    """Text of what the compiler reads of a code object; not its place in the file."""
    constants = [
        _describe_code(c) if isinstance(c, types.CodeType) else _describe_value(c)
        for c in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return repr((code.co_code.hex(), code.co_exceptiontable.hex(), constants, names))


def _describe_value(value) -> str:
    """Text that changes when a value that a loop reads changes."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"{type(value).__name__}({[_describe_value(v) for v in value]})"
    if isinstance(value, set | frozenset):
        return f"set({sorted(_describe_value(v) for v in value)})"
    if isinstance(value, np.ndarray | np.generic):
        array = np.ascontiguousarray(value)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return f"array({array.dtype.str}, {array.shape}, {content})"
    if internals.is_loop(value):
        return f"loop({value.py_func.__module__}.{value.py_func.__qualname__})"
    if isinstance(value, types.ModuleType):
        return f"module({value.__name__})"
    if isinstance(value, type):
        return _describe_class(value)
    return _describe_by_file(value)


def _describe_class(cls) -> str:
    if cls is None:
        return "none"
    if isinstance(getattr(cls, "_fields", None), tuple):  # a NamedTuple
        return f"{cls.__module__}.{cls.__qualname__}{cls._fields}"
    return _describe_by_file(cls)


def _describe_by_file(value) -> str:
    """Name of a value, and the content of the file that defines it if it is ours."""
    home = value if hasattr(value, "__module__") else type(value)
    module = home.__module__ or "builtins"
    name = getattr(value, "__qualname__", None) or str(value)
    content = _file_digest(module) if module.split(".")[0] == PACKAGE else ""
    return f"{module}.{name}({content})"


@cache
def _file_digest(module: str) -> str:
    return hashlib.sha256(
        Path(str(sys.modules[module].__file__)).read_bytes()
    ).hexdigest()


# ---- the two folders


def user_folder() -> Path | None:
    """Folder in which this machine keeps the loops it compiled; None without a home.

    Examples
    --------
    >>> from pansophy.core.loops.loop_cache import user_folder
    >>> user_folder().is_absolute()
    True
    """
    chosen = os.environ.get("PANSOPHY_CACHE_DIR")
    try:
        if chosen:
            folder = Path(chosen).expanduser()
            if folder.is_absolute():
                return folder / "loops"
            warn_of_relative_path(chosen)
        folder = _platform_cache_directory()
        # a home such as "." would lead into the working directory
        return folder / PACKAGE / "loops" if folder.is_absolute() else None
    except RuntimeError:  # nobody knows the home of this user
        return None


def _platform_cache_directory() -> Path:
    """Where programs keep what they can make again; relative settings do not count."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    windows = sys.platform == "win32"
    chosen = os.environ.get("LOCALAPPDATA" if windows else "XDG_CACHE_HOME", "")
    if Path(chosen).is_absolute():
        return Path(chosen)
    return Path.home() / ("AppData/Local" if windows else ".cache")


@cache
def warn_of_relative_path(chosen: str) -> None:
    """Say once that a relative path is not used: it would be read from anywhere."""
    warnings.warn(
        f"PANSOPHY_CACHE_DIR must be an absolute path, got {chosen!r}; compiled loops "
        "are kept in the usual folder.",
        RuntimeWarning,
        stacklevel=3,
    )


def reason_not_kept() -> str | None:
    """Why loops that are compiled here cannot be stored, or None if they can."""
    folder = user_folder()
    if folder is None:
        return "this user has no home folder"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        private = is_private(os.stat(folder))
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror})"
    if not private:
        return f"{folder} belongs to someone else, or others may write to it"
    return None if os.access(folder, os.W_OK) else f"{folder} cannot be written"


def is_private(status: os.stat_result) -> bool:
    """Whether a file or folder is the user's and nobody else may write to it.

    On Windows the profile folder's access rules say so, not the mode bits.
    """
    if not hasattr(os, "geteuid"):
        return True
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not others_write


def read_user_file(name: str) -> bytes | None:
    """A pickle from the user's folder, or None if it is absent, damaged or unsafe."""
    folder = user_folder()
    if folder is None:
        return None
    try:
        if not is_private(os.stat(folder)):
            return None
        handle = os.open(folder / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(handle, "rb") as file:
            if not is_private(os.fstat(handle)):
                return None
            digest, content = file.read(32), file.read()
    except OSError:
        return None
    return content if hashlib.sha256(content).digest() == digest else None


def write_user_file(name: str, content: bytes) -> None:
    """Store a pickle behind its hash; a folder that can't be written is let alone."""
    folder = user_folder()
    if folder is None:
        return
    draft = None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_private(os.stat(folder)):
            return
        remove_old_drafts(folder)
        handle, draft = tempfile.mkstemp(dir=folder, prefix=DRAFT)  # mode 0600
        with open(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        os.replace(draft, folder / name)
    except OSError:
        if draft is not None:
            with contextlib.suppress(OSError):
                os.unlink(draft)


@cache
def remove_old_drafts(folder: Path) -> None:
    """Remove what processes that were killed while they wrote have left behind."""
    for draft in folder.glob(f"{DRAFT}*"):
        with contextlib.suppress(OSError):
            if time.time() - draft.stat().st_mtime > OLD_DRAFT:
                draft.unlink()


class LoopLock:
    """The right to compile one loop; held by one process of the user at a time."""

    def __init__(self, name: str):
        folder = user_folder()
        self.path = None if folder is None else folder / f"{DRAFT}{name}.lock"
        self.handle = None

    def acquire(self) -> None:
        """Wait until no other process compiles the loop, or until it takes too long.

        In a folder that can't be written there is no lock, and nothing to wait for.
        """
        if self.path is None:
            return
        folder = self.path.parent
        latest = time.monotonic() + LONGEST_WAIT
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            while is_private(os.stat(folder)):
                try:
                    self.handle = lock_folder(folder, self.path.name)
                    return
                except FolderLockedError:
                    if time.monotonic() > latest:
                        return
                    time.sleep(0.02)
        except OSError:
            return

    def release(self) -> None:
        if self.path is not None and self.handle is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.path)
            os.close(self.handle)
            self.handle = None


class ShippedLevel(NamedTuple):
    """Loops of the package that were compiled for one level."""

    name: str
    digests: dict[str, str]  # SHA-256 of each file
    loops: frozenset[str]  # names of the loops, without hashes


@cache
def shipped_levels() -> tuple[ShippedLevel, ...]:
    """The levels whose shipped loops this process can use, highest first.

    A user who chose a CPU for Numba wants that one, so that nothing shipped is used.
    """
    if numba.config.CPU_NAME is not None or internals is None:
        return ()
    levels = []
    for level in host_levels():
        with contextlib.suppress(OSError, ValueError, KeyError):
            text = (SHIPPED / level / MANIFEST).read_text("utf-8")
            digests = json.loads(text)["files"]
            loops = frozenset(loop_of_file(name) for name in digests)
            levels.append(ShippedLevel(level, digests, loops))
    return tuple(levels)


def loop_of_file(name: str) -> str:
    """Name of the loop that a file holds."""
    return name.rpartition("-")[0]


def read_shipped_file(level: ShippedLevel, name: str) -> bytes | None:
    """A pickle from the package, or None if it is not the one that was built."""
    if name not in level.digests:
        return None
    try:
        content = (SHIPPED / level.name / name).read_bytes()
    except OSError:
        return None
    is_unchanged = hashlib.sha256(content).hexdigest() == level.digests[name]
    return content if is_unchanged else None


def pack_user_folder(level: str, loops=()) -> int:
    """Copy loops in the user's folder into the package, as those of a level.

    For builds: the folder holds what was compiled with `NUMBA_CPU_NAME` set to the
    level. Returns the number of files.

    Parameters
    ----------
    level : str
    loops : collection of str
        Names of the loops to copy; all if empty.
    """
    folder = user_folder()
    target = SHIPPED / level
    target.mkdir(parents=True, exist_ok=True)
    for old in target.iterdir():
        old.unlink()
    digests = {}
    for path in sorted(folder.glob("*.loop")) if folder is not None else ():
        content = read_user_file(path.name)
        if content is not None and (not loops or loop_of_file(path.name) in loops):
            (target / path.name).write_bytes(content)
            digests[path.name] = hashlib.sha256(content).hexdigest()
    made_by = {"numba": numba.__version__, "python": sys.implementation.cache_tag}
    text = json.dumps({"made_by": made_by, "files": digests}, indent=1)
    (target / MANIFEST).write_text(text, "utf-8")
    return len(digests)


def recompile_shipped(level: str, names) -> None:
    """Compile loops that are shipped for a level, for the CPU chosen for Numba.

    For builds: what another level calls, and with which types, is known from the files
    of the first. The result is kept in the user's folder, as always.

    Parameters
    ----------
    level : str
        The level whose files are there.
    names : collection of str
        Names of its files.
    """
    for name in names:
        content = (SHIPPED / level / name).read_bytes()
        module, _, function = loop_of_file(name).rpartition(".")
        loop = getattr(importlib.import_module(module), function)
        loop.compile(internals.signature_of(content).args)


# ---- Numba's side


class LoopCache:
    """Cache that Numba asks before it compiles a loop, and fills afterwards."""

    def __init__(self, loop):
        self.loop = loop
        function = internals.made_from(loop).function
        name = f"{function.__module__}.{function.__qualname__}"
        self.name = name.replace("<locals>", "locals")
        self.enabled = True
        self.locks: dict[str, LoopLock] = {}  # of what is being compiled, by file

    @property
    def cache_path(self):
        return str(user_folder())

    def enable(self):
        self.enabled = True

    def disable(self):
        self.enabled = False

    def flush(self):
        """Nothing to forget: a file is found by what it was made of."""

    def file_name(self, signature, target) -> str:
        argument_types = getattr(signature, "args", signature)
        key = loop_key(self.loop, argument_types, target)
        return f"{self.name}-{key[:32]}.loop"

    def shipped_code(self, signature, triple) -> tuple[str, bytes | None]:
        """File name and content of the highest shipped level that has the loop."""
        for level in shipped_levels():
            if self.name in level.loops:
                name = self.file_name(signature, (triple, level.name, ""))
                content = read_shipped_file(level, name)
                if content is not None:
                    return name, content
        return "", None

    def load_overload(self, sig, target_context):
        if not self.enabled:
            return None
        target = internals.target_of(target_context)
        name, content = self.shipped_code(sig, target[0])
        if content is None:
            name = self.file_name(sig, target)
            content = read_user_file(name)
        if content is None:
            self.acquire_lock(name)
            content = read_user_file(name)  # stored by the one that was waited for
        if content is None:
            return None
        self.release_lock(name)
        try:
            return internals.unpickle_result(content, target_context)
        except Exception:  # made by something that the key does not tell: compile
            return None

    def save_overload(self, sig, data):
        if not self.enabled:
            return
        if not internals.can_be_kept(data):
            warnings.warn(
                f"{self.name} cannot be kept on disk: it reads an array or a pointer "
                "that is a global of its module.",
                RuntimeWarning,
                stacklevel=2,
            )
            self.release_all()
            return
        name = self.file_name(sig, internals.target_of(data))
        write_user_file(name, internals.pickle_result(data))
        self.release_lock(name)

    def acquire_lock(self, name):
        if name not in self.locks:
            self.locks[name] = LoopLock(name)
            self.locks[name].acquire()

    def release_lock(self, name):
        lock = self.locks.pop(name, None)
        if lock is not None:
            lock.release()

    def release_all(self):
        """After a compilation that failed or whose code is not kept."""
        for name in list(self.locks):
            self.release_lock(name)


def keep_on_disk(loop):
    """Give a loop this cache; returns the loop.

    No signal disturbs it while it is looked for, compiled and stored.
    """
    cache = LoopCache(loop)
    internals.set_cache(loop, cache)
    compile_loop = loop.compile

    @deferred_signals()
    def compile_and_store(*signature):
        try:
            return compile_loop(*signature)
        except BaseException:
            cache.release_all()
            raise

    loop.compile = compile_and_store
    return loop


def compiled_callback(function, signature, **options):
    """A compiled function with an address, which C code and loops can call.

    Parameters
    ----------
    function : callable
    signature : Numba signature
    options
        Options of `numba.cfunc`.
    """
    if internals is None:
        return numba.cfunc(signature, **options)(function)
    callback = internals.callback_of(function, signature, options)
    keep_on_disk(callback).compile()
    return callback


NOTICE_AFTER = 2.0  # seconds of compiling before the user is told


class CompilationWatch:
    """Stands by while Numba compiles: no garbage collection, a notice if it is long.

    Numba makes millions of objects that live as long as the process, and each
    collection walks over all of them. Compilations hold one lock, so that no two
    threads are in here; they are nested where a loop calls one that is not compiled.
    """

    def __init__(self):
        self.depth = 0
        self.collecting = False
        self.seconds = 0.0
        self.count = 0
        self.began = 0.0
        self.timer = None
        self.noticed = False

    def begin(self, loop):
        self.count += 1
        if self.depth == 0:
            self.collecting = gc.isenabled()
            gc.disable()
            self.began = time.perf_counter()
            self.start_timer(loop)
        self.depth += 1

    def end(self):
        self.depth -= 1
        if self.depth > 0:
            return
        self.seconds += time.perf_counter() - self.began
        if self.timer is not None:
            self.timer.cancel()
        if self.collecting:
            gc.enable()

    def start_timer(self, loop):
        """Let the notice come when the seconds so far and those to come are enough."""
        in_worker = multiprocessing.parent_process() is not None
        is_own = isinstance(
            internals.cache_of(loop), LoopCache
        )  # others' loops are not kept by us
        if self.noticed or in_worker or not is_own:
            return
        name = internals.made_from(loop).function.__qualname__
        left = max(NOTICE_AFTER - self.seconds, 0.0)
        self.timer = threading.Timer(left, self.notice, args=(name,))
        self.timer.daemon = True
        self.timer.start()

    def notice(self, name):
        self.noticed = True
        reason = reason_not_kept()
        kept = "once on this machine"
        if reason is not None:
            kept = f"in every process, since {reason}"
        print(f"pansophy: compiling {name} {kept} ...", file=sys.stderr, flush=True)


WATCH = CompilationWatch()
if internals is not None:
    internals.watch_compilations(WATCH)
