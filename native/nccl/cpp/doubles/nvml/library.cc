// libnvidia-ml.so.1, which NCCL opens: the double of NCCL asks nothing of it.
#include "../exported.h"

COLL_EXPORT int coll_is_test_double() { return 1; }
COLL_EXPORT int nvmlInit_v2() { return 0; }
