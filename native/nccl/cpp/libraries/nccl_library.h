#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>

#include "../error.h"
#include "cuda_types.h"
#include "library.h"
#include "nccl_search.h"

// The part of NCCL's interface that this project uses, declared here; its numbers have never
// changed.
namespace coll::nccl {

struct CommunicatorRecord;
using Communicator = CommunicatorRecord*;
using Result = int;

struct UniqueId {
  char bytes[128];
};

constexpr Result kSuccess = 0;
constexpr Result kCudaError = 1;
constexpr Result kSystemError = 2;
constexpr Result kInternalError = 3;
constexpr Result kInvalidArgument = 4;
constexpr Result kInvalidUsage = 5;
constexpr Result kRemoteError = 6;
constexpr Result kInProgress = 7;

constexpr int kNoColor = -1;

constexpr std::size_t kConfigBytes = 48;
constexpr std::uint32_t kConfigVersion = 21800;
// The size of a configuration that has the name of the communicator.
constexpr std::size_t kNamedConfigBytes = 72;
constexpr std::uint32_t kNamedConfigVersion = 22700;

// The configuration of a communicator. A library reads the first `size` bytes, and uses its
// defaults for fields that are newer than `version`. All versions since 2.18 have the first 48
// bytes.
struct Config {
  std::size_t size = kConfigBytes;
  std::uint32_t magic = 0xcafebeef;
  std::uint32_t version = kConfigVersion;
  int blocking = INT_MIN;
  int cga_cluster_size = INT_MIN;
  int fewest_blocks = INT_MIN;
  int most_blocks = INT_MIN;
  const char* network = nullptr;
  int split_share = INT_MIN;
  int traffic_class = INT_MIN;
  const char* name = nullptr;
  int collnet = INT_MIN;
  int block_policy = INT_MIN;
  int shrink_share = INT_MIN;
  int nvls_blocks = INT_MIN;
};
static_assert(sizeof(Config) == kNamedConfigBytes && offsetof(Config, name) == kConfigBytes);

// The functions of libnccl.so.2 that this project calls.
struct Nccl {
  Library library;
  int version = 0;

  Result (*get_version)(int*) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;
  Result (*unique_id)(UniqueId*) = nullptr;
  Result (*init)(Communicator*, int, UniqueId, int, Config*) = nullptr;
  Result (*finalize)(Communicator) = nullptr;
  Result (*destroy)(Communicator) = nullptr;
  Result (*abort)(Communicator) = nullptr;
  Result (*async_error)(Communicator, Result*) = nullptr;
  Result (*count)(Communicator, int*) = nullptr;
  Result (*rank)(Communicator, int*) = nullptr;
  Result (*split)(Communicator, int, int, Communicator*, Config*) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream) = nullptr;
  Result (*reduce)(const void*, void*, std::size_t, int, int, int, Communicator, cuda::Stream) = nullptr;
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream) = nullptr;
  Result (*all_gather)(const void*, void*, std::size_t, int, Communicator, cuda::Stream) = nullptr;
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Communicator, cuda::Stream) = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Communicator, cuda::Stream) = nullptr;
  Result (*receive)(void*, std::size_t, int, int, Communicator, cuda::Stream) = nullptr;

  // The failure that a result means. The communicator may be null.
  Failure failure_of(Result result, Communicator communicator) const;
  // A configuration for a communicator of this name. Libraries that are new enough show the name in
  // their logs.
  Config config_for(const std::string& name, bool is_blocking) const;
};

// Throws an Error of one sentence if there is no usable NCCL.
Nccl open_nccl(const Choice& choice, const Surroundings& surroundings = Surroundings::of_process());

}  // namespace coll::nccl
