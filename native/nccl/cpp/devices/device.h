#pragma once

#include <map>
#include <string>

#include "fence.h"

namespace coll {

// What a stream of a device is for. What has its own can overlap with the others.
enum class Lane { kUpload, kDownload, kCompute, kCommunication };
constexpr int kLanes = 4;

// One GPU, used through its primary context, which all libraries of a process share. On the submission thread only, but for the events.
class Device {
 public:
  // Makes the context and the streams, and has the driver compile all kernels, which may take seconds the first time on a machine.
  Device(const cuda::Driver& driver, int index);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  int index() const { return index_; }
  cuda::Context context() const { return context_; }
  cuda::Stream stream(Lane lane) const { return streams_[static_cast<int>(lane)]; }
  // Makes it the thread's current device.
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
