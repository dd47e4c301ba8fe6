"""Compiler of loops: Numba's, without the steps that loops do not need.

Numba compiles a function in three steps of about equal cost: typing, writing LLVM code,
and LLVM's own optimisation and machine code. It does so for every function as if Python
called it. The classes here leave out what loops do not need.

**Functions that only loops call** (`InnerCompiler`) are neither optimised nor made into
machine code before they are linked into a loop that Python calls.

**Settings that callees share** (`LoopFlags`). While Numba types a call of `min` or of
an index, it looks up the implementation by all settings of the caller and compares
about 30 of them each time. The implementation inherits four. Compared by these alone,
loops that differ in the others (whether they are inlined, say) share implementations
that are compiled once.

**Minima and maxima** of numbers are a compilation of their own in Numba, for every
combination of types and settings. `InlineMinMax` writes their instructions, which are
the same, at the place of the call.

**Passes** for what loops never hold (`with` blocks, `literal_unroll`, and closures in
most) are left out: each costs a walk over the code, and Numba writes down all argument
types for each.

**Reference counts.** A loop that makes no array and returns none need not count who
holds those that it was given: its caller does. Loops that take many arrays are smaller
without, and quicker. Numba does not see if a count is missing, so that `LoopCompiler`
refuses loops that return an array all the same; one that makes an array does not
compile.

**Private interfaces.** This is the only module that uses those of Numba. When it is
imported it looks for all that it uses (`INTERFACES`), and under a version of Numba that
it was not tried with it also compiles, stores and restores a small loop. If anything is
not as expected the import fails, and `core/loops/compiled.py` leaves everything to
Numba's own compiler and its own cache: first calls take longer, results are the same.
"""

import pickle
import pydoc
import re
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import njit, types
from numba.core import codegen, compiler, event, ir, serialize, sigutils, untyped_passes
from numba.core.ccallback import CFunc
from numba.core.compiler import CompileResult
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.ir_utils import mk_unique_var
from numba.cpython import builtins as number_functions

INTERFACES = (
    "numba.core.ccallback.CFunc.compile",
    "numba.core.codegen.JITCPUCodegen.magic_tuple",
    "numba.core.codegen.JITCodeLibrary._ensure_finalized",
    "numba.core.codegen.JITCodeLibrary._get_module_for_linking",
    "numba.core.codegen.JITCodeLibrary._raise_if_finalized",
    "numba.core.codegen.JITCodeLibrary.codegen",
    "numba.core.codegen.JITCodeLibrary.finalize",
    "numba.core.codegen.JITCodeLibrary.get_pointer_to_function",
    "numba.core.compiler.CompileResult._rebuild",
    "numba.core.compiler.CompileResult._reduce",
    "numba.core.compiler.Compiler._compile_core",
    "numba.core.compiler.Compiler.define_pipelines",
    "numba.core.compiler.Flags",
    "numba.core.compiler_machinery.FunctionPass.run_pass",
    "numba.core.dispatcher.Dispatcher.compile",
    "numba.core.event.Listener.on_end",
    "numba.core.event.Listener.on_start",
    "numba.core.event.register",
    "numba.core.ir.Expr.build_tuple",
    "numba.core.serialize.dumps",
    "numba.core.sigutils.normalize_signature",
    "numba.cpython.builtins.max_vararg",
    "numba.cpython.builtins.min_vararg",
)

# the first version with which fits were tried, the last with which the suite runs
TRIED = (0, 66), (0, 68)


# Passes for what no loop has: `with` blocks, `literally` and `literal_unroll`
UNUSED = (
    untyped_passes.WithLifting,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
)
# ... and for functions and comprehensions inside a loop, which few have
OF_CLOSURES = (
    untyped_passes.InlineClosureLikes,
    untyped_passes.MakeFunctionToJitFunction,
)


class LoopFlags(compiler.Flags):
    """Settings of a loop, equal if those that its callees inherit are equal."""

    def inherited(self) -> tuple:
        options = self._values
        fastmath = options.get("fastmath")
        return (
            options.get("nrt"),
            options.get("error_model"),
            options.get("forceinline"),
            frozenset(fastmath.flags) if fastmath else None,
        )

    def __hash__(self):
        return hash(self.inherited())

    def __eq__(self, other):
        if isinstance(other, LoopFlags):
            return self is other or self.inherited() == other.inherited()
        return NotImplemented  # Numba's own functions keep theirs


# what Numba's own `min` and `max` of numbers call, with a tuple of them
MIN_MAX: dict[Any, Any] = {
    min: number_functions.min_vararg,
    max: number_functions.max_vararg,
}


