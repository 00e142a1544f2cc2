"""XLA: its compilers, driven in processes of their own on any machine, and what they say of the memory of a step."""
