"""From a step to the graph that TensorFlow would execute."""
