"""Times mpi4py; see python_trial.py."""

import sys

sys.dont_write_bytecode = True

from mpi4py import MPI  # noqa: E402
from python_trial import Library, main  # noqa: E402

world = MPI.COMM_WORLD


def agree(values):
    world.Allreduce(MPI.IN_PLACE, values, MPI.MAX)


def call_of(sender, receiver):
    source = MPI.IN_PLACE if sender is None else sender
    return lambda: world.Allreduce(source, receiver)


main(Library(world.Get_rank(), world.Get_size(), agree, call_of))
