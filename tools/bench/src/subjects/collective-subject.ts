import type { Collective, CollectiveKind, Communicator } from '@coll/core';
import { elementsOf, type Trial } from '../trial.js';
import { agreeThrough } from './agreement.js';
import type { Buffers } from './buffers.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A communicator's collective on the buffers of its local ranks: in place where that is wanted and both are of one length. */
export function collectiveSubject(communicator: Communicator, buffers: Buffers, trial: Trial): Subject {
  const kind = trial.work.type === 'collective' ? trial.work.kind : 'all-reduce';
  const collective = collectiveOf(kind);
  const { size, localRanks } = communicator;
  const [inputLength, outputLength] = lengthsOf(kind, elementsOf(trial), size);
  const inputs = localRanks.map((rank) => buffers.take('input', rank, inputLength));
  const isInPlace = trial.place === 'in' && inputLength === outputLength;
  const outputs = isInPlace ? inputs : localRanks.map((rank) => buffers.take('output', rank, outputLength));
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
      return { kind, root: 0 };
    case 'all-gather':
      return { kind };
  }
}

/** Elements of a rank's input and output; the larger of them is `elements`. */
function lengthsOf(kind: CollectiveKind, elements: number, ranks: number): readonly [input: number, output: number] {
  if (kind === 'all-gather') return [elements / ranks, elements];
  return [elements, kind === 'reduce-scatter' ? elements / ranks : elements];
}
