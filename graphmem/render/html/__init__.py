"""The report as one HTML file that needs nothing else: `page.py` puts it together, `js/` makes it move."""
