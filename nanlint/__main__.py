"""`python -m nanlint`."""

from nanlint.cli import entry

if __name__ == "__main__":
    entry()
