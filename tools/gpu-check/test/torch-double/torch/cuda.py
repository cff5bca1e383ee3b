class nccl:
    @staticmethod
    def version():
        return (0, 0, 0)


def is_available():
    return True


def set_device(device):
    assert device == 0


def synchronize():
    pass
