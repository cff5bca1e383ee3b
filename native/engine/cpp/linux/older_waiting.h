#pragma once

// GCC 12's libstdc++ gave this a new version; the old one is still there, and all that distributions before it have.
#if defined(__GLIBCXX__) && defined(__linux__) && !defined(__SANITIZE_THREAD__)
__asm__(".symver _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE,_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE@GLIBCXX_3.4.11");
#endif

// The same for a function that glibc 2.34 moved to another library.
#if defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#if defined(__x86_64__)
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver pthread_mutex_trylock,pthread_mutex_trylock@GLIBC_2.17");
#endif
#endif
