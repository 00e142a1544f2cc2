"""Which changes are proposed, where a model is cut, how the answer is ranked and written: without TensorFlow."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from graphmem.answers.advise.advice import Advice, Tried
from graphmem.answers.advise.changes import Change, Untried
from graphmem.answers.advise.proposals import proposals
from graphmem.answers.advise.text import advice_table, as_json, as_markdown, as_text, write_advice
from graphmem.errors import TargetError
from graphmem.report.report import Report
from graphmem.target.advice.parts import Unit, best_counts, cut
from graphmem.target.advice.seen import Seen
from tests.example_reports import buffer, report_of

ADAM = Seen("keras", optimizer="Adam", accumulates=1, slots=2, head="out", frozen_next=3)


def report(needed: int = 0, limit: int | None = None, fails: bool = False, **changes: Any) -> Report:
    """A training step whose peak is one buffer of so many bytes."""
    allocator = {"name": "bfc", "limit_bytes": limit, "peak_in_use_bytes": needed, "failing_orders": 0}
    allocator["fails"] = {"op": "x"} if fails else None
    changes = {"step": "train", "batch": 32, "facts": {"framework": "keras 3", "dtype policy": "float32"}} | changes
    made = report_of([buffer(needed, (needed,), "activation", "forward", "a", "MatMul")], **changes)
    rest = made.needed_bytes - needed
    return replace(made, allocator=allocator, weight_bytes=made.weight_bytes - rest)


def kinds(found: list[Any], proposed: bool = True) -> list[str]:
    return [one.kind for one in found if isinstance(one, Change) is proposed]


# What is proposed.


def test_a_model_with_adam_gets_what_can_be_tried() -> None:
    found = proposals(report(), ADAM)
    assert kinds(found) == ["precision", "precision", "batch", "runtime", *["optimizer"] * 3, "freeze"]
    assert kinds(found, False) == ["loss"]
    names = {one.name for one in found}
    assert {"SGD instead of Adam", "half the batch, 2 steps accumulated", "train out only", "compiled by XLA"} <= names


def test_an_optimizer_with_less_state_gets_only_those_with_still_less() -> None:
    found = proposals(report(), replace(ADAM, optimizer="SGD", slots=1))
    assert [one.name for one in found if one.kind == "optimizer"] == ["Adafactor instead of SGD"]
    assert not [one for one in proposals(report(), replace(ADAM, optimizer="SGD", slots=0)) if one.kind == "optimizer"]


def test_a_scaled_optimizer_stays_scaled() -> None:
    found = proposals(report(), replace(ADAM, scaled=True))
    code = next(one.snippet for one in found if one.name == "Lion instead of Adam")
    assert code == "model.optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Lion(learning_rate=1e-4))\n"
    assert "LossScaleOptimizer(inner)" in next(one.snippet for one in found if one.kind == "batch")


def test_a_precision_that_is_there_already_is_not_proposed() -> None:
    facts = {"framework": "keras 3", "dtype policy": "mixed_float16"}
    found = [one for one in proposals(report(facts=facts), ADAM) if one.kind == "precision"]
    assert [one.name for one in found] == ["mixed_bfloat16"]


def test_what_cannot_be_tried_says_why() -> None:
    found = proposals(report(batch=1), None, why_no_rebuild="It is built.", why_no_batch="")
    reasons = {one.kind: one.reason for one in found if isinstance(one, Untried)}
    assert reasons == {"precision": "It is built.", "batch": "The batch is 1."}
    own = proposals(report(step="custom"), None, why_no_batch="No batch.")
    assert kinds(own, False) == ["batch", "optimizer", "freeze", "embedding", "loss"]
    assert "tf.function(train_step" in next(one.snippet for one in own if one.kind == "runtime")


def test_predicting_halves_the_batch_without_accumulation() -> None:
    found = proposals(report(step="predict"), ADAM)
    assert kinds(found) == ["precision", "precision", "batch", "runtime"]
    assert next(one for one in found if one.kind == "batch").batch == 16


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"from_logits": True}, "from logits already"),
        ({"activation": "relu"}, "no layer with the activation softmax"),
        ({"last_layer": ""}, "no layer"),
        ({"loss": "mse"}, "no single crossentropy"),
    ],
)
def test_the_loss_is_fused_only_where_it_can_be(changes: dict[str, Any], reason: str) -> None:
    model = replace(
        ADAM, loss="categorical_crossentropy", activation="softmax", last_layer="out", metrics=("accuracy",)
    )
    found = next(one for one in proposals(report(), model) if one.kind == "loss")
    assert isinstance(found, Change)
    assert "CategoricalCrossentropy(from_logits=True)" in found.snippet
    assert "metrics=['accuracy']" in found.snippet
    refused = next(one for one in proposals(report(), replace(model, **changes)) if one.kind == "loss")
    assert isinstance(refused, Untried)
    assert reason in refused.reason.replace("not made by a layer", "no layer")


def test_embeddings_are_updated_by_rows_where_that_is_known() -> None:
    model = replace(ADAM, embeddings=("emb",))

    def found(**changes: Any) -> Any:
        return next(one for one in proposals(report(), replace(model, **changes)) if one.kind == "embedding")

    assert "class LazyAdam(keras.optimizers.AdamW)" in found(optimizer="AdamW").snippet
    assert "AMSGrad" in found(amsgrad=True).reason
    assert "Nadam" in found(optimizer="Nadam").reason
    assert "legacy" in found(framework="tf_keras").reason
    assert not [one for one in proposals(report(), ADAM) if one.kind == "embedding"]


def test_xla_is_turned_off_where_it_is_on() -> None:
    one = next(one for one in proposals(report(runtime="xla"), ADAM) if one.kind == "runtime")
    assert (one.name, one.runtime) == ("without XLA", "graph")


# Where a model is cut.


def chain(*sizes: int, random: tuple[int, ...] = ()) -> list[Unit]:
    return [Unit(f"l{i}", (f"l{i - 1}",) if i else ("in",), True, i in random, n) for i, n in enumerate(sizes)]


def test_a_chain_is_cut_into_parts_of_the_same_size() -> None:
    parts = cut(chain(8, 8, 8, 8), frozenset({"l3"}), 2)
    assert [part.layers for part in parts] == [("l0", "l1"), ("l2", "l3")]
    assert [(part.inputs, part.outputs) for part in parts] == [(("in",), ("l1",)), (("l1",), ("l3",))]
    assert [part.again for part in parts] == [True, False]


def test_cuts_are_where_little_is_kept() -> None:
    parts = cut(chain(80, 1, 80, 80, 1, 80), frozenset({"l5"}), 3)
    assert [part.outputs for part in parts] == [("l1",), ("l4",), ("l5",)]


def test_what_draws_random_numbers_is_a_part_by_itself_that_is_not_run_again() -> None:
    parts = cut(chain(8, 8, 0, 8, 8, random=(2,)), frozenset({"l4"}), 2)
    assert [part.layers for part in parts if not part.again] == [("l2",), ("l3", "l4")]
    assert ("l2",) in [part.layers for part in parts]


def test_a_skip_is_kept_and_handed_on() -> None:
    units = [*chain(8, 8, 8), Unit("add", ("l2", "l0"), True, False, 8), Unit("end", ("add",), True, False, 8)]
    parts = cut(units, frozenset({"end"}), 2)
    assert len(parts) == 2
    (first, second) = parts
    assert set(second.inputs) <= {"in", *first.outputs}
    assert "end" in second.outputs


def test_no_cut_after_what_has_no_name() -> None:
    units = [
        Unit("l0", ("in",), True, False, 8),
        Unit("op", ("l0",), False, False, 8),
        Unit("l1", ("op",), True, False, 8),
    ]
    assert [part.layers for part in cut(units, frozenset({"l1"}), 3)] == [("l0",), ("op", "l1")]


def test_counts_to_try() -> None:
    assert best_counts(16) == (2, 4, 8)
    assert best_counts(1) == (2,)


# The answer.


def tried(name: str, base: int, needed: int, **of_report: Any) -> Tried:
    change = Change("optimizer", name, "Costs.", f"{name} = 1\n", True)
    return Tried(change, report(needed, **of_report), base - needed)


def advice(limit: int | None = 900, fits: bool = True) -> Advice:
    base = report(1000, limit=limit, fails=limit is not None)
    found = (
        tried("a", 1000, 800, limit=limit, fails=not fits), tried("b", 1000, 950, limit=limit, fails=True),
        tried("c", 1000, 1000, limit=limit, fails=True), tried("d", 1000, 1100, limit=limit, fails=True),
    )  # fmt: skip
    return Advice(base, found, (Untried("loss", "loss from logits", "The loss is none."),))


def test_what_helps_and_what_does_not() -> None:
    found = advice()
    assert [one.change.name for one in found.helps] == ["a", "b"]
    assert [one.change.name for one in found.idle] == ["c", "d"]
    assert [one.fits for one in found.tried] == [True, False, False, False]
    assert found.exit_code == 0
    assert advice(fits=False).exit_code == 1
    assert (advice(limit=None).exit_code, advice(limit=None).fits) == (0, None)


def test_text() -> None:
    text = as_text(advice(), width=70, snippets=1)
    assert "does not fit; with 1 of the changes by itself it does" in " ".join(text.split())
    assert "1  a\n     a = 1" in text
    assert "b = 1" not in text
    assert "Would not lower the peak\n  c: the same\n  d: 100 B more" in text
    assert "Not tried\n  loss from logits: the loss is none." in text
    assert max(map(len, text.splitlines())) <= 70


def test_table_and_markdown() -> None:
    rows = advice_table(advice()).rows
    assert [(row[2], row[3], row[4], row[6]) for row in rows][:2] == [("a", 800, 200, True), ("b", 950, 50, False)]
    text = as_markdown(advice())
    assert "```python\na = 1\n```" in text
    assert "c = 1" not in text
    assert "* loss from logits: the loss is none." in text


def test_json() -> None:
    data = json.loads(as_json(advice()))
    assert (data["schema"], data["peak_bytes"], data["budget_bytes"], data["fits"]) == (1, 1000, 900, False)
    assert data["changes"][0] == {
        "kind": "optimizer", "name": "a", "peak_bytes": 800, "saved_bytes": 200, "at_least": False, "fits": True,
        "batch": 32, "runtime": "graph", "costs": "Costs.", "snippet": "a = 1\n",
    }  # fmt: skip
    assert data["not_tried"] == [{"kind": "loss", "name": "loss from logits", "reason": "The loss is none."}]


def test_files(tmp_path: Path) -> None:
    paths = [str(tmp_path / f"a.{ending}") for ending in ("txt", "md", "csv", "json", "tex")]
    write_advice(advice(), paths)
    assert (tmp_path / "a.csv").read_text().startswith("number,kind,change,peak_bytes,saved_bytes,at_least,fits,costs,")
    assert json.loads((tmp_path / "a.json").read_text())["peak_bytes"] == 1000
    assert "toprule" in (tmp_path / "a.tex").read_text()
    with pytest.raises(TargetError, match="exists"):
        advice().render(paths[0])
