import { type Collective, type DType, dtypes } from '@coll/core';
import { hasBlocks } from '@coll/core/schedule';
import { moves, ops, reductions } from './collectives.js';
import type { ExecutorCases } from './executor-case.js';
import { placements } from './placement.js';
import type { Subject } from './subject.js';
import type { Trial } from './trial.js';

/** Tests that many different collectives can be called one after the other. */
export const sequenceCases: ExecutorCases = {
  'keeps the order of many calls in flight': (subject) => keepsOrder(subject),
  'lets sync and async calls of different ranks match': mixesWaiting,
};

/**
 * Tests that collectives with buffers of very different lengths can be called one after the other.
 */
export const growthCases: ExecutorCases = { 'grows with its buffers and shrinks again': grows };

async function keepsOrder(subject: Subject): Promise<void> {
  await subject.check(mixedTrials(subject), (call) => ({ ...call, mode: 'run' }));
}

async function mixesWaiting(subject: Subject): Promise<void> {
  const { canBlock } = await subject.group();
  await subject.check(mixedTrials(subject), (call, member, index) => {
    return { ...call, mode: canBlock && (index * 7 + member * 5) % 3 === 0 ? 'runSync' : 'run' };
  });
}

// Makes shared memory grow: in small groups, all buffers together have up to 1.3 MB.
async function grows(subject: Subject): Promise<void> {
  const most = subject.size <= 4 ? Math.floor(160_000 / subject.size) : 1000;
  const blocks = [1, Math.floor(most / 4), 3, most, 100];
  const trialOf = (collective: Collective, block: number, index: number): Trial => ({
    collective,
    dtype: index % 2 === 0 ? 'uint8' : 'float64',
    block: hasBlocks(collective.kind) ? Math.ceil(block / subject.size) : block,
  });
  for (const collective of subject.among([
    { kind: 'all-reduce', op: 'sum' },
    { kind: 'all-gather' },
    { kind: 'all-to-all' },
  ])) {
    await subject.check(blocks.map((block, index) => trialOf(collective, block, index)));
  }
}

/**
 * Makes trials of all kinds, dtypes and placements, in a fixed but mixed order. With many ranks, one
 * op and one dtype: every rank proves a schedule for each of them, which takes longer than the call.
 */
function mixedTrials(subject: Subject): Trial[] {
  const isLarge = subject.hasManyRanks;
  const [count, blocks] = isLarge ? [20, 4] : [60, 101];
  const someOps = isLarge ? (['sum'] as const) : ops;
  const someDTypes = isLarge ? (['float32'] as const) : dtypes;
  const collectives = subject.among([...reductions(someOps, subject.roots()), ...moves(subject.roots())]);
  const pick = <T>(list: readonly T[], index: number, step: number) => list[(index * step) % list.length] as T;
  return Array.from({ length: count }, (_, index): Trial => {
    const collective: Collective = pick(collectives, index, 7);
    const dtype: DType = pick(someDTypes, index, 5);
    return { collective, dtype, block: (index * 37) % blocks, placement: pick(placements, index, 3) };
  });
}
