#include "crew.h"

#include <algorithm>
#include <system_error>

#include "waiting.h"

namespace coll {
namespace {

// How long a helper looks for the next shift: back-to-back calls find it awake.
constexpr int kLooks = 2000;
constexpr int kIdleMillis = 1000;

}  // namespace

Crew::Crew(int helpers) : helpers_(helpers), shares_(new Share[static_cast<std::size_t>(helpers) + 1]) {}

Crew::~Crew() {
  has_ended_.store(true);
  latest_.fetch_add(1);
  unpark(latest_);
  for (std::thread& thread : threads_) thread.join();
}

void Crew::start() {
  threads_.reserve(static_cast<std::size_t>(helpers_));
  try {
    for (int worker = 1; worker <= helpers_; ++worker) threads_.emplace_back([this, worker] { help(worker); });
  } catch (const std::system_error&) {
    // The system gives no more threads: the owner works off the shares of those that are not there.
  }
}

void Crew::run(const Shift& shift) {
  if (helpers_ > 0 && threads_.empty()) start();
  shift_ = shift;
  const std::size_t workers = static_cast<std::size_t>(helpers_) + 1;
  const std::size_t units = (shift.count + shift.unit - 1) / shift.unit;
  for (std::size_t i = 0; i < workers; ++i) {
    shares_[i].next.store(std::min(units * i / workers * shift.unit, shift.count), std::memory_order_relaxed);
    shares_[i].end = std::min(units * (i + 1) / workers * shift.unit, shift.count);
  }
  std::uint32_t number = latest_.load(std::memory_order_relaxed) + 1;
  number += number == 0;
  open_.store(number);
  latest_.store(number);
  if (parked_.load() != 0) unpark(latest_);
  work(0);
  open_.store(0);
  // The system may have taken the core from a helper that is just leaving.
  for (int look = 0; inside_.load() != 0; ++look) look < kLooks ? pause() : yield();
}

void Crew::help(int worker) {
  std::uint32_t seen = 0;
  while (!has_ended_.load()) {
    for (int look = 0; look < kLooks && latest_.load() == seen; ++look) pause();
    if (latest_.load() == seen) {
      parked_.fetch_add(1);
      park(latest_, seen, kIdleMillis);
      parked_.fetch_sub(1);
      continue;
    }
    seen = latest_.load();
    inside_.fetch_add(1);
    if (open_.load() == seen) work(worker);
    inside_.fetch_sub(1);
  }
}

void Crew::work(int worker) {
  const int workers = helpers_ + 1;
  for (int i = 0; i < workers; ++i) {
    Share& share = shares_[static_cast<std::size_t>((worker + i) % workers)];
    for (;;) {
      const std::size_t begin = share.next.fetch_add(shift_.unit);
      if (begin >= share.end) break;
      shift_.work(shift_.context, worker, begin, std::min(begin + shift_.unit, share.end));
    }
  }
}

}  // namespace coll
