"""Adam that touches only the rows of an embedding that a batch looks up, as a snippet for Keras 3.

Keras's Adam turns the sparse gradient of an embedding into a dense one, of the table's size. Sizes in the snippet are
static: rows that come several times are added up in the place of the first.
"""

LAZY_ADAM = '''\
class LazyAdam(keras.optimizers.Adam):
    """Reads and writes only the rows of an embedding that the batch looks up."""

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices):
            return super().update_step(gradient, variable, learning_rate)
        order = tf.argsort(gradient.indices)
        rows = tf.gather(gradient.indices, order)
        first = tf.concat([[True], rows[1:] != rows[:-1]], 0)
        place = tf.cumsum(tf.cast(first, tf.int32)) - 1
        values = tf.gather(gradient.values, order)
        g = tf.gather(tf.math.unsorted_segment_sum(values, place, tf.shape(rows)[0]), place)
        once = tf.cast(first, g.dtype)[:, None]

        index = self._get_variable_index(variable)
        m, v = self._momentums[index].value, self._velocities[index].value
        dm = (g - tf.gather(m, rows)) * (1 - self.beta_1)
        dv = (g * g - tf.gather(v, rows)) * (1 - self.beta_2)
        m.scatter_add(tf.IndexedSlices(dm * once, rows))
        v.scatter_add(tf.IndexedSlices(dv * once, rows))
        step = tf.cast(self.iterations + 1, g.dtype)
        alpha = tf.cast(learning_rate, g.dtype) * tf.sqrt(1 - self.beta_2**step) / (1 - self.beta_1**step)
        change = alpha * tf.gather(m, rows) / (tf.sqrt(tf.gather(v, rows)) + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(change * once, rows))


model.optimizer = LazyAdam.from_config(model.optimizer.get_config())
'''
