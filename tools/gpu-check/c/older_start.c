/*
 * glibc 2.34 gave the function that begins a program a new version. With the older one, which it still has, a program begins on older systems, too. To be linked with
 * --wrap=__libc_start_main.
 */
#if defined(__x86_64__)
__asm__(".symver begin,__libc_start_main@GLIBC_2.2.5");
#elif defined(__aarch64__)
__asm__(".symver begin,__libc_start_main@GLIBC_2.17");
#endif
typedef void (*Hook)(void);
extern int begin(int (*main)(int, char**, char**), int, char**, Hook, Hook, Hook, void*);

int __wrap___libc_start_main(int (*main)(int, char**, char**), int count, char** arguments, Hook start, Hook end, Hook unload, void* stack) {
  return begin(main, count, arguments, start, end, unload, stack);
}
