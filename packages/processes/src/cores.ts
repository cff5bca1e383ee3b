import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The CPU cores that a process may use. */
export interface Cores {
  /** Number of threads of the process that can run at once. */
  readonly cores: number;
  /** The cores as Linux lists them: `0-3,8`. Empty if the system does not report them. */
  readonly coreList: string;
}

/** The cores of this process. */
export function ownCores(): Cores {
  const own = { cores: availableParallelism(), coreList: listOfSystem() };
  return areCores(own) ? own : { ...own, coreList: '' };
}

/** Whether a value that another process has sent is a valid result of `ownCores`. */
export function areCores({ cores, coreList }: Partial<Cores>): boolean {
  const isCount = Number.isInteger(cores) && Number(cores) > 0 && Number(cores) <= mostCores;
  return isCount && typeof coreList === 'string' && coreList.length <= mostCharacters && isList(coreList);
}

/**
 * Number of threads that can run at once in all these processes, which run on one machine. Counts
 * cores that several processes share only once; launchers often give each process its own.
 */
export function coresTogether(processes: readonly Cores[]): number {
  const lists = processes.map(({ coreList }) => numbersIn(coreList));
  if (lists.some(({ length }) => length === 0)) return Math.max(...processes.map(({ cores }) => cores));
  // A process that may use fewer cores than listed has a quota, which covers its whole container.
  const quotas = processes.map(({ cores }, index) => (cores < (lists[index] as number[]).length ? cores : mostCores));
  return Math.min(new Set(lists.flat()).size, ...quotas);
}

const mostCores = 8192;
const mostCharacters = 1024;

function isList(text: string): boolean {
  if (text !== '' && !/^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$/.test(text)) return false;
  const sizes = rangesIn(text).map(([first, last]) => last - first + 1);
  return sizes.every((size) => size > 0) && sizes.reduce((sum, size) => sum + size, 0) <= mostCores;
}

function numbersIn(list: string): number[] {
  return rangesIn(list).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  );
}

function rangesIn(list: string): [first: number, last: number][] {
  if (list === '') return [];
  return list.split(',').map((part) => {
    const [first, last = first] = part.split('-').map(Number) as [number, number?];
    return [first, last];
  });
}

function listOfSystem(): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}
