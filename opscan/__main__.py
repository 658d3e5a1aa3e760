"""`python -m opscan` and the `opscan` script."""

from opscan.cli import main

if __name__ == "__main__":
    main()
