#pragma once

#include <stdexcept>
#include <string>

namespace coll {

// In the order of the names in error.cc.
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

// The name of this kind in JavaScript.
const char* name_of(FailureKind kind);

// A failure. `code` is the result of CUDA or NCCL; 0 if the failure is from neither.
struct Failure {
  FailureKind kind;
  int code;
  std::string message;
};

// A Failure as an exception, until it becomes a rejected promise.
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
