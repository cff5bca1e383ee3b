"""A test double of the little of PyTorch that torch_calls.py calls: no tensor, no GPU, but NCCL's file, which the double loads."""

import ctypes
import os

from . import cuda, distributed  # noqa: F401

__version__ = "0.0 (test double)"
float32 = "float32"
ctypes.CDLL(os.environ["COLL_TORCH_DOUBLE_NCCL"])


def ones(length, dtype, device):
    assert (dtype, device) == (float32, "cuda:0")
    return [1.0] * length
