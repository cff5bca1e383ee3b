#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "reduction.h"
#include "wire.h"

namespace coll::nccl {

// One rank's end of a communicator.
struct CommunicatorRecord {
  // Known once it is open, where a split makes it.
  std::atomic<int> size{0};
  std::atomic<int> rank{0};
  int device = 0;
  bool is_blocking = true;
  // Whether the first collective has met the others, for which it blocks its caller.
  bool is_connected = false;
  std::mutex connect_mutex;
  std::uint64_t sequence = 0;
  std::mutex exchange_mutex;
  doubles::Wire wire;
  std::atomic<bool> is_aborted{false};
  // Ended together with this one: as long as it is being made, and for ever where it shares this one's resources.
  std::mutex children_mutex;
  std::vector<std::weak_ptr<CommunicatorRecord>> children;
  std::atomic<Result> state{kSuccess};
  // Who made the call that is in progress, and may ask about it.
  std::atomic<std::thread::id> waiting{};
  // Calls that are in progress, which an abort ends and waits for.
  std::atomic<int> calls{0};
  std::mutex text_mutex;
  std::string text;

  ~CommunicatorRecord();
  void set_error(Result result, const std::string& message);
  void abort();
  void adopt(const std::shared_ptr<CommunicatorRecord>& child);
  void disown(const CommunicatorRecord& child);
};

}  // namespace coll::nccl

namespace coll::doubles {

// The NCCL that the double says it is.
int version_of_double();

using Record = std::shared_ptr<nccl::CommunicatorRecord>;

// Null for what is no communicator, or no longer one.
Record find_record(nccl::Communicator communicator);
void add_record(const Record& record);
void remove_record(nccl::Communicator communicator);
long count_records();

// Meets the other ranks; blocks until they have come, or the record is aborted.
nccl::Result open_record(nccl::CommunicatorRecord& record, const nccl::UniqueId& id);
// A failure of what the machine has to have, where that is wished for: success otherwise.
nccl::Result lack_of_room(nccl::CommunicatorRecord& record);
// Sends a request with its input, and takes what comes back. Blocks likewise.
nccl::Result exchange(nccl::CommunicatorRecord& record, const Request& request, const void* input, Bytes& output);
// Sleeps until it is aborted, as a kernel of NCCL does after an error.
void wait_for_abort(const nccl::CommunicatorRecord& record);

}  // namespace coll::doubles
