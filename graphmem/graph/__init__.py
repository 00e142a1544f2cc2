"""The step as data: ops, tensors, variables; saved, checked and shown without TensorFlow."""
