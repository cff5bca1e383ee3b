// The part of libnccl.so.2 that this project calls, for threads and processes of one machine.
// Reports an error where the real one would hang or corrupt data.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "../control.h"
#include "../exported.h"
#include "coordinator.h"
#include "group.h"

extern "C" {
void coll_double_put(coll::cuda::Stream stream, void (*task)(void*), void* argument);
int coll_double_device_of(const void* pointer, std::size_t bytes);
int coll_double_current_device();
}

namespace {

using namespace coll::doubles;
using namespace coll::nccl;

constexpr int kSum = 0;
constexpr int kLastOp = 4;

std::mutex last_text_mutex;
std::string last_text;

Result refuse(Result result, const std::string& text) {
  const std::lock_guard<std::mutex> lock(last_text_mutex);
  last_text = text;
  return fail_group(result);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Whether ncclCommInitRankConfig accepts the configuration: the fields of the version that it
// names.
bool is_known(const Config& config) {
  const bool has_names = version_of_double() >= static_cast<int>(kNamedConfigVersion);
  const bool is_plain = config.size == kConfigBytes && config.version == kConfigVersion;
  const bool is_named = config.size == kNamedConfigBytes && config.version == kNamedConfigVersion && config.name != nullptr;
  return config.magic == 0xcafebeef && (is_plain || (has_names && is_named));
}

Result start_init(Communicator* into, const Record& record, const std::function<Result(CommunicatorRecord&)>& open) {
  add_record(record);
  __atomic_store_n(into, record.get(), __ATOMIC_RELEASE);
  return add_to_group({record,
                       [record, into, open] {
                         const Result result = open(*record);
                         if (result == kSuccess) return result;
                         refuse(result, record->text);
                         if (record->is_blocking) {
                           __atomic_store_n(into, nullptr, __ATOMIC_RELEASE);
                           remove_record(record.get());
                         }
                         return result;
                       },
                       {}});
}

// A collective or a message of one rank, from the call to the stream.
struct Task {
  Record record;
  Request request;
  const void* input;
  void* output;
};

void run_task(void* argument) {
  const std::unique_ptr<Task> task(static_cast<Task*>(argument));
  CommunicatorRecord& record = *task->record;
  die_if_wished("collective", record.rank);
  if (is_wished("stuck collective", record.rank)) return wait_for_abort(record);
  std::this_thread::sleep_for(std::chrono::milliseconds(wish("slow collective", 0, record.rank)));
  if (record.size == 1 && task->request.kind < kConnect) {
    if (task->output != task->input) std::memcpy(task->output, task->input, task->request.input_bytes);
    return;
  }
  Bytes output;
  if (record.is_aborted || exchange(record, task->request, task->input, output) != kSuccess) return wait_for_abort(record);
  if (!output.empty()) std::memcpy(task->output, output.data(), output.size());
}

// The first collective of a communicator blocks its caller until all ranks have called theirs.
Result connect_first(CommunicatorRecord& record) {
  const std::lock_guard<std::mutex> lock(record.connect_mutex);
  die_if_wished("connect", record.rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(wish("slow connect", 0, record.rank)));
  if (record.is_connected || record.size == 1) return kSuccess;
  if (const Result lacking = lack_of_room(record)) return lacking;
  Bytes nothing;
  const Result result = exchange(record, {kConnect, 0, 0, 0, 0, 0, 0, 0, 0}, nullptr, nothing);
  record.is_connected = result == kSuccess;
  return result;
}

bool has_memory(const CommunicatorRecord& record, const void* pointer, std::size_t bytes) {
  return coll_double_device_of(pointer, bytes) == record.device;
}

Result collective(const char* name, int kind, const void* input, void* output, std::size_t count, int dtype, int op, int root, Communicator communicator,
                  coll::cuda::Stream stream) {
  const Record record = find_record(communicator);
  if (record == nullptr) return refuse(kInvalidArgument, "the argument is not a communicator");
  if (const int wished = wish(std::string("fail ") + name, 0, record->rank)) return refuse(wished, "requested by the control file");
  const std::size_t width = bytes_of(dtype);
  if (width == 0 || op < 0 || op > kLastOp || root < 0 || root >= record->size) return refuse(kInvalidArgument, "invalid dtype, op or root");
  if (count == 0) return kSuccess;
  const auto ranks = static_cast<std::size_t>(record->size);
  const bool reads = kind != 2 || record->rank == root;
  const bool writes = kind != 1 || record->rank == root;
  const std::size_t input_bytes = reads ? count * width * (kind == 4 ? ranks : 1) : 0;
  const std::size_t output_bytes = writes ? count * width * (kind == 3 ? ranks : 1) : 0;
  if ((reads && !has_memory(*record, input, input_bytes)) || (writes && !has_memory(*record, output, output_bytes))) {
    return refuse(kInvalidArgument, "a pointer does not refer to memory of the communicator's device");
  }
  const Request request{kind, dtype, op, root, count, 0, 0, 0, input_bytes};
  return add_to_group({record, [record] { return connect_first(*record); },
                       [record, request, input, output, stream] {
                         auto* const task = new Task{record, request, input, output};
                         task->request.sequence = ++record->sequence;
                         coll_double_put(stream, run_task, task);
                       }});
}

Result message(const char* name, int kind, const void* input, void* output, std::size_t count, int dtype, int peer, Communicator communicator,
               coll::cuda::Stream stream) {
  const Record record = find_record(communicator);
  if (record == nullptr) return refuse(kInvalidArgument, "the argument is not a communicator");
  if (const int wished = wish(std::string("fail ") + name, 0, record->rank)) return refuse(wished, "requested by the control file");
  const std::size_t bytes = count * bytes_of(dtype);
  if (bytes_of(dtype) == 0 || peer < 0 || peer >= record->size) return refuse(kInvalidArgument, "invalid dtype or peer");
  if (count == 0) return kSuccess;
  if (!has_memory(*record, kind == kSend ? input : output, bytes)) return refuse(kInvalidArgument, "a pointer does not refer to memory of the communicator's device");
  const Request request{kind, dtype, 0, peer, count, 0, 0, 0, kind == kSend ? bytes : 0};
  return add_to_group({record, [record] { return connect_first(*record); },
                       [record, request, input, output, stream] { coll_double_put(stream, run_task, new Task{record, request, input, output}); },
                       kind == kReceive});
}

// Opens the communicator of a rank after a split; does nothing for a rank without a color.
Result open_part(CommunicatorRecord& parent, CommunicatorRecord& part, int color, int key) {
  Bytes output;
  const Result result = exchange(parent, {kSplit, 0, 0, 0, 0, 0, color, key, 0}, nullptr, output);
  if (result != kSuccess) return result;
  SplitReply reply;
  std::memcpy(&reply, output.data(), sizeof reply);
  if (color == kNoColor) return kSuccess;
  part.size = reply.size;
  part.rank = reply.rank;
  return open_record(part, reply.id);
}

}  // namespace

COLL_EXPORT int coll_is_test_double() { return 1; }
COLL_EXPORT long coll_double_communicators() { return count_records(); }
__attribute__((destructor)) static void end_with_process() {
  tell_count("communicators", count_records());
  if (!has_calls()) return;
  std::fputs("NCCL: a thread of the library is inside a call while the process exits (the real one would crash, or hang)\n", stderr);
  std::abort();
}

COLL_EXPORT Result ncclGetVersion(int* version) {
  *version = version_of_double();
  return kSuccess;
}

COLL_EXPORT const char* ncclGetErrorString(Result result) {
  static const char* const kTexts[] = {"no error", "unhandled cuda error", "unhandled system error", "internal error",
                                       "invalid argument", "invalid usage", "remote process exited or there was a network error", "NCCL operation in progress"};
  return result >= 0 && result <= kInProgress ? kTexts[result] : "unknown result code";
}

COLL_EXPORT const char* ncclGetLastError(Communicator communicator) {
  thread_local std::string text;
  const Record record = find_record(communicator);
  if (record != nullptr) {
    const std::lock_guard<std::mutex> lock(record->text_mutex);
    text = record->text;
    if (!text.empty()) return text.c_str();
  }
  const std::lock_guard<std::mutex> lock(last_text_mutex);
  text = last_text;
  return text.c_str();
}

COLL_EXPORT Result ncclGetUniqueId(UniqueId* id) {
  die_if_wished("id");
  if (const int wished = wish("fail ncclGetUniqueId", 0)) return wished;
  return start_coordinator(*id) ? kSuccess : kSystemError;
}

COLL_EXPORT Result ncclCommInitRankConfig(Communicator* into, int size, UniqueId id, int rank, Config* config) {
  if (const int wished = wish("fail ncclCommInitRankConfig", 0, rank)) return refuse(wished, "requested by the control file");
  if (config != nullptr && !is_known(*config)) return refuse(kInvalidArgument, "the configuration does not fit this version");
  if (coll_double_current_device() < 0) return refuse(kCudaError, "no device is current");
  const auto record = std::make_shared<CommunicatorRecord>();
  record->size = size;
  record->rank = rank;
  record->device = coll_double_current_device();
  record->is_blocking = (config == nullptr || config->blocking != 0) && !is_wished("non-blocking");
  return start_init(into, record, [id](CommunicatorRecord& opening) { return open_record(opening, id); });
}

COLL_EXPORT Result ncclCommSplit(Communicator parent, int color, int key, Communicator* into, Config* config) {
  const Record record = find_record(parent);
  if (record == nullptr) return refuse(kInvalidArgument, "the argument is not a communicator");
  if (const int wished = wish("fail ncclCommSplit", 0, record->rank)) return refuse(wished, "requested by the control file");
  if (config != nullptr && !is_known(*config)) return refuse(kInvalidArgument, "the configuration does not fit this version");
  const auto made = std::make_shared<CommunicatorRecord>();
  made->device = record->device;
  made->is_blocking = config == nullptr ? record->is_blocking : config->blocking != 0;
  const bool is_sharing = config != nullptr && config->split_share == 1;
  record->adopt(made);
  // The parent is in progress. The new communicator is stored at the end, whatever the result.
  __atomic_store_n(into, nullptr, __ATOMIC_RELEASE);
  return add_to_group({record,
                       [record, made, into, color, key, is_sharing] {
                         const Result result = open_part(*record, *made, color, key);
                         if (!is_sharing) record->disown(*made);
                         if (result != kSuccess) refuse(result, made->text.empty() ? record->text : made->text);
                         if (color == kNoColor) return result;
                         add_record(made);
                         __atomic_store_n(into, made.get(), __ATOMIC_RELEASE);
                         return result;
                       },
                       {}});
}

COLL_EXPORT Result ncclCommFinalize(Communicator communicator) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  return add_to_group({record,
                       [record] {
                         if (!is_wished("stuck finalize", record->rank)) return kSuccess;
                         wait_for_abort(*record);
                         return kInternalError;
                       },
                       {}});
}

