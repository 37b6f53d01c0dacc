"""RestrictedPython as its documentation tells a careful user to set it up.

Its own builtins, guards and write guard; builtins that it has no opinion on are wrapped so that
they iterate through its guard (its changes for 9.0 ask for that); imports only from an allow-list,
by a hook like the one on its page "Security considerations". With no modules allowed, nothing can
be imported, which is what it comes with.
"""

import operator
import sys
from collections.abc import Callable, Collection, Mapping

from RestrictedPython import (
    PrintCollector,
    compile_restricted,
    limited_builtins,
    safe_builtins,
    utility_builtins,
)
from RestrictedPython.Eval import default_guarded_getitem, default_guarded_getiter
from RestrictedPython.Guards import (
    full_write_guard,
    guarded_iter_unpack_sequence,
    guarded_unpack_sequence,
    safer_getattr,
)

IN_PLACE = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}

ITERATING = (all, any, dict, enumerate, max, min, sorted, sum, zip)


def run_restricted(source: str, names: Mapping[str, object], modules: Collection[str]) -> object:
    """Compile and run a plan in a namespace of its own; the value of its `solve()`.

    Raises whatever the policy or the plan raises.
    """
    namespace = {**_guards(), "__builtins__": _builtins(modules), **names}
    exec(compile_restricted(source, "<plan>", "exec"), namespace)  # noqa: S102 - what it is for
    return namespace["solve"]()


def _guards() -> dict[str, object]:
    return {
        "__name__": "plan",
        "__metaclass__": type,
        "_getattr_": safer_getattr,
        "_getitem_": default_guarded_getitem,
        "_getiter_": default_guarded_getiter,
        "_iter_unpack_sequence_": guarded_iter_unpack_sequence,
        "_unpack_sequence_": guarded_unpack_sequence,
        "_write_": full_write_guard,
        "_print_": _Printed,
        "_apply_": lambda function, *args, **kwargs: function(*args, **kwargs),
        "_inplacevar_": lambda name, old, change: IN_PLACE[name](old, change),
    }


class _Printed(PrintCollector):
    """What plans print goes to stdout, not only to those who ask for it."""

    def write(self, text: str) -> None:
        sys.stdout.write(text)
        super().write(text)


def _builtins(modules: Collection[str]) -> dict[str, object]:
    def guarded_import(
        name: str,
        globals_: object = None,
        locals_: object = None,
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> object:
        """Allow the listed modules and nothing below or beside them."""
        if level != 0 or name not in modules:
            raise ImportError(f"{name!r} may not be imported")
        return __import__(name, None, None, fromlist, level)

    wrapped = {function.__name__: _through_guard(function) for function in ITERATING}
    known = {**safe_builtins, **limited_builtins, **utility_builtins, **wrapped}
    return {**known, "getattr": safer_getattr, "__import__": guarded_import}


def _through_guard(function: Callable[..., object]) -> Callable[..., object]:
    """A builtin that iterates over its first argument through the guard."""

    def guarded(*args: object, **kwargs: object) -> object:
        guarded_args = [default_guarded_getiter(argument) for argument in args]
        return function(*guarded_args, **kwargs)

    return guarded
