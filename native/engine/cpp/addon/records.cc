#include "records.h"

#if defined(__linux__)

#include <memory>
#include <random>
#include <string>

#include "../record/record.h"
#include "../record/record_file.h"
#include "../record/thread_record.h"
#include "exports.h"
#include "memory.h"

namespace coll {
namespace {

// 16 hexadecimal digits, equal for all threads of the process.
const std::string& process_name() {
  static const std::string name = [] {
    std::random_device random;
    std::string digits;
    for (int i = 0; i < 16; ++i) digits += "0123456789abcdef"[random() % 16];
    return digits;
  }();
  return name;
}

// A mapped file, and whether a hook of the thread's end refers to it.
struct HeldFile {
  RecordFile file;
  bool is_hooked = false;
};

// Node ends worker threads without asking them. It calls hooks before it frees any memory.
void detach_file(void* held) {
  auto& file = *static_cast<HeldFile*>(held);
  file.is_hooked = false;
  detach_record(file.file.begin());
}

void detach_memory(void* record) { detach_record(static_cast<std::byte*>(record)); }

// mapRecord(path: string): ArrayBuffer, which is the record of the calling thread from now on
Napi::Value map_record(const Napi::CallbackInfo& info) {
  std::unique_ptr<HeldFile> held(new HeldFile{{text_of(info[0], "path"), record_layout::kBytes}});
  const auto unmap = [](Napi::Env env, void*, HeldFile* held) {
    if (held->is_hooked) napi_remove_env_cleanup_hook(env, detach_file, held);
    detach_record(held->file.begin());
    delete held;
  };
  HeldFile& file = *held;
  const Napi::Value buffer = Napi::ArrayBuffer::New(info.Env(), file.file.begin(), record_layout::kBytes, unmap, held.get());
  static_cast<void>(held.release());
  attach_record(file.file.begin());
  file.is_hooked = napi_add_env_cleanup_hook(info.Env(), detach_file, &file) == napi_ok;
  return buffer;
}

// attachRecord(memory: Int32Array): makes shared memory, which must exist as long as the thread,
// the record of the calling thread
Napi::Value attach_own_record(const Napi::CallbackInfo& info) {
  std::byte* const record = shared_elements_of(info[0], napi_int32_array, "memory", record_layout::kBytes / sizeof(std::int32_t)).begin;
  if (record == thread_record) throw WrongArgument("memory must not be the record of this thread already");
  attach_record(record);
  napi_add_env_cleanup_hook(info.Env(), detach_memory, record);
  return info.Env().Undefined();
}

}  // namespace

void add_records(Napi::Object exports) {
  exports.Set("processName", process_name());
  add<map_record>(exports, "mapRecord");
  add<attach_own_record>(exports, "attachRecord");
}

}  // namespace coll

#else

namespace coll {

void add_records(Napi::Object) {}

}  // namespace coll

#endif
