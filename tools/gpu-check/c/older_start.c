/*
 * Makes a program start on older systems: glibc 2.34 gave the start function a new version, and this uses the older version, which newer
 * systems still have. Link it with --wrap=__libc_start_main.
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
