#pragma once

#include <functional>
#include <memory>
#include <string>

#include "../error.h"
#include "group.h"

namespace coll {

class Engine;

// Work of the thread of MPI other than collectives, such as making a group. Tasks of one
// communicator run one after the other.
class Task {
 public:
  virtual ~Task() = default;
  // The communicator that the task uses, 0 for none.
  virtual MpiHandle comm(Engine& engine) const = 0;
  // Makes progress on the task. Returns whether it is done. Throws an Error if the task fails.
  virtual bool step(Engine& engine) = 0;
  // Called once, by the thread of MPI, when the task has ended. `error`: the reason if it has
  // failed, otherwise null.
  virtual void settle(const Error* error) = 0;
};

using Settle = std::function<void(const Error*)>;
using SettleGroup = std::function<void(std::shared_ptr<Group>, const Error*)>;

// Starts MPI, unless it has been started.
std::unique_ptr<Task> starting(Settle settle);
// Makes a group of all ranks.
std::unique_ptr<Task> opening(SettleGroup settle);
// Makes a group of the ranks with the same color; none for a negative color.
std::unique_ptr<Task> splitting(std::shared_ptr<Group> group, int color, int key, SettleGroup settle);
std::unique_ptr<Task> finalizing(Settle settle);

}  // namespace coll
