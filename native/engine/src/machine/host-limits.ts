import { SystemFiles } from './system-files.js';

/** What the system allows to processes that work together. Undefined where the system does not report it. */
export interface HostLimits {
  /**
   * `kernel.yama.ptrace_scope`: from 1 on, the ranks of a launcher may not read each other's memory.
   * 0 if the kernel has no such rule.
   */
  readonly ptraceScope: number | undefined;
  /** When the system uses huge pages for private memory: `always`, `madvise` or `never`. */
  readonly hugePages: string | undefined;
  /** The same for shared memory, which also may be `within_size`, `advise`, `deny` or `force`. */
  readonly sharedHugePages: string | undefined;
  /** The most files that a process may open, `ulimit -n`: a number, or `unlimited`. */
  readonly openFiles: string | undefined;
}

/**
 * Reads the limits of this process and its host.
 * @param root the folder with `proc` and `sys`. Default: `/`
 */
export function findHostLimits(root = '/'): HostLimits {
  const files = new SystemFiles(root);
  const isLinux = files.read('proc/self/status') !== undefined;
  const scope = files.read('proc/sys/kernel/yama/ptrace_scope');
  const pages = 'sys/kernel/mm/transparent_hugepage';
  return {
    ptraceScope: scope === undefined ? (isLinux ? 0 : undefined) : Number(scope),
    hugePages: chosenIn(files.read(pages, 'enabled')),
    sharedHugePages: chosenIn(files.read(pages, 'shmem_enabled')),
    openFiles: /^Max open files\s+(\S+)/m.exec(files.read('proc/self/limits') ?? '')?.[1],
  };
}

/** The choice in brackets, as in `always [madvise] never`. */
function chosenIn(text: string | undefined): string | undefined {
  return /\[(\w+)\]/.exec(text ?? '')?.[1];
}
