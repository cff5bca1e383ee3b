#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>

#include "../../libraries/cuda_types.h"

namespace coll::doubles {

// "Device" memory: blocks of host memory with a device. New memory is filled with values that no
// test expects.
class Memory {
 public:
  static Memory& of_process();

  cuda::Pointer allocate(std::size_t bytes, int device);
  // Makes a block unusable; its memory is freed when `release` is called. Returns whether there is
  // such a block.
  bool forget(cuda::Pointer pointer, std::size_t& bytes);
  static void release(cuda::Pointer pointer, std::size_t bytes);
  // The device of a range that is in one block, or in consecutive mappings that the device may
  // access; otherwise -1.
  int device_of(cuda::Pointer pointer, std::size_t bytes);
  // Finds the block that contains a pointer. Returns false if there is none.
  bool find(cuda::Pointer pointer, cuda::Pointer& begin, std::size_t& bytes);
  // Pinned host memory.
  void* allocate_host(std::size_t bytes);
  bool free_host(void* memory);
  // Memory of the virtual-memory API: one block per mapping, which no device may access before it
  // is opened to it.
  void map(cuda::Pointer pointer, std::size_t bytes, int device);
  void unmap(cuda::Pointer pointer);
  void open_to(cuda::Pointer pointer, std::size_t bytes, int device);
  bool is_open_to(cuda::Pointer pointer, int device);
  bool is_virtual(cuda::Pointer pointer);
  // The device of the block that contains a pointer; -1 if there is none.
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

  // The block that contains a pointer, or null. The caller holds the lock.
  const Block* block_at(cuda::Pointer pointer, cuda::Pointer& begin) const;

  std::mutex mutex_;
  std::map<cuda::Pointer, Block> blocks_;
  std::map<void*, std::size_t> host_;
};

}  // namespace coll::doubles
