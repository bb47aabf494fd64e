"""Sizes that speed rests on, or that compiled code relies on, and the stubs of what is compiled."""

import ast
import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import fastenv
from fastenv.paths import as_compiled
from fastenv.prospector import state as prospector
from fastenv.skullking import state as skullking

pytestmark = pytest.mark.parity


def test_what_rules_read_of_a_row_is_at_most_512_bytes():
    fields = skullking.STATE_DTYPE.fields
    last = list(fields)[-3:]  # for people, and for drawing worlds
    assert last == ["last_card", "last_seat", "voids"]
    assert fields["last_card"][1] <= 512
    assert skullking.STATE_DTYPE.itemsize <= 536


@pytest.mark.parametrize("state", [skullking, prospector], ids=lambda state: state.__name__)
def test_rows_are_a_whole_number_of_words(state):
    assert state.STATE_DTYPE.itemsize % 8 == 0


@pytest.mark.parametrize("module", ["_core", "kernels"])
@pytest.mark.parametrize("env_id", ["SkullKingWorker-v0", "Prospector-v0"])
def test_compiled_functions_say_for_which_records_they_were_made(env_id, module):
    game = fastenv.make_game(env_id)
    pytest.importorskip(game.spec.core_module if module == "_core" else game.spec.kernel_module)
    compiled = as_compiled(game, game.core() if module == "_core" else game.kernels())
    for name in ("state_size", "shared_size"):
        size = getattr(compiled, name)
        assert size > 0
        with pytest.raises(fastenv.ConfigError, match=f"{name}: the compiled functions have"):
            as_compiled(game, replace(compiled, **{name: size - 8}))


# -- the stubs -------------------------------------------------------------------------------------


def stated_in(body):
    """Return the names in a stub: classes with what is in them, functions with their parameters."""
    found = {}
    for node in body:
        if isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
        elif isinstance(node, ast.ClassDef):
            found[node.name] = stated_in(node.body)
        elif isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            is_property = [ast.unparse(d) for d in node.decorator_list] == ["property"]
            found[node.name] = None if is_property else [a.arg for a in node.args.args]
    return found


def found_in(things, module):
    """Return the same of what a module, or a class in it, has and did not import."""
    found = {}
    for name, thing in things.items():
        if name.startswith("__") or inspect.ismodule(thing):
            continue
        if isinstance(thing, type) and thing.__module__ == module:
            found[name] = found_in(vars(thing), module)
        elif callable(thing):
            found[name] = [*inspect.signature(thing).parameters]
        else:
            found[name] = None
    return found


@pytest.mark.parametrize(
    "name", ["fastenv._batch", "fastenv.skullking._core", "fastenv.prospector._core"]
)
def test_the_stub_states_what_the_module_has(name):
    module = pytest.importorskip(name)
    stub = Path(module.__file__).with_name(f"{name.rpartition('.')[2]}.pyi")
    stated = stated_in(ast.parse(stub.read_text(encoding="utf-8")).body)
    assert stated == found_in(vars(module), name)
