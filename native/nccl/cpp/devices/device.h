#pragma once

#include <map>
#include <string>

#include "fence.h"

namespace coll {

// The purpose of a stream of a device. Work on different lanes can overlap.
enum class Lane { kUpload, kDownload, kCompute, kCommunication };
constexpr int kLanes = 4;

// One GPU, used through its primary context, which all libraries of a process share. Except for
// events, used on the submission thread only.
class Device {
 public:
  // Makes the context and the streams, and lets the driver compile all kernels, which may take
  // seconds the first time on a machine.
  Device(const cuda::Driver& driver, int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }
  cuda::Context context() const { return context_; }
  cuda::Stream stream(Lane lane) const { return streams_[static_cast<int>(lane)]; }
  // Makes the device the thread's current one.
  void enter() const;
  SharedFence fence(Lane lane);
  SharedFence fence(cuda::Stream stream);
  // One of the kernels of kernels.cu.
  cuda::Function kernel(const std::string& name) const;
  int multiprocessors() const { return multiprocessors_; }

 private:
  void load_kernels();

  const cuda::Driver& driver_;
  int index_;
  cuda::Context context_ = nullptr;
  cuda::Stream streams_[kLanes] = {};
  int multiprocessors_ = 1;
  EventPool events_;
  cuda::Module module_ = nullptr;
  std::map<std::string, cuda::Function> kernels_;
};

}  // namespace coll
