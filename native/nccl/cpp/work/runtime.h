#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../devices/pinned_pool.h"
#include "../libraries/nccl_library.h"
#include "scheduler.h"

namespace coll {

// The numbers of objects in the whole process at the moment.
struct Counts {
  std::atomic<long> buffers{0};
  std::atomic<long> buffer_bytes{0};
  std::atomic<long> host_bytes{0};
  std::atomic<long> communicators{0};
};

// The GPUs of this process: the driver, NCCL if it is installed, and the threads that use them.
// Exists until the process ends, because the libraries have threads of their own.
class Runtime {
 public:
  Runtime(cuda::Driver opened, int devices);

  const cuda::Driver driver;
  const int device_count;
  PinnedPool pinned;
  Scheduler scheduler;
  Counts counts;

  // A device; used on the submission thread. Throws if there is no such device.
  Device& device(int index);
  // Throws if NCCL could not be opened.
  const nccl::Nccl& nccl() const;
  void set_nccl(nccl::Nccl opened);
  bool has_nccl() const { return nccl_ != nullptr; }

  // Makes an allocation. If `is_ours`, a chore of the submission thread frees the memory once the
  // last user has released it.
  SharedAllocation new_allocation(int device_index, std::size_t bytes, bool is_ours);

  // add_host() records pinned memory that JavaScript has, which needs no staging. find_host()
  // returns null for all other memory.
  void add_host(const std::shared_ptr<std::byte>& memory, std::size_t bytes);
  std::shared_ptr<std::byte> find_host(const std::byte* begin, std::size_t bytes) const;
  void remove_host(const std::byte* memory);

 private:
  struct HostBlock {
    std::weak_ptr<std::byte> memory;
    std::size_t bytes;
  };

  std::map<int, std::unique_ptr<Device>> devices_;
  std::unique_ptr<nccl::Nccl> nccl_;
  mutable std::mutex host_mutex_;
  std::map<const std::byte*, HostBlock> host_;
};

// The result of opening the libraries. A failure is one sentence.
struct Opened {
  Runtime* runtime = nullptr;
  Failure driver_failure{};
  Failure nccl_failure{};
};

// The libraries that the program has requested; empty for the default ones.
struct LibraryChoice {
  std::string cuda;
  nccl::Choice nccl;
  std::string nvml;
};

// Opens libraries that are not open yet; open ones stay. Throws if a program then requests another
// NCCL.
Opened open_libraries(const LibraryChoice& choice);

// Throws if the libraries have not been opened, or there is no driver.
Runtime& the_runtime();

}  // namespace coll
