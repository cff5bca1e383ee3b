import type { Collective, CollectiveKind, DType } from '@coll/core';
import { hasOneResult } from '@coll/core/internal';
import { opOf } from '@coll/core/plugin';
import { hasBlocks } from '@coll/core/schedule';
import { oneOfEach } from './collectives.js';
import { caseFor, type ExecutorCases } from './executor-case.js';
import { placements } from './placement.js';
import type { Subject } from './subject.js';
import type { Trial } from './trial.js';

/** Tests that executors accept buffers in any placement, and change only the outputs. */
export const memoryCases: ExecutorCases = {
  ...Object.fromEntries(
    placements.map((placement) => {
      const name = `works ${placement} and changes nothing but the outputs`;
      return [name, (subject: Subject) => subject.check(trialsOf(subject).map((trial) => ({ ...trial, placement })))];
    }),
  ),
  'accepts buffers in segments': caseFor(({ kinds }) => kinds.some(hasSegments), takesSegments),
  'writes one result for all ranks with sharedResult': caseFor(({ members = 1 }) => members === 1, writesOneResult),
};

/**
 * Checks that collectives without blocks accept buffers in segments: empty segments, segments of
 * one element, and longer ones.
 */
async function takesSegments(subject: Subject): Promise<void> {
  const trials = trialsOf(subject).filter(({ collective, block }) => hasSegments(collective.kind) && block > 1);
  const lists = [[1], [0, 1, 1, 2]];
  for (const placement of ['in own memory', 'in place', 'in allocated memory'] as const) {
    await subject.check(
      trials.map((trial, index) => ({ ...trial, placement, options: { cuts: lists[index % 2] as readonly number[] } })),
    );
  }
}

function hasSegments(kind: CollectiveKind): boolean {
  return !hasBlocks(kind);
}

async function writesOneResult(subject: Subject): Promise<void> {
  const { members } = await subject.group();
  // With several members, each has its own results.
  if (members.length > 1) return;
  const everywhere = trialsOf(subject).filter(({ collective }) => hasOneResult(collective));
  const shared = { placement: 'with one output for all', options: { sharedResult: true } } as const;
  await subject.check(everywhere.map((trial) => ({ ...trial, ...shared })));
  await subject.check(trialsOf(subject).map((trial) => ({ ...trial, options: shared.options })));
}

function trialsOf(subject: Subject): Trial[] {
  const collectives = subject.among([...oneOfEach(subject.size - 1), ...oneOfEach(0, 'mean')]);
  return collectives.flatMap((collective) =>
    dtypesOf(collective).flatMap((dtype) => {
      const lengths = dtype === 'float32' ? [0, 1, subject.size + 2, 517] : [subject.size + 2];
      return lengths.map((block): Trial => ({ collective, dtype, block }));
    }),
  );
}

// Dtypes of every width. Means only of dtypes that the mean keeps: otherwise an input and an output
// could not share memory, and all placements would be the same.
function dtypesOf(collective: Collective): readonly DType[] {
  return opOf(collective) === 'mean' ? ['float16', 'float32'] : ['uint8', 'float16', 'float32', 'int64'];
}
