"""Run one real step in a process of its own, and compare what TensorFlow's allocator did with the prediction."""
