import type { PerReplica } from '@coll/core';
import type { Strategy } from '@coll/strategy';
import { type Points, points, slice } from './data.ts';

/** Loads and splits the data once. Returns the training points of each replica, and the test points for all of them. */
export async function shares(strategy: Strategy): Promise<[train: PerReplica<Points>, test: Points]> {
  const loaded = points();
  // Each process has loaded other points, so all of them take those of replica 0.
  const received = await strategy.run((replica) => replica.broadcast(loaded));
  const [{ train, test }] = strategy.experimentalLocalResults(received) as unknown as [
    Record<keyof typeof loaded, Sent>,
  ];
  const all = { xs: train.xs.data, ys: train.ys.data };
  const own = strategy.experimentalDistributeValuesFromFunction(({ replicaIdInSyncGroup: id, numReplicasInSync }) => {
    const size = all.ys.length / numReplicasInSync;
    return slice(all, id * size, (id + 1) * size);
  });
  return [own, { xs: test.xs.data, ys: test.ys.data }];
}

/** Points after a broadcast, which returns tensors. */
type Sent = { readonly [Name in keyof Points]: { readonly data: Float32Array } };
