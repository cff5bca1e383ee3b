#include "call_stamp.h"

#include <time.h>

#include <cstdint>

#include "record.h"
#include "thread_record.h"

namespace coll {
namespace {

using namespace record_layout;

// Indices of the states of a call.
constexpr std::uint8_t kRunning = 2;
constexpr std::uint8_t kWaiting = 3;
// Calls that move as many bytes per rank take so long that an exact time costs nothing.
constexpr double kLargeBytes = 65536;

double micros(Clock::time_point time) { return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count(); }

double exact_micros() { return micros(Clock::now()); }

double coarse_micros() {
#if defined(__linux__)
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
#else
  return exact_micros();
#endif
}

bool is_large(std::byte* call) { return read_field<double>(call, kBytesOfRank) >= kLargeBytes; }

}  // namespace

#if defined(__linux__)
std::byte* recorded_call() {
  std::byte* const record = thread_record;
  if (record == nullptr) return continued_call;
  const auto current = static_cast<std::size_t>(read_field<std::int32_t>(record, kCurrent));
  return current > 0 && current <= kCallCount ? record + kCalls + (current - 1) * kCallBytes : nullptr;
}

ContinuedCall::ContinuedCall(std::byte* call) { continued_call = call; }

ContinuedCall::~ContinuedCall() { continued_call = nullptr; }
#endif

void CallStamp::begin() const {
  if (read_field<double>(call_, kBegun) == 0) write_field(call_, kBegun, is_large(call_) ? exact_micros() : coarse_micros());
}

void CallStamp::write_end() const {
  const bool is_exact = read_field<double>(call_, kWaited) > 0 || is_large(call_);
  write_field(call_, kEnded, is_exact ? exact_micros() : coarse_micros());
}

void WaitStamp::record(int missing) {
  if (call_ == nullptr) call_ = recorded_call();
  if (call_ == nullptr) return;
  // The time of the latest tick is up to some milliseconds before the call.
  if (read_field<double>(call_, kWaited) == 0 && !is_large(call_)) write_field(call_, kBegun, micros(since_));
  write_field(call_, kWaitedFor, static_cast<std::int32_t>(missing + 1));
  write_field(call_, kState, kWaiting);
}

// The wait of a call may go on in several calls of native code.
void WaitStamp::write_end(bool have_arrived) const {
  write_field(call_, kWaited, read_field<double>(call_, kWaited) + exact_micros() - micros(since_));
  if (have_arrived) write_field(call_, kState, kRunning);
}

void stamp_first_data(std::byte* call, Clock::time_point now) {
  if (read_field<double>(call, kFirstData) == 0) write_field(call, kFirstData, micros(now));
}

}  // namespace coll
