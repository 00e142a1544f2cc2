"""Which changes may lower the peak of a step, from what was seen of its model; analysing them tells whether they do."""

from __future__ import annotations

from collections.abc import Iterator

from graphmem.answers.advise.changes import Change, Proposal, Untried
from graphmem.answers.advise.rows import LAZY_ADAM
from graphmem.report.report import Report
from graphmem.target.advice.seen import Seen

OPTIMIZERS = {
    "SGD": ("SGD(learning_rate=0.01)", 0, "Keeps no state; learns more slowly, with a learning rate of its own."),
    "Adafactor": ("Adafactor()", 0.1, "Keeps sums of rows and columns instead of moments; needs tuning anew."),
    "Lion": ("Lion(learning_rate=1e-4)", 1, "Keeps one state for each weight; wants a tenth of the learning rate."),
}
"""Class -> how it is made, its states for each weight, what it costs."""

POLICIES = {
    "mixed_float16": "Half the bytes of most activations; float16 overflows, so that losses are scaled.",
    "mixed_bfloat16": "Half the bytes of most activations; fewer digits, and GPUs older than Ampere are slow with it.",
}

LOSSES = {
    "sparse_categorical_crossentropy": ("SparseCategoricalCrossentropy", "softmax"),
    "sparsecategoricalcrossentropy": ("SparseCategoricalCrossentropy", "softmax"),
    "categorical_crossentropy": ("CategoricalCrossentropy", "softmax"),
    "categoricalcrossentropy": ("CategoricalCrossentropy", "softmax"),
    "binary_crossentropy": ("BinaryCrossentropy", "sigmoid"),
    "binarycrossentropy": ("BinaryCrossentropy", "sigmoid"),
}
"""Name of a loss -> the class that takes logits, and the activation that it makes unnecessary."""

NO_MODEL = "The step is a function of its own, which graphmem does not rewrite: change it, and see `graphmem diff`."
NO_OPTIMIZER = "The step has no single Keras optimizer that could be replaced."
OF_A_FUNCTION = {
    "optimizer": "a smaller optimizer", "freeze": "freezing", "embedding": "sparse embedding updates",
    "loss": "loss from logits",
}  # fmt: skip
"""What is not tried on a step that is a function of the user's own."""


def proposals(
    report: Report, model: Seen | None, *, why_no_rebuild: str = "", why_no_batch: str = ""
) -> list[Proposal]:
    """What is to be tried, and what cannot be.

    Args:
        report: of the step as it is.
        model: of a step of Keras's; `None` for one of the user's own.
        why_no_rebuild: why the target cannot be built under another precision; "": it can.
        why_no_batch: why it cannot be had with another batch; "": it can.
    """
    found = [*_precision(report, why_no_rebuild), *_batch(report, model, why_no_batch), *_runtime(report)]
    if report.step == "train" and model is not None:
        found += [*_optimizers(model), *_freeze(model), *_embedding(model), *_loss(model)]
    elif report.step == "custom":
        found += [Untried(kind, name, NO_MODEL) for kind, name in OF_A_FUNCTION.items()]
    return found


def _optimizers(model: Seen) -> Iterator[Proposal]:
    if not model.optimizer:
        yield Untried("optimizer", "a smaller optimizer", NO_OPTIMIZER)
        return
    for name, (made, slots, costs) in OPTIMIZERS.items():
        if name == model.optimizer or slots >= model.slots:
            continue
        made = f"keras.optimizers.{made}"
        made = f"keras.optimizers.LossScaleOptimizer({made})" if model.scaled else made
        yield Change("optimizer", f"{name} instead of {model.optimizer}", costs, f"model.optimizer = {made}\n", True)


def _precision(report: Report, why_not: str) -> Iterator[Proposal]:
    built = report.facts.get("dtype policy", "")
    for policy, costs in POLICIES.items():
        if policy in built:
            continue
        if why_not:
            yield Untried("precision", policy, why_not)
        else:
            code = f'keras.config.set_dtype_policy("{policy}")  # before the model is built\n'
            if report.facts.get("framework", "").startswith("tf_keras"):
                code = f'tf_keras.mixed_precision.set_global_policy("{policy}")  # before the model is built\n'
            yield Change("precision", policy, costs, code, policy=policy)


