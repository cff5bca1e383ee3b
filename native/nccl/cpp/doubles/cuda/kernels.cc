#include "kernels.h"

#include <map>
#include <tuple>
#include <utility>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#include "../../kernels/kernels.cu"
#pragma GCC diagnostic pop

namespace coll::doubles {
namespace {

using Bind = Launch (*)(void**);

template <class... Arguments, std::size_t... indices>
std::tuple<Arguments...> copied(void** arguments, std::index_sequence<indices...>) {
  return {*static_cast<Arguments*>(arguments[indices])...};
}

template <auto kernel>
struct Bound;

template <class... Arguments, void (*kernel)(Arguments...)>
struct Bound<kernel> {
  static Launch bind(void** arguments) {
    return [values = copied<Arguments...>(arguments, std::index_sequence_for<Arguments...>())](unsigned blocks, unsigned threads) {
      gridDim = {blocks, 1, 1};
      blockDim = {threads, 1, 1};
      for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) std::apply(kernel, values);
      }
    };
  }
};

#undef COLL_COMBINE
#undef COLL_DIVIDE
#define COLL_COMBINE(name, T) {"coll_combine_" #name, &Bound<coll_combine_##name>::bind},
#define COLL_DIVIDE(name, Into, From) {"coll_divide_" #name, &Bound<coll_divide_##name>::bind},

const std::map<std::string, Bind>& all_kernels() {
  static const std::map<std::string, Bind> kernels = {
#include "../../kernels/instances.inc"
      {"coll_copy_pieces", &Bound<coll_copy_pieces>::bind},
      {"coll_copy_few", &Bound<coll_copy_few>::bind},
  };
  return kernels;
}

}  // namespace

Launch launch_of(const std::string& name, void** arguments) {
  const auto found = all_kernels().find(name);
  return found == all_kernels().end() ? Launch{} : found->second(arguments);
}

bool has_kernel(const std::string& name) { return all_kernels().count(name) > 0; }

}  // namespace coll::doubles
