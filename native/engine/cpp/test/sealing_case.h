#pragma once

#if defined(__linux__)

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "sealing/sealed_stream.h"

namespace coll::test {

// Loads the system's OpenSSL, in the place of the one that Node exports. Returns whether there is
// one for this platform; emulated platforms have none.
inline bool has_openssl() {
  static const bool is_loaded = dlopen("libssl.so.3", RTLD_NOW | RTLD_GLOBAL) != nullptr && sealing_problem().empty();
  return is_loaded;
}

inline Seal seal_of(int number) {
  Seal seal{};
  seal.identity.fill(static_cast<std::byte>(number));
  seal.key.fill(static_cast<std::byte>(number + 1));
  return seal;
}

}  // namespace coll::test

#endif
