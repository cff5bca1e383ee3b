group = None


def is_nccl_available():
    return True


def init_process_group(backend, init_method, rank, world_size):
    global group
    assert (backend, rank, world_size) == ("nccl", 0, 1) and init_method.startswith("file:///")
    group = world_size


def all_reduce(tensor):
    assert group == 1 and len(tensor) > 0


def destroy_process_group():
    assert group == 1
