#pragma once

#include <stdexcept>
#include <string>

namespace coll {

// The order is that of the names in error.cc.
enum class FailureKind {
  kInvalidArgument,
  kOutOfMemory,
  kNoLibrary,
  kCuda,
  kNccl,
  kTimeout,
  kAborted,
  kBroken,
  kSpoiled,
  kStuck,
  kClosed,
  kMachine,
};

// As JavaScript knows it.
const char* name_of(FailureKind kind);

// What went wrong. `code` is CUDA's or NCCL's result, 0 where the failure is our own.
struct Failure {
  FailureKind kind;
  int code;
  std::string message;
};

// A Failure on its way to whoever turns it into a rejected promise.
class Error : public std::runtime_error {
 public:
  explicit Error(Failure failure) : std::runtime_error(failure.message), failure_(std::move(failure)) {}
  Error(FailureKind kind, const std::string& message) : Error(Failure{kind, 0, message}) {}

  const Failure& failure() const { return failure_; }

 private:
  Failure failure_;
};

inline Error invalid(const std::string& message) { return {FailureKind::kInvalidArgument, message}; }

}  // namespace coll
