"""Times torch.distributed with its backend Gloo; see python_trial.py.

The ranks find each other through the folder BENCH_STORE. BENCH_RANK is this rank, and BENCH_RANKS the number of ranks.
"""

import os
import sys

sys.dont_write_bytecode = True

import torch  # noqa: E402
from python_trial import Library, main  # noqa: E402
from torch import distributed  # noqa: E402

rank, ranks = int(os.environ["BENCH_RANK"]), int(os.environ["BENCH_RANKS"])
# The ranks share the cores of one machine.
torch.set_num_threads(1)
store = distributed.FileStore(os.path.join(os.environ["BENCH_STORE"], "torch"), ranks)
distributed.init_process_group("gloo", store=store, rank=rank, world_size=ranks)


def agree(values):
    distributed.all_reduce(torch.from_numpy(values), op=distributed.ReduceOp.MAX)


def call_of(sender, receiver):
    target = torch.from_numpy(receiver)
    if sender is None:
        return lambda: distributed.all_reduce(target)
    source = torch.from_numpy(sender)

    def into_another():
        target.copy_(source)
        distributed.all_reduce(target)

    return into_another


main(Library(rank, ranks, agree, call_of))
distributed.destroy_process_group()
