"""Explore the model and say how large it is: `python -m tests.model [--wider]`."""

import argparse
import gc
import sys
import time

from tests.model.extents import EXTENTS, WIDER
from tests.model.space import Broken


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.model", description=__doc__)
    parser.add_argument("--wider", action="store_true", help="more phases and more trouble; takes half an hour")
    given = parser.parse_args()
    gc.disable()  # nearly all that is made is kept
    graphs = states = 0
    began = time.monotonic()
    for extent in WIDER if given.wider else EXTENTS:
        found = 0
        for graph in extent.graphs:
            try:
                found += extent.space(graph).explore()
            except Broken as broken:
                print(broken)
                return 1
        print(f"{len(extent.graphs):3} graphs of {extent.entries} entries: {found:8} states", flush=True)
        graphs, states = graphs + len(extent.graphs), states + found
    print(f"{graphs:3} graphs: {states} states in {time.monotonic() - began:.0f} s; every invariant holds in each")
    return 0


if __name__ == "__main__":
    sys.exit(main())
