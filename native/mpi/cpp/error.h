#pragma once

#include <stdexcept>
#include <string>

namespace coll {

// In the order of the names in error.cc of the addon.
enum class ErrorKind { kInvalidArgument, kNoLibrary, kMpi, kBusy };

// A failure of this addon or of MPI; `code` is MPI's error code, 0 if MPI did not report one.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int code = 0)
      : std::runtime_error(message), kind_(kind), code_(code) {}

  ErrorKind kind() const { return kind_; }
  int code() const { return code_; }

 private:
  ErrorKind kind_;
  int code_;
};

}  // namespace coll