def _batch(report: Report, model: Seen | None, why_not: str) -> Iterator[Proposal]:
    batch, name = report.batch, "half the batch"
    if why_not or not batch or batch < 2:
        known = f"The batch is {batch}." if batch else "The step has no batch that is known."
        yield Untried("batch", name, why_not or known)
        return
    half = batch // 2
    if report.step in ("test", "predict"):
        costs = "More steps; the results are the same."
        call = {"test": "evaluate", "predict": "predict"}[report.step]
        yield Change("batch", name, costs, f"model.{call}(x, batch_size={half})\n", batch=half)
    elif model is None or model.accumulates is None or not model.optimizer:
        costs = "Gradients are of fewer samples: adapt the learning rate, or add up those of two steps yourself."
        yield Change("batch", name, costs, f"batch_size = {half}  # of the dataset, or of fit()\n", batch=half)
    else:
        steps = 2 * model.accumulates
        sees = f"; batch normalization sees {half} samples" if model.normalizes_batch else ""
        costs = f"An update every {steps} steps, and a sum of gradients for each weight{sees}."
        code = _accumulating(model, steps, half)
        yield Change("batch", f"{name}, {steps} steps accumulated", costs, code, True, half)


def _accumulating(model: Seen, steps: int, half: int) -> str:
    setting = f'"gradient_accumulation_steps": {steps}'
    if not model.scaled:
        return (
            "config = model.optimizer.get_config()\n"
            f"model.optimizer = type(model.optimizer).from_config({{**config, {setting}}})\n"
            f"# and batches of {half}: fit(…, batch_size={half})\n"
        )
    return (
        "inner = model.optimizer.inner_optimizer\n"
        f"inner = type(inner).from_config({{**inner.get_config(), {setting}}})\n"
        "model.optimizer = keras.optimizers.LossScaleOptimizer(inner)\n"
        f"# and batches of {half}: fit(…, batch_size={half})\n"
    )


def _freeze(model: Seen) -> Iterator[Proposal]:
    name = f"train {model.head} only" if model.head else "freezing"
    if not model.head or not model.frozen_next:
        yield Untried("freeze", name, "No other layer than the last has weights that train.")
        return
    code = (
        "for place, layer in enumerate(model.layers):\n"
        f"    layer.trainable = place == {model.head_place}  # {model.head}\n"
        "model.optimizer = type(model.optimizer).from_config(model.optimizer.get_config())\n"
    )
    if not model.optimizer:
        yield Untried("freeze", name, NO_OPTIMIZER)
        return
    yield Change("freeze", name, "The other layers no longer learn: for fine-tuning what was trained.", code, True)


def _embedding(model: Seen) -> Iterator[Proposal]:
    name = "sparse embedding updates"
    if not model.embeddings:
        return
    if model.framework != "keras":
        yield Untried("embedding", name, "The optimizers of legacy Keras update only the rows that were looked up.")
    elif model.optimizer not in ("Adam", "AdamW") or model.amsgrad or model.scaled:
        what = "AMSGrad" if model.amsgrad else model.optimizer or "several optimizers"
        scaled = " and scaled losses" if model.scaled else ""
        yield Untried("embedding", name, f"Known for Adam and AdamW; the model is trained with {what}{scaled}.")
    else:
        costs = "Moments of rows that a batch does not look up stay as they are, instead of fading."
        code = LAZY_ADAM.replace("optimizers.Adam", f"optimizers.{model.optimizer}")
        yield Change("embedding", name, costs, code, True)


def _loss(model: Seen) -> Iterator[Proposal]:
    name = "loss from logits"
    maker, activation = LOSSES.get(model.loss, ("", ""))
    if not maker:
        yield Untried("loss", name, "The model has no single crossentropy as its loss.")
    elif model.from_logits:
        yield Untried("loss", name, "The loss is computed from logits already.")
    elif model.activation != activation or not model.last_layer:
        yield Untried("loss", name, f"The output is not made by a layer with the activation {activation}.")
    else:
        metrics = f", metrics={list(model.metrics)}" if model.metrics else ""
        code = (
            f"model.layers[-1].activation = keras.activations.linear  # {model.last_layer}\n"
            f"loss = keras.losses.{maker}(from_logits=True)\n"
            f"model.compile(optimizer=model.optimizer, loss=loss{metrics})\n"
        )
        yield Change("loss", name, f"predict() gives logits: apply {activation} to them where it matters.", code, True)


def _runtime(report: Report) -> Iterator[Proposal]:
    compiled = report.runtime == "xla"
    code = f"model.jit_compile = {not compiled}  # or compile(jit_compile={not compiled})\n"
    if report.step == "custom":
        code = f"train_step = tf.function(train_step, jit_compile={not compiled})\n"
    if compiled:
        yield Change("runtime", "without XLA", "Ops run one by one: slower on most GPUs.", code, runtime="graph")
    else:
        costs = "Compiles at the first step, and again for each new shape."
        yield Change("runtime", "compiled by XLA", costs, code, runtime="xla")
