// Functions that new headers call but the libraries of older distributions lack. Node runs on those
// distributions.
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

namespace {

constexpr long kNanosPerSecond = 1'000'000'000;

// Converts a time from one clock to another.
timespec moved(const timespec& time, clockid_t from, clockid_t to) {
  timespec there{};
  timespec here{};
  clock_gettime(from, &here);
  clock_gettime(to, &there);
  timespec result{there.tv_sec + time.tv_sec - here.tv_sec, there.tv_nsec + time.tv_nsec - here.tv_nsec};
  for (; result.tv_nsec < 0; result.tv_nsec += kNanosPerSecond) --result.tv_sec;
  for (; result.tv_nsec >= kNanosPerSecond; result.tv_nsec -= kNanosPerSecond) ++result.tv_sec;
  return result;
}

}  // namespace

extern "C" {
// glibc 2.32: whether the process has a single thread. In Node it never has.
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;

// glibc 2.33. On 64-bit Linux the kernel fills in the same structure.
__attribute__((visibility("hidden"))) int fstat(int descriptor, struct stat* status) noexcept {
  return static_cast<int>(syscall(SYS_fstat, descriptor, status));
}

// glibc 2.34: waits by a given clock. Callers check their own clock before they stop waiting.
__attribute__((visibility("hidden"))) int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                                                 const timespec* until) {
  const timespec moment = moved(*until, clock, CLOCK_REALTIME);
  return pthread_cond_timedwait(condition, mutex, &moment);
}

// GCC 12's libstdc++ has std::condition_variable::wait in a new version. The condition variable is
// a pthread_cond_t, and a lock begins with the address of its mutex.
__attribute__((visibility("hidden"))) void coll_wait(pthread_cond_t* condition, pthread_mutex_t** lock) __asm__(
    "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");
void coll_wait(pthread_cond_t* condition, pthread_mutex_t** lock) { pthread_cond_wait(condition, *lock); }
}

// GCC 11's libstdc++: the exception for `new T[n]` with too large an n.
namespace std {
[[noreturn]] __attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
