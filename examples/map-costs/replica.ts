import type { ReplicaContext } from '@coll/strategy';

/** Returns at once. */
export function replica(_context: ReplicaContext, ..._args: readonly unknown[]): void {}

/** Returns a number. */
export function one({ replicaIdInSyncGroup: id }: ReplicaContext): number {
  return id;
}

/** Returns numbers, one more on each replica than on the one before. */
export function several({ replicaIdInSyncGroup: id }: ReplicaContext, length: number): Float32Array {
  return new Float32Array(length + id);
}

/** The median time of each call in a replica, in microseconds. */
export function collectives(context: ReplicaContext, calls: number): Readonly<Record<string, number>> {
  const numbers = new Float64Array(1);
  const scores = new Float64Array(128);
  const games = new Float32Array(2 ** 14 + context.replicaIdInSyncGroup);
  const weights = new Float32Array(2 ** 20);
  const median = (call: () => unknown): number => {
    const times = new Float64Array(calls).map(() => {
      const start = performance.now();
      call();
      return 1000 * (performance.now() - start);
    });
    return times.sort()[calls >> 1] as number;
  };
  return {
    'allReduceSync of a number': median(() => context.allReduceSync('sum', numbers, { into: numbers })),
    'allGatherSync of 1 KiB per replica': median(() => context.allGatherSync(scores, 0)),
    'allGatherSync of about 64 KiB per replica, of unequal lengths': median(() => context.allGatherSync(games, 0)),
    'broadcastSync of 4 MiB, into itself': median(() => context.broadcastSync(weights, 0, { into: weights })),
  };
}
