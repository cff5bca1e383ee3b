#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>

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
  // The device of a range that lies in one block, or in mappings that follow each other and are open to it; -1 for none.
  int device_of(cuda::Pointer pointer, std::size_t bytes);
  // The block that a pointer lies in: false for none.
  bool find(cuda::Pointer pointer, cuda::Pointer& begin, std::size_t& bytes);
  // Pinned host memory.
  void* allocate_host(std::size_t bytes);
  bool free_host(void* memory);
  // Memory of the virtual-memory API: a block for each mapping, which nobody may use before it is opened to a device.
  void map(cuda::Pointer pointer, std::size_t bytes, int device);
  void unmap(cuda::Pointer pointer);
  void open_to(cuda::Pointer pointer, std::size_t bytes, int device);
  bool is_open_to(cuda::Pointer pointer, int device);
  bool is_virtual(cuda::Pointer pointer);
  // Of the block that a pointer lies in; -1 for none.
  int device_of_block(cuda::Pointer pointer);
  long count();
  std::size_t bytes_on(int device);

 private:
  struct Block {
    std::size_t bytes;
    int device;
    bool is_virtual = false;
    std::set<int> users{};
  };

  // Null for none. Under the lock.
  const Block* block_at(cuda::Pointer pointer, cuda::Pointer& begin) const;

  std::mutex mutex_;
  std::map<cuda::Pointer, Block> blocks_;
  std::map<void*, std::size_t> host_;
};

}  // namespace coll::doubles
