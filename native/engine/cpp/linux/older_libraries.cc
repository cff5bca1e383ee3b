// Two names that new headers ask for and that the libraries of older distributions lack, where Node itself runs.
#include <new>

// glibc 2.32: whether there is one thread only. There never is in Node.
extern "C" {
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
}

// libstdc++ of GCC 11: what `new T[n]` throws for too large an n.
namespace std {
[[noreturn]] __attribute__((visibility("hidden"))) void __throw_bad_array_new_length() { throw bad_array_new_length(); }
}  // namespace std
