#pragma once

// Uses the old versions of functions that glibc 2.32 and 2.34 moved to another library.
#if defined(__GLIBC__) && defined(__x86_64__)
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.2.5");
__asm__(".symver pthread_getcpuclockid,pthread_getcpuclockid@GLIBC_2.2.5");
#elif defined(__GLIBC__) && defined(__aarch64__)
__asm__(".symver pthread_sigmask,pthread_sigmask@GLIBC_2.17");
__asm__(".symver pthread_getcpuclockid,pthread_getcpuclockid@GLIBC_2.17");
#endif
