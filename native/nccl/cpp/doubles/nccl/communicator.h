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

// One rank's part of a communicator.
struct CommunicatorRecord {
  // The size of the communicator. For a split, it is known once the communicator is open.
  std::atomic<int> size{0};
  std::atomic<int> rank{0};
  int device = 0;
  bool is_blocking = true;
  // Whether the first collective has met the other ranks; it blocks its caller until then.
  bool is_connected = false;
  std::mutex connect_mutex;
  std::uint64_t sequence = 0;
  std::mutex exchange_mutex;
  doubles::Wire wire;
  std::atomic<bool> is_aborted{false};
  // Communicators that are aborted together with this one: while they are being made, and always if
  // they share this one's resources.
  std::mutex children_mutex;
  std::vector<std::weak_ptr<CommunicatorRecord>> children;
  std::atomic<Result> state{kSuccess};
  // The thread that made the call in progress, and may ask about it.
  std::atomic<std::thread::id> waiting{};
  // The number of calls in progress, which an abort ends and waits for.
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

// The NCCL version that the double reports.
int version_of_double();

using Record = std::shared_ptr<nccl::CommunicatorRecord>;

// The record of a communicator; null if it does not exist.
Record find_record(nccl::Communicator communicator);
void add_record(const Record& record);
void remove_record(nccl::Communicator communicator);
long count_records();
// Whether a thread of the library is inside a call.
bool has_calls();

// Waits until the other ranks have arrived, or the record is aborted.
nccl::Result open_record(nccl::CommunicatorRecord& record, const nccl::UniqueId& id);
// The failure that is requested for missing resources of the machine; otherwise success.
nccl::Result lack_of_room(nccl::CommunicatorRecord& record);
// Sends a request with its input, and receives the result. Blocks until then, or until an abort.
nccl::Result exchange(nccl::CommunicatorRecord& record, const Request& request, const void* input, Bytes& output);
// Sleeps until the record is aborted, like a kernel of NCCL after an error.
void wait_for_abort(const nccl::CommunicatorRecord& record);

}  // namespace coll::doubles
