#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "../../libraries/cuda_types.h"

namespace coll::doubles {

// "Device" memory: blocks of host memory that know whose they are. New memory is filled with what no test expects.
class Memory {
 public:
  static Memory& of_process();

  cuda::Pointer allocate(std::size_t bytes, int device);
  // Whether there is such a block; it cannot be used from now on, and goes when `release` is called.
  bool forget(cuda::Pointer pointer, std::size_t& bytes);
  static void release(cuda::Pointer pointer, std::size_t bytes);
  // The device of a range that lies in one block; -1 for none.
  int device_of(cuda::Pointer pointer, std::size_t bytes);
  // The block that a pointer lies in: false for none.
  bool find(cuda::Pointer pointer, cuda::Pointer& begin, std::size_t& bytes);
  // Pinned host memory.
  void* allocate_host(std::size_t bytes);
  bool free_host(void* memory);
  long count();
  std::size_t bytes_on(int device);

 private:
  struct Block {
    std::size_t bytes;
    int device;
  };

  std::mutex mutex_;
  std::map<cuda::Pointer, Block> blocks_;
  std::map<void*, std::size_t> host_;
};

}  // namespace coll::doubles