COLL_EXPORT Result ncclCommDestroy(Communicator communicator) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  if (is_wished("stuck destroy", record->rank)) sleep_for_ever();
  remove_record(communicator);
  return kSuccess;
}

COLL_EXPORT Result ncclCommAbort(Communicator communicator) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  if (is_wished("stuck abort", record->rank)) sleep_for_ever();
  record->abort();
  while (record->calls > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  remove_record(communicator);
  return kSuccess;
}

COLL_EXPORT Result ncclCommGetAsyncError(Communicator communicator, Result* state) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  if (record->state == kInProgress && record->waiting != std::this_thread::get_id()) {
    record->set_error(kInvalidUsage, "a second thread asks about a call in progress (the real NCCL would end its own thread's record twice)");
  }
  *state = wish("async", record->state, record->rank);
  return kSuccess;
}

COLL_EXPORT Result ncclCommCount(Communicator communicator, int* count) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  *count = record->size;
  return kSuccess;
}

COLL_EXPORT Result ncclCommUserRank(Communicator communicator, int* rank) {
  const Record record = find_record(communicator);
  if (record == nullptr) return kInvalidArgument;
  *rank = record->rank;
  return kSuccess;
}

COLL_EXPORT Result ncclGroupStart() {
  begin_group();
  return kSuccess;
}

