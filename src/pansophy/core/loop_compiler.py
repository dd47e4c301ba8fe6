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

`HOOKS` lists the internals of Numba used here; `tests/core/test_loop_compiler.py` says
which one is gone after an upgrade.
"""

from types import CodeType
from typing import Any

from numba import types
from numba.core import codegen, compiler, ir, untyped_passes
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.ir_utils import mk_unique_var
from numba.cpython import builtins as number_functions

HOOKS = (
    "numba.core.compiler.Compiler",
    "numba.core.compiler.Compiler._compile_core",
    "numba.core.compiler.Compiler.define_pipelines",
    "numba.core.compiler.Flags",
    "numba.core.untyped_passes.WithLifting",
    "numba.core.untyped_passes.FindLiterallyCalls",
    "numba.core.untyped_passes.LiteralUnroll",
    "numba.core.untyped_passes.LiteralPropagationSubPipelinePass",
    "numba.core.untyped_passes.InlineClosureLikes",
    "numba.core.untyped_passes.MakeFunctionToJitFunction",
    "numba.core.untyped_passes.ReconstructSSA",
    "numba.core.compiler_machinery.FunctionPass",
    "numba.core.compiler_machinery.register_pass",
    "numba.core.ir.Expr.build_tuple",
    "numba.core.ir_utils.mk_unique_var",
    "numba.cpython.builtins.max_vararg",
    "numba.cpython.builtins.min_vararg",
    "numba.core.codegen.JITCodeLibrary.codegen",
    "numba.core.codegen.JITCodeLibrary.finalize",
    "numba.core.codegen.JITCodeLibrary.get_pointer_to_function",
    "numba.core.codegen.JITCodeLibrary._ensure_finalized",
    "numba.core.codegen.JITCodeLibrary._get_module_for_linking",
)


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
        given = self._values
        fastmath = given.get("fastmath")
        return (
            given.get("nrt"),
            given.get("error_model"),
            given.get("forceinline"),
            frozenset(fastmath.flags) if fastmath else None,
        )

    def __hash__(self):
        return hash(self.inherited())

    def __eq__(self, other):
        if isinstance(other, LoopFlags):
            return self is other or self.inherited() == other.inherited()
        return NotImplemented  # Numba's own functions keep theirs


# what Numba's own `min` and `max` of numbers call, with a tuple of them; a version of
# Numba without these functions compiles `min` and `max` its own way
MIN_MAX: dict[Any, Any] = {
    function: getattr(number_functions, name)
    for function, name in ((min, "min_vararg"), (max, "max_vararg"))
    if hasattr(number_functions, name)
}


@register_pass(mutates_CFG=False, analysis_only=False)
class InlineMinMax(FunctionPass):
    """Replaces `max(a, b)` by the instructions of Numba's `max`; `min` likewise."""

    _name = "inline_min_max"

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        found = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                call = getattr(statement, "value", None)
                if isinstance(call, ir.Expr) and call.op == "call":
                    added = self.without_call(state.func_ir, block.scope, call)
                    body += added
                    found = found or bool(added)
                body.append(statement)
            block.body = body
        return found

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
        if not self.state.flags.nrt and holds_array(returned):
            raise TypeError(
                f"{result.fndesc.qualname} returns {returned}: without reference "
                "counts a loop must not return arrays."
            )
        return result


def holds_array(numba_type) -> bool:
    """Whether a value of this type is an array or a tuple that holds one."""
    if isinstance(numba_type, types.BaseTuple):
        return any(holds_array(t) for t in numba_type)
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
