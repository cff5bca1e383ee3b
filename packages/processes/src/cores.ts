import { coresIn, findCores, isCoreList, mostCores } from '@coll/native/machine';

/** The CPU cores that a process may use. */
export interface Cores {
  /** Number of threads of the process that can run at once. */
  readonly cores: number;
  /** The cores as Linux lists them: `0-3,8`. Empty if the system does not report them. */
  readonly coreList: string;
}

/** The cores of this process. */
export function ownCores(): Cores {
  const { cores, coreList } = findCores();
  const own = { cores, coreList };
  return areCores(own) ? own : { ...own, coreList: '' };
}

/** Whether a value that another process has sent is a valid result of `ownCores`. */
export function areCores({ cores, coreList }: Partial<Cores>): boolean {
  const isCount = Number.isInteger(cores) && Number(cores) > 0 && Number(cores) <= mostCores;
  return isCount && typeof coreList === 'string' && coreList.length <= mostCharacters && isCoreList(coreList);
}

/**
 * Number of threads that can run at once in all these processes, which run on one machine. Counts
 * cores that several processes share only once; launchers often give each process its own.
 */
export function coresTogether(processes: readonly Cores[]): number {
  const lists = processes.map(({ coreList }) => coresIn(coreList));
  if (lists.some(({ length }) => length === 0)) return Math.max(...processes.map(({ cores }) => cores));
  // A process that may use fewer cores than listed has a quota, which covers its whole container.
  const quotas = processes.map(({ cores }, index) => (cores < (lists[index] as number[]).length ? cores : mostCores));
  return Math.min(new Set(lists.flat()).size, ...quotas);
}

const mostCharacters = 1024;
