"""Every op that Keras's layers, losses and optimizers make is known; `benchmarks/catalogue.py` has the long version."""

from __future__ import annotations

import pytest

from benchmarks.catalogue import Findings, catalogues, collect

pytestmark = pytest.mark.tf

BOTH_STEPS = ("BatchNormalization", "Conv2D", "Dense", "LSTM", "StringLookup")
"""Layers whose inference is traced too: TensorFlow fuses ops there."""


@pytest.fixture(scope="module")
def found() -> Findings:
    """The training steps of all layers, losses and optimizers, and inference of a few layers."""
    made = catalogues()
    layers = list(made["layers"].entries())
    losses = [entry for entry in made["losses"].entries() if entry.name[0].isupper()]
    findings = collect([*layers, *losses, *made["optimizers"].entries()], steps=1)
    fused = collect(entry for entry in layers if entry.name in BOTH_STEPS)
    for op_type, entries in fused.met.items():
        findings.met.setdefault(op_type, []).extend(entries)
    findings.failed.update(fused.failed)
    return findings


def test_no_op_is_unknown(found: Findings) -> None:
    assert found.unknown() == {}


def test_everything_was_traced(found: Findings) -> None:
    assert found.failed == {}
    assert found.entries["keras.layers"] > 150
    assert found.entries["keras.losses"] > 20
    assert found.entries["keras.optimizers"] > 25


def test_typical_ops_were_met(found: Findings) -> None:
    training = {
        "MatMul",
        "Conv3DBackpropFilterV2",
        "TensorListSetItem",
        "SparseCross",
        "RFFT",
        "ImageProjectiveTransformV3",
    }
    assert training - found.met.keys() == set()
    inference = {"_FusedMatMul", "_FusedConv2D", "LookupTableFindV2"}
    assert inference - found.met.keys() == set()


@pytest.mark.parametrize("name", ["layers", "ops", "losses", "metrics", "optimizers", "applications"])
def test_every_public_name_has_an_entry_or_a_reason(name: str) -> None:
    assert catalogues()[name].missing() == []


def test_what_xla_compiles_is_known(found: Findings) -> None:
    """Convolutions in groups run through XLA on a CPU."""
    assert set(found.met["XlaLaunch"]) == {"keras.layers.Conv2D (groups)"}
    assert found.met.keys() & {"PartitionedCall", "StatefulPartitionedCall"} == set()
