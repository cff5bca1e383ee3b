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

// What there is in the whole process at the moment.
struct Counts {
  std::atomic<long> buffers{0};
  std::atomic<long> buffer_bytes{0};
  std::atomic<long> host_bytes{0};
  std::atomic<long> communicators{0};
};

// The GPUs of this process: the driver, NCCL where it is there, and the threads that use them. Lives until the process ends, for the
// libraries have threads of their own.
class Runtime {
 public:
  Runtime(cuda::Driver opened, int devices);

  const cuda::Driver driver;
  const int device_count;
  PinnedPool pinned;
  Scheduler scheduler;
  Counts counts;

  // On the submission thread. Throws where there is no such device.
  Device& device(int index);
  // Throws where NCCL could not be opened.
  const nccl::Nccl& nccl() const;
  void set_nccl(nccl::Nccl opened);
  bool has_nccl() const { return nccl_ != nullptr; }

  // What is ours is given back by a chore of the submission thread when the last user has let go.
  SharedAllocation new_allocation(int device_index, std::size_t bytes, bool is_ours);

  // Pinned memory that JavaScript has, to find what need not be staged. Null for all other memory.
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

// What opening the libraries has brought; a failure is one sentence.
struct Opened {
  Runtime* runtime = nullptr;
  Failure driver_failure{};
  Failure nccl_failure{};
};

// The libraries that somebody asked for; empty for the usual ones.
struct LibraryChoice {
  std::string cuda;
  nccl::Choice nccl;
  std::string nvml;
};

// Opens what is not open yet. What has been opened stays. Throws where a program then asks for another NCCL.
Opened open_libraries(const LibraryChoice& choice);

// Throws where the libraries have not been opened, or there is no driver.
Runtime& the_runtime();

}  // namespace coll
