#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "../devices/allocation.h"

namespace coll {

class Clique;
class Operation;

using Clock = std::chrono::steady_clock;
using SharedOperation = std::shared_ptr<Operation>;

struct Use {
  SharedAllocation allocation;
  bool writes;
};

enum class State { kQueued, kLaunched, kDone, kFailed };

// Work for devices, from the call to the settled promise. It is made on a JavaScript thread and
// submitted. Then launch() runs on the submission thread, finish() on the completion thread once
// the device has passed all fences, and settle() once, on any thread.
class Operation {
 public:
  std::string name;
  // The communicator that takes part, by its name and its clique; empty and null if there is none.
  std::string group;
  std::shared_ptr<Clique> clique;
  std::uint64_t sequence = 0;
  // For the flight recorder: the dtype of a collective, and its number of elements. If there are
  // several collectives, the dtype of the first and the total of all.
  const char* dtype = "";
  const char* op = "";
  std::size_t elements = 0;
  Clock::time_point submitted{};
  Clock::time_point deadline{};

  std::vector<Use> uses;
  std::function<void(Operation&)> launch;
  // Whether a launch is complete, if other ranks take part in it. Called on the submission thread,
  // between other operations.
  std::function<bool(Operation&)> is_launched;
  // Runs after the device has finished, mostly to copy to host memory. Not called for a failed
  // operation.
  std::function<void(Operation&)> finish;
  // Null for success. Called under the scheduler's lock: it must only hand over the result.
  std::function<void(const Operation&, const Failure*)> settle;

  // The fences that the device has to pass. Set by launch().
  std::vector<SharedFence> fences;
  // The error message for an operation that was launched and exceeds its time limit.
  const char* unfinished = "the GPU did not finish it";
  // Objects kept until the device is done: staging memory, and memory of JavaScript.
  std::vector<std::shared_ptr<void>> kept;

  // The following are protected by the scheduler's lock.
  State state = State::kQueued;
  // The entry in the flight recorder.
  std::uint64_t record = 0;
  std::list<SharedOperation>::iterator place;
  // Whether the operation is the first, or the last, of its clique.
  bool opens_clique = false;
  bool ends_clique = false;
};

}  // namespace coll