@register_pass(mutates_CFG=False, analysis_only=False)
class InlineMinMax(FunctionPass):
    """Replaces `max(a, b)` by the instructions of Numba's `max`; `min` likewise."""

    _name = "inline_min_max"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        is_changed = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                call = getattr(statement, "value", None)
                if isinstance(call, ir.Expr) and call.op == "call":
                    added = self.without_call(state.func_ir, block.scope, call)
                    body += added
                    is_changed = is_changed or bool(added)
                body.append(statement)
            block.body = body
        return is_changed

    def without_call(self, func_ir, scope, call) -> list:
        """Change a call of `min` or `max`; the statements that must come before it."""
        called = func_ir._definitions.get(call.func.name, ())
        values = [getattr(definition, "value", None) for definition in called]
        if len(values) != 1 or not any(values[0] is f for f in MIN_MAX):
            return []
        if len(call.args) < 2 or call.kws or call.vararg is not None:
            return []
        function = ir.Global("min_max", MIN_MAX[values[0]], call.loc)
        numbers = ir.Expr.build_tuple(list(call.args), call.loc)
        added = []
        for value in (function, numbers):
            target = ir.Var(scope, mk_unique_var("$min_max"), call.loc)
            func_ir._definitions[target.name].append(value)
            added.append(ir.Assign(value, target, call.loc))
        call.func = added[0].target
        call.args = [added[1].target]
        return added


class LoopCompiler(compiler.Compiler):
    """Numba's compiler with `LoopFlags` and without passes that loops do not need."""

    def __init__(
        self, typing_context, context, library, args, return_type, flags, *rest
    ):
        flags = LoopFlags(flags)
        super().__init__(
            typing_context, context, library, args, return_type, flags, *rest
        )

    def define_pipelines(self):
        (pipeline,) = super().define_pipelines()
        constants = self.state.func_id.code.co_consts
        unused = UNUSED
        if not any(isinstance(constant, CodeType) for constant in constants):
            unused += OF_CLOSURES
        pipeline.passes = [p for p in pipeline.passes if p[0] not in unused]
        before_types = [p[0] for p in pipeline.passes].index(
            untyped_passes.ReconstructSSA
        )
        pipeline.passes.insert(before_types, (InlineMinMax, "min and max"))
        pipeline.finalize()
        return [pipeline]

    def _compile_core(self):
        result = super()._compile_core()
        returned = result.signature.return_type
        if not self.state.flags.nrt and _holds_array(returned):
            raise TypeError(
                f"{result.fndesc.qualname} returns {returned}: without reference "
                "counts a loop must not return arrays."
            )
        return result


def _holds_array(numba_type) -> bool:
    """Whether a value of this type is an array or a tuple that holds one."""
    if isinstance(numba_type, types.BaseTuple):
        return any(_holds_array(t) for t in numba_type)
    return isinstance(numba_type, types.Array)


