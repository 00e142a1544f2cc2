"""`python -m graphmem`."""

from graphmem.cli.main import entry

if __name__ == "__main__":
    entry()
