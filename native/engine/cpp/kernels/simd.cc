#include "simd.h"

#include <cstdlib>
#include <cstring>
#include <string>

#include "../error.h"
#include "fold.h"
#include "processor.h"

namespace coll {
namespace {

// The instruction sets, widest registers first.
constexpr const char* kNames[] = {"avx512", "avx2", "neon", "scalar"};

const Kernels* runnable(const Kernels* kernels, bool has_instructions) { return has_instructions ? kernels : nullptr; }

const Kernels& widest() {
  for (const char* name : kNames) {
    if (const Kernels* kernels = find_kernels(name)) return *kernels;
  }
  return *baseline_kernels();
}

}  // namespace

const Kernels* find_kernels(const char* name) {
  const Kernels* const built[] = {
      runnable(avx512_kernels(), has_avx512()),
      runnable(avx2_kernels(), has_avx2()),
      baseline_kernels(),
  };
  for (const Kernels* kernels : built) {
    if (kernels != nullptr && std::strcmp(kernels->name, name) == 0) return kernels;
  }
  return nullptr;
}

const Kernels& choose_kernels(const char* wanted) {
  if (wanted == nullptr || *wanted == '\0') return widest();
  if (const Kernels* kernels = find_kernels(wanted)) return *kernels;
  std::string available;
  for (const char* name : kNames) {
    if (find_kernels(name) != nullptr) available += (available.empty() ? "" : ", ") + std::string(name);
  }
  throw Error("COLL_NATIVE_SIMD must be one of " + available + " on this processor, got \"" + std::string(wanted) + "\"");
}

const Kernels& chosen_kernels() {
  static const Kernels& chosen = choose_kernels(std::getenv("COLL_NATIVE_SIMD"));
  return chosen;
}

const char* simd_name() { return chosen_kernels().name; }

}  // namespace coll
