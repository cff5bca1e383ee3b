#pragma once

#include <functional>
#include <memory>
#include <string>

#include "../engine/engine.h"

namespace coll::test {

// Runs a check in `size` processes, which are the ranks of a job of the double. Returns a
// description of the failures; empty if the check returned true in all of them.
std::string in_ranks(int size, const std::function<bool()>& check);

// The MPI of this rank, started on the double. For checks.
Engine& started_engine();
// A group of all ranks, or of those with the same color as `parent`'s rank; null for a negative color.
std::shared_ptr<Group> open_group();
std::shared_ptr<Group> split_group(const std::shared_ptr<Group>& parent, int color, int key);
// Leaves the groups and ends MPI.
void end_engine();

// A call of one rank. Its announcement describes the arguments.
std::shared_ptr<Plan> plan_of(Kind kind, Op op, DType dtype, std::size_t count, std::vector<Segment> inputs, std::vector<Segment> outputs, int root = -1);
template <class T>
Segment segment_of(std::vector<T>& values) {
  return {reinterpret_cast<std::byte*>(values.data()), values.size() * sizeof(T)};
}
// Makes a call and waits for its end.
Status run(Group& group, const std::shared_ptr<Plan>& plan, double millis = 20'000, bool is_checked = false);

}  // namespace coll::test