class InnerLibrary(codegen.JITCodeLibrary):
    """The code of a function that only compiled functions call.

    Numba optimises every function and makes machine code of it before it is linked into
    its callers, where it is optimised again. The code of this one waits for that: less
    is compiled, and the optimiser sees a loop and what it calls as they were written.
    Nobody looks up the address of such a function, nor its environment, which Numba
    needs only to print and to raise exceptions whose text is made at run time.
    """

    @property
    def codegen(self):
        """Itself, to be asked for `set_env`."""
        return self

    def set_env(self, name, environment):
        """Nothing: there is no machine code that could ask for the environment."""

    def finalize(self):
        """Link what the function calls, without optimising."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._final_module.verify()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """Zero, as for a name that is not defined."""
        self._ensure_finalized()
        return 0


class InnerCompiler(LoopCompiler):
    """Compiles into an `InnerLibrary`."""

    def __init__(self, typing_context, context, library, *rest):
        if library is None:
            library = InnerLibrary(context.codegen(), "inner")
        super().__init__(typing_context, context, library, *rest)


# ---- options, cache and events


def loop_options(inner: bool, refcount: bool) -> dict:
    """Options of `njit` that a loop is compiled with; see
    `core.loops.compiled.compiled`.
    """
    options = {
        "pipeline_class": InnerCompiler if inner else LoopCompiler,
        "no_cfunc_wrapper": True,  # C code does not call loops
        "forceinline": False,  # else what its first caller has
        "_nrt": refcount,
    }
    if inner:
        options["no_cpython_wrapper"] = True
    return options


def let_loops_call(loop, make_part) -> None:
    """Let other loops call a part made for them in place of a loop.

    A loop that Python calls is optimised and made into machine code. Where it is linked
    into another one it needs neither.

    Parameters
    ----------
    loop : Dispatcher
    make_part : callable
        Makes the `InnerCompiler` loop of the same function, at the first such call.
    """
    part = cache(make_part)
    loop.get_call_template = lambda args, kws: part().get_call_template(args, kws)
    loop.get_overload = lambda signature: part().get_overload(signature)


class MadeFrom(NamedTuple):
    """What a loop or a compiled callback was made from."""

    function: Any  # in Python
    options: dict
    compiler_class: Any


def made_from(loop) -> MadeFrom:
    """The Python function of a loop or a compiled callback, and how it is compiled."""
    function = loop._pyfunc if isinstance(loop, CFunc) else loop.py_func
    compiled_by = getattr(loop, "_compiler", loop)
    return MadeFrom(function, compiled_by.targetoptions, compiled_by.pipeline_class)


def is_loop(value) -> bool:
    """Whether a value is a function that Numba compiles at its first call."""
    return isinstance(value, Dispatcher)


def callback_of(function, signature, options) -> CFunc:
    """A callback that is not compiled yet."""
    arguments_and_result = sigutils.normalize_signature(signature)
    return CFunc(function, arguments_and_result, locals={}, options=options)


def set_cache(loop, cache) -> None:
    """Let Numba ask this cache, and fill it, before and after it compiles a loop."""
    loop._cache = cache


def cache_of(loop):
    return loop._cache


def target_of(context_or_result) -> tuple:
    """Triple, CPU and CPU features that machine code is made for."""
    owner = context_or_result.codegen
    return (owner() if callable(owner) else owner).magic_tuple()


def can_be_kept(result) -> bool:
    """Whether compiled code means the same in another process."""
    return not result.lifted and not result.library.has_dynamic_globals


def pickle_result(result) -> bytes:
    """The code of a loop for one signature as a pickle."""
    return serialize.dumps(result._reduce())


def unpickle_result(content: bytes, context) -> CompileResult:
    """Compiled code from its pickle, ready to be called."""
    context.refresh()
    return CompileResult._rebuild(context, *pickle.loads(content))


def signature_of(content: bytes):
    """The signature that a pickle of `pickle_result` was compiled for."""
    _library, _description, _environment, signature, *_ = pickle.loads(content)
    return signature


class CompilationListener(event.Listener):
    """Tells a watch that a compilation begins, with its loop, and that it ends."""

    def __init__(self, watch):
        self.watch = watch

    def on_start(self, event):
        self.watch.begin(event.data["dispatcher"])

    def on_end(self, event):
        self.watch.end()


def watch_compilations(watch) -> None:
    """Let a watch know of all compilations of this process."""
    event.register("numba:compile", CompilationListener(watch))


# ---- whether Numba is as expected


class ProbePair(NamedTuple):
    a: Any
    b: Any


def _probe_inner(pair, i):
    if i < 0:
        raise ValueError("negative")
    return max(pair.a[i], pair.b[i], 0.0)


class ProbeCache:
    """Keeps the code of one loop in memory, as a pickle."""

    cache_path = ""
    content = None

    def load_overload(self, sig, target_context):
        if self.content is None:
            return None
        return unpickle_result(self.content, target_context)

    def save_overload(self, sig, data):
        if can_be_kept(data) and len(target_of(data)) == 3:
            self.content = pickle_result(data)


def compile_probe() -> None:
    """Compile, store and restore a loop that uses all that this module changes."""
    inner = njit(error_model="numpy", **loop_options(True, False))(_probe_inner)

    def probe(pair, out):
        for i in range(out.size):
            out[i] = inner(pair, i)
        return out.size

    kept = ProbeCache()
    pair = ProbePair(np.array([1.0, -2.0]), np.array([0.5, -3.0]))
    for _ in range(2):  # compiled, then restored
        loop = njit(error_model="numpy", nogil=True, **loop_options(False, False))(
            probe
        )
        set_cache(loop, kept)
        out = np.empty(2)
        if loop(pair, out) != 2 or out.tolist() != [1.0, 0.0]:
            raise ImportError("a small loop gives another result")
    if kept.content is None or not is_loop(loop) or made_from(loop).function != probe:
        raise ImportError("the code of a small loop is not kept")


def tried_version(version: str) -> bool:
    """Whether all tests were run with this version of Numba.

    Examples
    --------
    >>> from pansophy.core.loops.numba_internals import tried_version
    >>> tried_version("0.66.0"), tried_version("0.61.2"), tried_version("1.0.0rc1")
    (True, False, False)
    """
    numbers = tuple(int(n) for n in re.findall(r"\d+", version)[:2])
    first, last = TRIED
    return first <= numbers <= last


def _check_interfaces() -> None:
    """Raise an ImportError if something that this module uses is not as expected."""
    missing = [name for name in INTERFACES if pydoc.locate(name) is None]
    if missing:
        raise ImportError(f"it has no {', '.join(missing)}")
    if not tried_version(numba.__version__):
        compile_probe()


_check_interfaces()
