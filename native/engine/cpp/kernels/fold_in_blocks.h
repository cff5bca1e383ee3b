#pragma once

#include <cstddef>

#include "fold.h"
#include "kernels.h"

namespace coll {

// Executes any fold, in blocks that stay in the cache between the passes over them.
void fold_in_blocks(const Kernels& kernels, const Fold& fold, std::size_t begin, std::size_t count);

}  // namespace coll
