#pragma once

#include <stdexcept>
#include <string>

namespace coll {

// An error of the caller of this library. The addon turns it into a JavaScript error.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

}  // namespace coll
