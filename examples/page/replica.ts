// The module of every worker. `replica-thread` connects it to the page.
import '@coll/strategy/replica-thread';
import type { ReplicaContext } from '@coll/strategy';

const rate = 0.5;

/** Fits a line to points (x, y), of which each replica takes every n-th. Returns its slope and offset. */
export function replica(context: ReplicaContext, points: readonly (readonly [x: number, y: number])[], steps: number) {
  const { replicaIdInSyncGroup: id, numReplicasInSync: replicas } = context;
  const own = points.filter((_, index) => index % replicas === id);
  let [slope, offset] = [0, 0];
  for (let step = 1; step <= steps; step++) {
    const sums = new Float32Array(3);
    for (const [x, y] of own) {
      const error = slope * x + offset - y;
      sums.set([(sums[0] as number) + error * x, (sums[1] as number) + error, (sums[2] as number) + error ** 2]);
    }
    // Blocks this worker, but not the page.
    const [forSlope, forOffset, loss] = context.allReduceSync('sum', sums).data as unknown as [number, number, number];
    slope -= (rate * forSlope) / points.length;
    offset -= (rate * forOffset) / points.length;
    if (id === 0 && step % 20 === 0) context.report({ step, loss: loss / points.length });
  }
  return { slope, offset };
}
