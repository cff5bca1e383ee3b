#pragma once

// GCC 12's libstdc++ gave this function a new version. Older distributions have only the old one,
// which newer ones have as well.
#if defined(__GLIBCXX__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
__asm__(".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif

// Uses the old version of a function that glibc 2.34 moved to another library.
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#if defined(__x86_64__)
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@GLIBC_2.17");
#endif
#endif
