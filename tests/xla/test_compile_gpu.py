"""The real XLA compiler for GPUs, on a machine without one."""

from __future__ import annotations

import ctypes
import gzip
import importlib.metadata
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from graphmem.errors import CompilerError, CompilerMissing
from graphmem.xla import compiler, pjrt
from graphmem.xla.cards import all_gpus, find_gpu
from graphmem.xla.compiler import PLENTY_BYTES, compile_gpu
from graphmem.xla.gpus import Gpu
from graphmem.xla.plugin import PACKAGE, PINNED, find_plugin
from tests.xla.allocations import temp_bytes

DATA = Path(__file__).parent / "data"
ONE_OF_EACH = {card.capability: card for card in all_gpus()}


def installed() -> bool:
    try:
        return bool(find_plugin())
    except CompilerMissing:
        return False


needs_compiler = pytest.mark.skipif(not installed(), reason="needs the optional compiler: graphmem[xla-gpu]")


def module(name: str) -> bytes:
    return gzip.decompress((DATA / f"{name}.module.pb.gz").read_bytes())


@needs_compiler
def test_compiling_gives_the_scheduled_program_with_its_buffers():
    told = []
    compiled = compile_gpu(module("mlp"), find_gpu("a100"), progress=told.append)
    expected = gzip.decompress((DATA / "mlp_gpu.hlo.pb.gz").read_bytes())
    assert temp_bytes(compiled.proto) == temp_bytes(expected) == 60705816
    assert (compiled.platform, compiled.target) == ("gpu", "NVIDIA A100-SXM4-40GB")
    assert compiled.compiler == f"{PACKAGE} {importlib.metadata.version(PACKAGE)}"
    assert compiled.flags[-1] == "--xla_gpu_autotune_level=0"
    assert compiled.device_memory_bytes == PLENTY_BYTES
    assert 0 < compiled.seconds < 60


@needs_compiler
@pytest.mark.parametrize("card", ONE_OF_EACH.values(), ids=lambda card: card.architecture)
def test_xla_takes_the_description_of_a_card_of_every_capability(card):
    assert temp_bytes(compile_gpu(module("mlp"), card).proto) >= 60705816 - (1 << 20)


@needs_compiler
def test_with_too_little_memory_xla_recomputes_to_save_some():
    plenty = compile_gpu(module("lstm"), find_gpu("a100"))
    short = compile_gpu(module("lstm"), find_gpu("a100"), memory=20 << 20)
    assert short.device_memory_bytes == 20 << 20
    assert temp_bytes(short.proto) < temp_bytes(plenty.proto)


@needs_compiler
def test_the_users_flags_reach_xla_and_are_recorded(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_gpu_enable_triton_gemm=false")
    compiled = compile_gpu(module("mlp"), find_gpu("a100"))
    assert compiled.flags == ("--xla_gpu_enable_triton_gemm=false", "--xla_gpu_autotune_level=0")
    assert temp_bytes(compiled.proto) > 60705816  # cuBLAS has a workspace


@needs_compiler
def test_a_folder_for_temporary_files_may_have_blanks_in_its_name(monkeypatch, tmp_path):
    folder = tmp_path / "my files"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    assert temp_bytes(compile_gpu(module("mlp"), find_gpu("a100")).proto) == 60705816
    assert list(folder.iterdir()) == []


@needs_compiler
def test_a_flag_that_xla_does_not_know_is_told():
    with pytest.raises(CompilerError, match="XLA does not know --xla_nonsense=1, which XLA_FLAGS gives it"):
        compile_gpu(module("mlp"), find_gpu("a100"), flags=("--xla_nonsense=1",))


@needs_compiler
def test_what_xla_refuses_is_told_in_a_sentence(monkeypatch):
    with pytest.raises(CompilerError, match=r"^XLA cannot compile the step for this GPU: .*HloModuleProto\.$"):
        compile_gpu(b"garbage", find_gpu("a100"))
    monkeypatch.setattr(Gpu, "target_config", lambda self, memory=None: "nonsense")
    with pytest.raises(CompilerError, match=r"^XLA does not take this description of the GPU: Failed to parse"):
        compile_gpu(module("mlp"), find_gpu("a100"))


@needs_compiler
def test_the_compiler_is_stopped_when_time_is_up():
    with pytest.raises(CompilerError, match=r"not done compiling the step after 0\.1 s"):
        compile_gpu(module("lstm"), find_gpu("a100"), timeout=0.1)


def test_a_missing_compiler_is_told_with_the_command_that_installs_it(monkeypatch):
    def missing(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", missing)
    with pytest.raises(
        CompilerMissing, match=r"is not installed; get it with pip install 'graphmem\[xla-gpu\]'"
    ) as raised:
        compile_gpu(b"", find_gpu("a100"))
    assert raised.value.exit_code == 2


def test_the_pinned_version_is_that_of_the_extra():
    requirements = importlib.metadata.requires("graphmem") or []
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'"{PACKAGE}=={PINNED};' in text
    assert requirements  # graphmem is installed


class _FakeLibrary:
    """A plugin with an API of some version and size."""

    def __init__(self, minor: int, functions: int) -> None:
        size = ctypes.sizeof(pjrt._Api) + 8 * functions
        self.memory = ctypes.create_string_buffer(size)
        api = pjrt._Api.from_buffer(self.memory)
        api.struct_size, api.version.major, api.version.minor = size, 0, minor
        self.GetPjrtApi = lambda: ctypes.addressof(self.memory)
        self.GetPjrtApi.restype = None


@pytest.mark.parametrize(("minor", "functions"), [(40, 120), (96, 50)])
def test_an_api_that_is_too_old_is_never_called(monkeypatch, minor, functions):
    fake = _FakeLibrary(minor, functions)
    monkeypatch.setattr(ctypes, "CDLL", lambda path, mode: fake)
    with pytest.raises(pjrt.Failed, match=rf"speaks PJRT API 0\.{minor}, graphmem 0\.90 or later; install its version"):
        pjrt.Plugin("plugin.so")


def test_what_is_no_plugin_is_told(tmp_path):
    path = tmp_path / "xla_cuda_plugin.so"
    path.write_text("no library")
    with pytest.raises(pjrt.Failed, match="the XLA compiler cannot be loaded: "):
        pjrt.Plugin(os.fspath(path))
    with pytest.raises(pjrt.Failed, match="GetPjrtApi"):
        pjrt.Plugin("libc.so.6")


def test_a_matrix_product_that_triton_cannot_tile_goes_to_cublas(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def program(module: str, files: object, flags: tuple[str, ...], written: str, **how: object) -> tuple[bytes, float]:
        asked.append(flags)
        if "--xla_gpu_enable_triton_gemm=false" not in flags:
            raise CompilerError("XLA cannot compile the step for this GPU: Couldn't find output tile sizes.")
        return b"proto", 1.0

    monkeypatch.setattr(compiler, "scheduled_program", program)
    monkeypatch.setattr(compiler, "find_plugin", lambda: SimpleNamespace(library="x.so", version="0"))
    compiled = compiler.compile_gpu(b"", find_gpu("A100"))
    assert compiled.flags == asked[-1]
    assert len(asked) == 2
