"""``python -m crawler`` is ``siteatlas``."""

from crawler.cli import main

if __name__ == "__main__":
    main()
