"""What can be changed of a Keras model to lower its peak, and the step that it has after a change."""
