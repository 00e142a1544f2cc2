"""What the user's process keeps while a target is built and traced in it: Keras' global state, seeds, settings."""

from __future__ import annotations

import collections
import copy
import os
import random
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any


@contextmanager
def process_state_kept() -> Iterator[None]:
    """Whatever the block changes of these is as before afterwards: Keras' global state (names, policy, seeds) and
    settings, random states, TensorFlow's seed, whether functions run eagerly, the environment and the working folder.

    Within the block Keras counts its names from the start, so that a model has the same names in any process.
    """
    with ExitStack() as stack:
        stack.enter_context(_random_states())
        stack.enter_context(_tensorflow())
        stack.enter_context(_keras())
        if "tf_keras" in sys.modules or os.environ.get("TF_USE_LEGACY_KERAS") == "1":
            stack.enter_context(_legacy_keras())
        stack.enter_context(_environment())
        yield


@contextmanager
def _random_states() -> Iterator[None]:
    import numpy as np

    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)


@contextmanager
def _tensorflow() -> Iterator[None]:
    import tensorflow as tf
    from tensorflow.python.eager import context

    eager, by_op = context.context(), tf.config.functions_run_eagerly()
    seed, generator = eager._seed, vars(eager).get("_rng")
    state = generator.getstate() if generator else None
    try:
        yield
    finally:
        if tf.config.functions_run_eagerly() != by_op:
            tf.config.run_functions_eagerly(by_op)
        eager._seed = seed  # not by set_seed(), which starts the sequence anew
        if generator:
            generator.setstate(state)
            eager._rng = generator


@contextmanager
def _keras() -> Iterator[None]:
    """Keras 3 keeps its state in one thread-local object, which `clear_session()` replaces."""
    if "keras" not in sys.modules:  # nothing to keep
        try:
            yield
        finally:
            if "keras" in sys.modules:
                sys.modules["keras"].src.backend.common.global_state.clear_session(free_memory=False)
        return
    import keras
    from keras.src.backend.common import global_state

    tracker = global_state.GLOBAL_STATE_TRACKER
    before = {
        name: (value, copy.copy(value) if isinstance(value, (list, dict)) else None)
        for name, value in vars(tracker).items()
    }
    settings = (keras.config.floatx(), keras.config.epsilon(), keras.config.image_data_format())
    global_state.set_global_attribute("object_name_uids", collections.defaultdict(int))
    try:
        yield
    finally:
        global_state.GLOBAL_STATE_TRACKER = tracker
        vars(tracker).clear()
        vars(tracker).update({name: _refilled(value, content) for name, (value, content) in before.items()})
        keras.config.set_floatx(settings[0])
        keras.config.set_epsilon(settings[1])
        keras.config.set_image_data_format(settings[2])


def _refilled(value: Any, content: Any) -> Any:
    """A list or dict with what it held before; other values are never changed in place."""
    if isinstance(value, list):
        value[:] = content
    elif isinstance(value, dict):
        value.clear()
        value.update(content)
    return value


@contextmanager
def _legacy_keras() -> Iterator[None]:
    import tf_keras

    backend = tf_keras.src.backend
    policy, floatx = tf_keras.mixed_precision.global_policy(), backend.floatx()
    names, backend.PER_GRAPH_OBJECT_NAME_UIDS = backend.PER_GRAPH_OBJECT_NAME_UIDS, _fresh(backend)
    try:
        yield
    finally:
        backend.PER_GRAPH_OBJECT_NAME_UIDS = names
        backend.set_floatx(floatx)
        tf_keras.mixed_precision.set_global_policy(policy)


def _fresh(backend: Any) -> Any:
    return type(backend.PER_GRAPH_OBJECT_NAME_UIDS)()


@contextmanager
def _environment() -> Iterator[None]:
    variables, folder = dict(os.environ), os.getcwd()
    try:
        yield
    finally:
        if dict(os.environ) != variables:
            os.environ.clear()
            os.environ.update(variables)
        if os.getcwd() != folder:
            os.chdir(folder)
