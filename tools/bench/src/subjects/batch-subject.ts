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
import { problemOf, writePattern } from './pattern.js';
import type { Subject } from './subject.js';

/** A replica's all-reduce of a list of tensors from its own thread, in place. */
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

/** A communicator's all-reduce of the lists of tensors of its local ranks, as pieces of one buffer a rank, in place. */
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

/** All replicas' lists of tensors, reduced together by the thread that holds them, in place. */
export function batchSubject(ops: CrossDeviceOps, buffers: GradientBuffers, trial: Trial): Subject {
  const replicas = Array.from({ length: trial.ranks }, (_, rank) => buffers.take(trial, rank));
  const values = trial.counts.map((_, index) => new PerReplica(replicas.map((tensors) => tensors[index] as Tensor)));
  const pairs = values.map((value) => [value, value] as const);
  const call = { bytesPerPack: bytesPerPackOf(trial), into: values };
  let results: readonly DistributedValues<Tensor>[] = [];
  return {
    isSync: false,
    rewrite() {
      for (const [rank, tensors] of replicas.entries()) rewrite(tensors, rank);
    },
    async call() {
      results = (await ops.batchReduce(ReduceOp.SUM, pairs, call)) as unknown as DistributedValues<Tensor>[];
    },
    problem() {
      const problems = replicas.map((_, rank) => {
        const tensors = results.map((result) => result.values[rank] as Tensor);
        return problemIn(tensors, rank, trial.ranks);
      });
      return problems.find((problem) => problem !== undefined);
    },
    agree() {},
  };
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
