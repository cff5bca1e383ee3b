#include "thread_record.h"

#if defined(__linux__)

#include <sys/syscall.h>
#include <unistd.h>

#include "pulse.h"
#include "record.h"

namespace coll {

void attach_record(std::byte* record) {
  if (thread_record != nullptr) Pulse::of_process().remove(thread_record);
  write_field(record, record_layout::kSystemThread, static_cast<std::int32_t>(syscall(SYS_gettid)));
  Pulse::of_process().add(record);
  thread_record = record;
}

void detach_record(std::byte* record) {
  if (thread_record != record) return;
  Pulse::of_process().remove(record);
  thread_record = nullptr;
  constexpr std::int32_t kOpen = 0;
  constexpr std::int32_t kClosed = 1;
  if (read_field<std::int32_t>(record, record_layout::kEnd) == kOpen) write_field(record, record_layout::kEnd, kClosed);
}

}  // namespace coll

#endif
