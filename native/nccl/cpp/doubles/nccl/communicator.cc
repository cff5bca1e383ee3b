#include "communicator.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <thread>

#include "../control.h"

namespace coll::nccl {

CommunicatorRecord::~CommunicatorRecord() {
  if (wire.socket >= 0) close(wire.socket);
}

void CommunicatorRecord::abort() {
  is_aborted = true;
  const std::lock_guard<std::mutex> lock(children_mutex);
  for (const auto& child : children) {
    if (const auto living = child.lock()) living->abort();
  }
}

void CommunicatorRecord::adopt(const std::shared_ptr<CommunicatorRecord>& child) {
  const std::lock_guard<std::mutex> lock(children_mutex);
  children.push_back(child);
}

void CommunicatorRecord::disown(const CommunicatorRecord& child) {
  const std::lock_guard<std::mutex> lock(children_mutex);
  const auto is_it = [&](const auto& other) { return other.expired() || other.lock().get() == &child; };
  children.erase(std::remove_if(children.begin(), children.end(), is_it), children.end());
}

void CommunicatorRecord::set_error(Result result, const std::string& message) {
  const std::lock_guard<std::mutex> lock(text_mutex);
  text = message;
  state = result;
}

}  // namespace coll::nccl

namespace coll::doubles {
namespace {

std::mutex records_mutex;
std::map<nccl::Communicator, Record>& records() {
  static auto* const all = new std::map<nccl::Communicator, Record>;
  return *all;
}

void name_host(char* into, std::size_t bytes) {
  const char* const named = std::getenv("NCCL_HOSTID");
  if (named != nullptr) std::strncpy(into, named, bytes - 1);
  else gethostname(into, bytes - 1);
}

}  // namespace

int version_of_double() { return from_environment("COLL_DOUBLE_NCCL_VERSION", 22809); }

Record find_record(nccl::Communicator communicator) {
  const std::lock_guard<std::mutex> lock(records_mutex);
  const auto found = records().find(communicator);
  return found == records().end() ? nullptr : found->second;
}

void add_record(const Record& record) {
  const std::lock_guard<std::mutex> lock(records_mutex);
  records()[record.get()] = record;
}

void remove_record(nccl::Communicator communicator) {
  const std::lock_guard<std::mutex> lock(records_mutex);
  records().erase(communicator);
}

long count_records() {
  const std::lock_guard<std::mutex> lock(records_mutex);
  return static_cast<long>(records().size());
}

bool has_calls() {
  const std::lock_guard<std::mutex> lock(records_mutex);
  return std::any_of(records().begin(), records().end(), [](const auto& entry) { return entry.second->calls > 0; });
}

nccl::Result lack_of_room(nccl::CommunicatorRecord& record) {
  if (!is_wished("full shm", record.rank)) return nccl::kSuccess;
  record.set_error(nccl::kSystemError, "Error while creating shared memory segment /dev/shm/nccl-double (size 9637888), error: No space left on device (28)");
  return nccl::kSystemError;
}

nccl::Result open_record(nccl::CommunicatorRecord& record, const nccl::UniqueId& id) {
  die_if_wished("init", record.rank);
  if (is_wished("no nvml", record.rank)) {
    record.set_error(nccl::kSystemError, "Failed to open libnvidia-ml.so.1");
    return nccl::kSystemError;
  }
  if (const nccl::Result lacking = lack_of_room(record)) return lacking;
  if (is_wished("stuck init", record.rank)) wait_for_abort(record);
  Handshake handshake{record.size, record.rank, version_of_double(), record.device, {}};
  name_host(handshake.host, sizeof handshake.host);
  record.wire = {connect_to(id), &record.is_aborted};
  Reply reply{nccl::kSystemError, "no process listens at this unique id", 0};
  if (record.wire.socket >= 0) {
    set_text(reply, "the connection was lost");
    if (record.wire.send(&handshake, sizeof handshake)) record.wire.receive(&reply, sizeof reply);
  }
  if (reply.result != nccl::kSuccess) record.set_error(reply.result, reply.text);
  return reply.result;
}

nccl::Result exchange(nccl::CommunicatorRecord& record, const Request& request, const void* input, Bytes& output) {
  const std::lock_guard<std::mutex> lock(record.exchange_mutex);
  Reply reply{nccl::kRemoteError, "the connection was lost", 0};
  const bool is_answered = record.wire.send(&request, sizeof request) && record.wire.send(input, request.input_bytes) &&
                           record.wire.receive(&reply, sizeof reply);
  if (is_answered) {
    output.resize(reply.bytes);
    if (!record.wire.receive(output.data(), output.size())) reply.result = nccl::kRemoteError;
  }
  if (reply.result != nccl::kSuccess) record.set_error(reply.result, reply.text);
  return reply.result;
}

void wait_for_abort(const nccl::CommunicatorRecord& record) {
  while (!record.is_aborted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace coll::doubles
