import {
  type Communicator,
  type CrossDeviceOps,
  type DistributedValues,
  PerReplica,
  ReduceOp,
  type Tensor,
} from '@coll/core';
import type { Trial } from '../trial.js';
import { agreeThrough } from './agreement.js';
import type { GradientBuffers } from './buffers.js';
import { callArrays, isAllocationAlone } from './call-arrays.js';
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A replica's all-reduce of a list of tensors, in place, called from its own thread. */
export function replicaBatchSubject(
  ops: CrossDeviceOps,
  buffers: GradientBuffers,
  rank: number,
  trial: Trial,
): Subject {
  const tensors = buffers.take(trial, rank);
  const call = { bytesPerPack: bytesPerPackOf(trial), into: tensors };
  const isSync = trial.form === 'sync';
  return {
    isSync,
    rewrite: () => rewrite(tensors, rank),
    call: isSync
      ? () => void ops.allReduceSync(ReduceOp.SUM, tensors, rank, call)
      : () => ops.allReduce(ReduceOp.SUM, tensors, rank, call),
    problem: () => problemIn(tensors, rank, trial.ranks),
    agree: (maxima) => void ops.allReduceSync(ReduceOp.MAX, maxima, rank, { into: maxima }),
  };
}

/**
 * A communicator's all-reduce of the lists of tensors of its local ranks, in place, as if each list were
 * one buffer.
 */
export function piecesSubject(communicator: Communicator, buffers: GradientBuffers, trial: Trial): Subject {
  const { localRanks, size } = communicator;
  const lists = localRanks.map((rank) => buffers.takeFor(communicator, trial, rank));
  const sum = { kind: 'all-reduce', op: 'sum' } as const;
  const isSync = trial.form === 'sync';
  return {
    isSync,
    rewrite() {
      for (const [index, tensors] of lists.entries()) rewrite(tensors, localRanks[index] as number);
    },
    call: isSync ? () => communicator.runSync(sum, lists, lists) : () => communicator.run(sum, lists, lists),
    problem() {
      const problems = lists.map((tensors, index) => problemIn(tensors, localRanks[index] as number, size));
      return problems.find((problem) => problem !== undefined);
    },
    agree: (maxima) => agreeThrough(communicator, maxima),
  };
}

/**
 * The reduction of all replicas' tensors by the thread that holds them: `batchReduce` of lists, or `reduce`
 * of one value.
 */
export function batchSubject(ops: CrossDeviceOps, buffers: GradientBuffers, trial: Trial): Subject {
  const { work, counts, ranks, place } = trial;
  const replicas = Array.from({ length: ranks }, (_, rank) => buffers.take(trial, rank));
  const values = counts.map((_, index) => new PerReplica(replicas.map((tensors) => tensors[index] as Tensor)));
  const memory = (work.type === 'batch' || work.type === 'reduce' ? work.memory : undefined) ?? 'known';
  const arraysOf = callArrays(memory, place, values, copyOf);
  const bytesPerPack = bytesPerPackOf(trial);
  let results: readonly (DistributedValues<Tensor> | Tensor)[] = [];
  return {
    isSync: false,
    rewrite() {
      for (const [rank, tensors] of replicas.entries()) rewrite(tensors, rank);
    },
    async call() {
      const { inputs, into } = arraysOf();
      if (isAllocationAlone(memory)) {
        // Keep the arrays until the next call, like results. Otherwise the compiler could remove the allocation.
        results = into ?? inputs;
      } else if (work.type === 'reduce') {
        const [value] = inputs as readonly [PerReplica<Tensor>];
        results = [await ops.reduce(ReduceOp.SUM, value, value, into && { into: into[0] })];
      } else {
        const pairs = inputs.map((value) => [value, value] as const);
        results = await ops.batchReduce(ReduceOp.SUM, pairs, { bytesPerPack, into });
      }
    },
    problem() {
      if (isAllocationAlone(memory)) return undefined;
      const problems = replicas.map((_, rank) => {
        const tensors = results.map((result) => ('values' in result ? result.values[rank] : result) as Tensor);
        return problemIn(tensors, rank, trial.ranks);
      });
      return problems.find((problem) => problem !== undefined);
    },
    agree() {},
  };
}

/** A copy in new memory. Copying touches all of the memory. */
function copyOf({ values }: PerReplica<Tensor>): PerReplica<Tensor> {
  return new PerReplica(values.map((component) => ({ ...component, data: component.data.slice() })));
}

function bytesPerPackOf({ work }: Trial): number {
  return work.type === 'batch' ? work.bytesPerPack : 0;
}

function rewrite(tensors: readonly Tensor[], rank: number): void {
  for (const { data } of tensors) writePattern(data as Float32Array, rank);
}

function problemIn(tensors: readonly Tensor[], rank: number, ranks: number): string | undefined {
  for (const [index, { data }] of tensors.entries()) {
    const problem = problemOf({ kind: 'all-reduce', rank, ranks }, data as Float32Array);
    if (problem !== undefined) return `tensor ${index}: ${problem}`;
  }
  return undefined;
}
