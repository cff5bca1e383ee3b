/** What a rank does wrong, and how others see it. */
export const faults = {
  none: 'Nothing goes wrong.',
  kill: 'The process is killed.',
  stop: 'The process is stopped.',
  loop: 'The rank computes without end.',
  blocked: 'The rank reads a file that never answers, and blocks its thread.',
  idle: 'The rank makes no further call.',
  skip: 'The rank leaves out one call.',
  wrong: 'The rank makes another call than the others.',
  exit: 'The process ends early, with exit code 0 or another.',
  throw: 'The rank throws an error that nobody catches.',
  send: 'Two ranks send to each other before they receive.',
} as const;

export type Fault = keyof typeof faults;

/** How the ranks of a job run. */
export const modes = ['threads', 'coll run', 'TF_CONFIG', 'mpirun'] as const;
export type Mode = (typeof modes)[number];

/** A job and its fault, which its seed determines. */
export interface Scenario {
  readonly seed: number;
  readonly mode: Mode;
  readonly fault: Fault;
  readonly size: number;
  /** The rank that does something wrong, and another one. */
  readonly guilty: number;
  readonly other: number;
  /** Number of the round in which it happens. */
  readonly at: number;
  readonly heartbeatSeconds: number;
  readonly transport: 'shared-memory' | 'tcp';
  /** Whether the ranks block their threads in calls. */
  readonly isBlocking: boolean;
}

/** Number of rounds of a job without fault. */
export const rounds = 24;

// A thread cannot be stopped or killed alone.
const ofProcesses: readonly Fault[] = ['kill', 'stop'];

export function scenarioOf(seed: number, available: readonly Mode[] = modes): Scenario {
  const random = randomFrom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const mode = pick(available);
  const possible = (Object.keys(faults) as Fault[]).filter(
    (fault) => mode !== 'threads' || !ofProcesses.includes(fault),
  );
  const size = 2 + Math.floor(random() * 3);
  const guilty = Math.floor(random() * size);
  return {
    seed,
    mode,
    fault: pick(possible),
    size,
    guilty,
    other: (guilty + 1 + Math.floor(random() * (size - 1))) % size,
    at: 1 + Math.floor(random() * (rounds - 4)),
    heartbeatSeconds: pick([2, 60]),
    transport: pick(['shared-memory', 'tcp']),
    isBlocking: random() < 0.3,
  };
}

/** The ranks that a reader may name. Of two ranks that differ, rank 1 is named, as in `error.rank`. */
export function guiltyRanks({ fault, size, guilty, other }: Scenario): readonly number[] {
  if (fault === 'none') return [];
  if (fault === 'send') return [guilty, other];
  return (fault === 'wrong' || fault === 'skip') && size === 2 ? [1] : [guilty];
}

export function describe({ seed, mode, fault, size, guilty, transport }: Scenario): string {
  return `seed ${seed}: ${fault} of rank ${guilty} of ${size}, ${mode}${mode === 'threads' || mode === 'mpirun' ? '' : `, ${transport}`}`;
}

/** Random numbers from 0 to 1 (mulberry32), the same for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = Math.imul(seed + 1, 0x9e3779b1);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
