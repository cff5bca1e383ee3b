"""Times PyTorch's all-reduce with one rank on the first GPU: torch_calls.py ARENA_MIB.

Prints a line of JSON first: {"torch", "nccl", "library"}, or {"missing"} if there is no PyTorch with NCCL or no GPU. Then it answers each line
"all-reduce-in-place BYTES CALLS REPETITIONS EACH" with the nanoseconds per call of each repetition, like c/calls.c.
"""

import json
import sys
import tempfile
import time

WARM_UPS = 5


def say(facts):
    print(json.dumps(facts), flush=True)


def library_of_nccl():
    """The NCCL library that this process has loaded; None if NCCL is linked into PyTorch."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split(maxsplit=5)[-1].strip() for line in maps}
    return next((file for file in files if file.endswith("libnccl.so.2")), None)


def main():
    try:
        import torch
        import torch.distributed as distributed
    except (ImportError, OSError) as error:
        return say({"missing": str(error)})
    if not (torch.cuda.is_available() and distributed.is_nccl_available()):
        return say({"missing": f"torch {torch.__version__} here has no CUDA, or no NCCL"})
    torch.cuda.set_device(0)
    with tempfile.TemporaryDirectory() as folder:
        distributed.init_process_group("nccl", init_method=f"file://{folder}/meeting", rank=0, world_size=1)
        arena = torch.ones(int(sys.argv[1]) << 18, dtype=torch.float32, device="cuda:0")
        distributed.all_reduce(arena[:1])
        torch.cuda.synchronize()
        say({"torch": torch.__version__, "nccl": torch.cuda.nccl.version(), "library": library_of_nccl()})
        for line in sys.stdin:
            print(" ".join(f"{number:.1f}" for number in answer(torch, distributed, arena, line)), flush=True)
        distributed.destroy_process_group()


def answer(torch, distributed, arena, line):
    what, *numbers = line.split()
    size, calls, repetitions, is_each = map(int, numbers)
    if what != "all-reduce-in-place":
        raise ValueError(what)
    length = size // 4
    places = len(arena) // length
    views = [arena[place * length : (place + 1) * length] for place in range(min(places, calls))]

    def repetition(count):
        begin = time.perf_counter_ns()
        for call in range(count):
            distributed.all_reduce(views[call % len(views)])
            if is_each:
                torch.cuda.synchronize()
        torch.cuda.synchronize()
        return (time.perf_counter_ns() - begin) / count

    repetition(WARM_UPS)
    return [repetition(calls) for _ in range(repetitions)]


main()
