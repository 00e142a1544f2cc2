"""A report as text, JSON, HTML and pictures: renderers only read it."""
