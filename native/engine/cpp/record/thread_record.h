#pragma once

#if defined(__linux__)

#include <cstddef>

namespace coll {

// The record of the calling thread, whose calls native code stamps; null if it has none.
inline thread_local std::byte* thread_record = nullptr;

// The entry of a call that another thread has recorded and the calling thread continues; null if
// there is none.
inline thread_local std::byte* continued_call = nullptr;

// Makes `record` the record of the calling thread, in place of an earlier one. From then on, the
// pulse of the process writes to it.
void attach_record(std::byte* record);

// Ends that, before the memory is released or the thread ends. A record that is still open is
// closed. Does nothing if the calling thread has another record or none.
void detach_record(std::byte* record);

}  // namespace coll

#endif
