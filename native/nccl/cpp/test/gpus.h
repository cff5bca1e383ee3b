#pragma once

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <vector>

#include "../communicators/collectives.h"
#include "../communicators/lifecycle.h"
#include "../devices/kernel_operations.h"

namespace coll::test {

constexpr int kGpus = 4;

constexpr int kInt8 = 0, kInt32 = 2, kInt64 = 4, kFloat16 = 6, kFloat32 = 7, kFloat64 = 8, kBFloat16 = 9;
constexpr int kSum = 0, kProduct = 1, kMaximum = 2, kMinimum = 3;

// The runtime of this process on the doubles, with kGpus devices whose streams are slow.
Runtime& gpus();

// Requests a fault from the doubles until this object is destroyed; see doubles/control.h.
class Wish {
 public:
  explicit Wish(const std::string& lines);
  ~Wish();
};

// The outcome of an operation: no value means success.
using Outcome = std::future<std::optional<Failure>>;
Outcome submit(const SharedOperation& operation);
// Submits the operation and waits for its outcome.
std::optional<Failure> run(const SharedOperation& operation);

// Memory of a device that contains these elements.
SharedAllocation allocate(int device, std::size_t bytes);
HostMemory memory_of(void* begin, std::size_t bytes);
void write(const SharedAllocation& into, const void* from, std::size_t bytes);
std::optional<Failure> read(const SharedAllocation& from, void* into, std::size_t bytes);

template <class T>
SharedAllocation allocate_with(int device, const std::vector<T>& values) {
  SharedAllocation made = allocate(device, values.size() * sizeof(T));
  write(made, values.data(), values.size() * sizeof(T));
  return made;
}

template <class T>
std::vector<T> values_of(const SharedAllocation& allocation) {
  std::vector<T> values(allocation->bytes / sizeof(T));
  EXPECT_FALSE(read(allocation, values.data(), allocation->bytes));
  return values;
}

// Opens a communicator with all ranks in this process, on devices 0, 1, …
std::shared_ptr<Clique> open_all(int size, bool is_blocking = true);
Call call_of(Kind kind, int dtype, int op, std::size_t count, const std::vector<SharedAllocation>& inputs, const std::vector<SharedAllocation>& outputs, int root = 0);

// Sets a deadline for the operation, after which its clique fails.
SharedOperation within(SharedOperation operation, int millis);

// Adds up four numbers, 1 to 4, on each GPU.
SharedOperation all_reduce(const std::shared_ptr<Clique>& clique, const std::vector<SharedAllocation>& buffers);
std::vector<SharedAllocation> two_buffers();
void expect_kind(const std::optional<Failure>& failure, FailureKind kind);
// Expects that a new communicator on new buffers works, whatever failed before.
void expect_usable();

}  // namespace coll::test
