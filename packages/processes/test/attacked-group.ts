import { CollError } from '@coll/core';
import type { OpenedProcessGroup, OpenProcessGroupOptions } from '../src/index.js';
import type { AttackedNetwork } from './attacked-network.ts';

/** What became of one rank of a group over an attacked network. */
export interface End {
  readonly error?: unknown;
  /** What must not be: a wrong result, a rank that hangs, an error that is not typed or names no rank. */
  readonly problem?: string;
}

// Several records of TLS.
const values = new Float32Array(60_000).map((_, index) => Math.fround(Math.sin(index)));
const doubled = values.map((value) => value + value);
// If the length of a record was changed, its reader waits for bytes that never come.
const patience = { timeoutSeconds: 20 };
const rounds = 3;
const hangMillis = 180_000;

/** Opens a group of two ranks over the network, and lets it compute and send messages until it fails. */
export async function endsOver(
  network: AttackedNetwork,
  options: Partial<OpenProcessGroupOptions> = {},
): Promise<readonly End[]> {
  try {
    const openings = network.open({ timeoutSeconds: 60, heartbeatSeconds: 5, ...options });
    return await Promise.all(openings.map((opening, rank) => withinLimit(run(opening, rank))));
  } finally {
    network.close();
  }
}

/** The problems of all ranks. */
export function problemsOf(ends: readonly End[]): readonly string[] {
  return ends.flatMap(({ problem }, rank) => (problem === undefined ? [] : [`rank ${rank}: ${problem}`]));
}

async function run(opening: Promise<OpenedProcessGroup>, rank: number): Promise<End> {
  try {
    await using group = await opening;
    for (let round = 0; round < rounds; round++) {
      const problem = await computeWith(group, 1 - rank);
      if (problem !== undefined) return { problem: `round ${round}: ${problem}` };
    }
    return {};
  } catch (error) {
    if (!(error instanceof CollError)) return { error, problem: `another error: ${(error as Error).stack}` };
    return /rank [01]/.test(error.message) ? { error } : { error, problem: `names no rank: ${error.message}` };
  }
}

/** Makes an all-reduce with the other rank, and exchanges messages with it. Returns what is wrong. */
export async function computeWith(group: OpenedProcessGroup, other: number): Promise<string | undefined> {
  const sums = await group.allReduce('sum', values.slice(), patience);
  if (!isEqual(sums, doubled)) return 'the sum is wrong';
  const received = group.receive(other, new Float32Array(values.length), patience);
  const sent = group.send(other, values, patience);
  const [message] = await Promise.all([received, sent]);
  return isEqual(message, values) ? undefined : 'the message is wrong';
}

function isEqual(found: Float32Array, expected: Float32Array): boolean {
  return found.length === expected.length && found.every((value, index) => value === expected[index]);
}

function withinLimit(end: Promise<End>): Promise<End> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve({ problem: 'hangs' }), hangMillis);
    void end.then((found) => {
      clearTimeout(timer);
      resolve(found);
    });
  });
}
