#pragma once

#include <array>
#include <cstddef>

namespace coll {

// What the two ends of one connection know, derived from the job key and from fresh nonces of both.
struct Seal {
  std::array<std::byte, 32> identity;  // sent in clear, so that the accepting end finds the key
  std::array<std::byte, 32> key;
};

// The end of a connection: of two members, the higher rank connects and the lower rank accepts.
enum class SealedEnd { kConnecting, kAccepting };

}  // namespace coll