COLL_EXPORT Result ncclGroupEnd() { return end_group(); }

COLL_EXPORT Result ncclAllReduce(const void* input, void* output, std::size_t count, int dtype, int op, Communicator communicator, coll::cuda::Stream stream) {
  return collective("ncclAllReduce", 0, input, output, count, dtype, op, 0, communicator, stream);
}

COLL_EXPORT Result ncclReduce(const void* input, void* output, std::size_t count, int dtype, int op, int root, Communicator communicator, coll::cuda::Stream stream) {
  return collective("ncclReduce", 1, input, output, count, dtype, op, root, communicator, stream);
}

COLL_EXPORT Result ncclBroadcast(const void* input, void* output, std::size_t count, int dtype, int root, Communicator communicator, coll::cuda::Stream stream) {
  return collective("ncclBroadcast", 2, input, output, count, dtype, kSum, root, communicator, stream);
}

COLL_EXPORT Result ncclAllGather(const void* input, void* output, std::size_t count, int dtype, Communicator communicator, coll::cuda::Stream stream) {
  return collective("ncclAllGather", 3, input, output, count, dtype, kSum, 0, communicator, stream);
}

COLL_EXPORT Result ncclReduceScatter(const void* input, void* output, std::size_t count, int dtype, int op, Communicator communicator, coll::cuda::Stream stream) {
  return collective("ncclReduceScatter", 4, input, output, count, dtype, op, 0, communicator, stream);
}

COLL_EXPORT Result ncclSend(const void* input, std::size_t count, int dtype, int peer, Communicator communicator, coll::cuda::Stream stream) {
  return message("ncclSend", kSend, input, nullptr, count, dtype, peer, communicator, stream);
}

COLL_EXPORT Result ncclRecv(void* output, std::size_t count, int dtype, int peer, Communicator communicator, coll::cuda::Stream stream) {
  return message("ncclRecv", kReceive, nullptr, output, count, dtype, peer, communicator, stream);
}
