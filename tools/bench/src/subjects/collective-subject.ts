import type { Collective, CollectiveKind, Communicator } from '@coll/core';
import { bufferLengths, inputBlocks, outputBlocks } from '@coll/core/internal';
import { hasBlocks } from '@coll/core/schedule';
import { elementsOf, type Trial } from '../trial.js';
import { agreeThrough } from './agreement.js';
import type { Buffers } from './buffers.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/**
 * A communicator's collective on the buffers of its local ranks. It is in place if the trial wants it and
 * inputs and outputs have the same length.
 */
export function collectiveSubject(communicator: Communicator, buffers: Buffers, trial: Trial): Subject {
  const kind = trial.work.type === 'collective' ? trial.work.kind : 'all-reduce';
  const collective = collectiveOf(kind);
  const { size, localRanks } = communicator;
  const count = elementsOf(trial) / Math.max(inputBlocks(collective, size), outputBlocks(collective, size));
  const lengths = localRanks.map((rank) => bufferLengths(collective, count, size, rank));
  const take = (side: 'input' | 'output') =>
    localRanks.map((rank, index) => buffers.take(side, rank, lengths[index]?.[side] ?? 0));
  const inputs = take('input');
  const isInPlace = trial.place === 'in' && !hasBlocks(kind);
  const outputs = isInPlace ? inputs : take('output');
  const isSync = trial.form === 'sync';
  return {
    isSync,
    rewrite() {
      for (const [index, { data }] of inputs.entries()) writePattern(data as Float32Array, localRanks[index] as number);
    },
    call: isSync
      ? () => communicator.runSync(collective, inputs, outputs)
      : () => communicator.run(collective, inputs, outputs),
    problem() {
      const problems = outputs.map(({ data }, index) =>
        problemOf({ kind, rank: localRanks[index] as number, ranks: size }, data as Float32Array),
      );
      return problems.find((problem) => problem !== undefined);
    },
    agree: (values) => agreeThrough(communicator, values),
  };
}

function collectiveOf(kind: CollectiveKind): Collective {
  switch (kind) {
    case 'all-reduce':
    case 'reduce-scatter':
      return { kind, op: 'sum' };
    case 'reduce':
      return { kind, op: 'sum', root: 0 };
    case 'broadcast':
    case 'gather':
    case 'scatter':
      return { kind, root: 0 };
    case 'all-gather':
    case 'all-to-all':
      return { kind };
  }
}
