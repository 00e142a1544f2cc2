"""Errors of the user's code in one sentence, with the user's lines only."""

import ctypes
import os
import sys

import pytest

from graphmem.errors import TargetError, UserCodeError
from graphmem.target.user_code import is_users, stdout_to_stderr, user_errors


@pytest.fixture
def raised(tmp_path):
    """The error that running a source as a user's file ends in."""

    def raised(source):
        path = tmp_path / "model.py"
        path.write_text(source)
        with pytest.raises(UserCodeError) as caught, user_errors({str(path)}):
            exec(compile(source, str(path), "exec"), {"__name__": "model"})
        return caught.value

    return raised


def test_an_exception_names_the_innermost_of_the_users_lines(raised, tmp_path):
    error = raised("import json\ndef load():\n    return json.loads('{')\nload()\n")
    assert str(error).startswith("model.py line 3 raised JSONDecodeError: Expecting property name")
    assert error.excerpt.splitlines()[:4] == [
        f'  File "{tmp_path}/model.py", line 4, in <module>',
        "    load()",
        f'  File "{tmp_path}/model.py", line 3, in load',
        "    return json.loads('{')",
    ]
    assert "decoder.py" not in error.excerpt
    assert error.exit_code == 3


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("raise ValueError('bad thing\\nand more')", "model.py line 1 raised ValueError: bad thing."),
        ("assert False", "model.py line 1 raised AssertionError."),
        ("raise ValueError('Why?')", "model.py line 1 raised ValueError: Why?"),
        (
            "raise ValueError('Exception encountered when calling Dense.call().\\n\\n\\x1b[1mbad shape\\x1b[0m\\n')",
            "model.py line 1 raised ValueError: bad shape.",
        ),
        ("\nimport foo_bar.baz", "model.py line 2 needs the package 'foo_bar', which is not installed here."),
        ("x = 1\ndef f(:\n", "model.py line 2 column 7 is not valid Python: invalid syntax."),
        (
            "import sys\nsys.exit(3)",
            "model.py called sys.exit(3) at line 2 before any model was trained or found; if it needs arguments, give "
            "them after --.",
        ),
        ("raise SystemExit", "model.py called sys.exit() at line 1 before any model was trained or found."),
    ],
)
def test_sentences(raised, source, sentence):
    assert str(raised(source)) == sentence


def test_a_syntax_error_shows_the_line_and_a_caret(raised):
    lines = raised("def f(:\n").excerpt.splitlines()
    assert lines[1].strip() == "def f(:"
    assert lines[2].strip() == "^"


def test_a_line_that_tensorflow_reports_from_its_tracing_is_the_users(tmp_path):
    path = str(tmp_path / "model.py")
    said = f'in user code:\n\n    File "{path}", line 7, in call  *\n        x\n\n    ValueError: no such shape\n'
    with pytest.raises(UserCodeError) as caught, user_errors({path}):
        raise ValueError(said)
    assert str(caught.value) == "model.py line 7 raised ValueError: no such shape."


def test_what_no_line_of_the_users_led_to_passes_through(tmp_path):
    with pytest.raises(ZeroDivisionError), user_errors({str(tmp_path / "model.py")}):
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), user_errors({str(tmp_path / "model.py")}):
        raise KeyboardInterrupt
    with pytest.raises(TargetError, match=r"^mine$"), user_errors({str(tmp_path / "model.py")}):
        raise TargetError("mine")


def test_whose_a_file_is(tmp_path):
    files = {str(tmp_path / "model.py")}
    assert is_users(str(tmp_path / "model.py"), files)
    assert is_users(str(tmp_path / "nets" / "unet.py"), files)
    assert not is_users(str(tmp_path / "venv/lib/python3.11/site-packages/keras/layers.py"), files)
    assert not is_users(str(tmp_path / "__autograph_generated_file1.py"), files)
    assert not is_users(os.__file__, files)
    assert not is_users(sys.modules[user_errors.__module__].__file__ or "", {os.path.abspath("model.py")})


def test_stdout_is_moved_for_python_and_for_native_code(capfd):
    with stdout_to_stderr():
        print("from Python")
        os.write(1, b"from native code\n")
        ctypes.CDLL(None).puts(b"from C's buffer")
    print("after")
    out, err = capfd.readouterr()
    assert out == "after\n"
    assert sorted(err.splitlines()) == ["from C's buffer", "from Python", "from native code"]
