import { describe, expect, it } from 'vitest';
import { MirroredStrategy, ValueContext } from '../index.js';

describe('a value context', () => {
  it('is a single replica by default', () => {
    expect({ ...new ValueContext() }).toEqual({ replicaIdInSyncGroup: 0, numReplicasInSync: 1 });
  });

  it('is passed to the function that creates values', () => {
    const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
    const { values } = strategy.experimentalDistributeValuesFromFunction((context) => context);
    expect(values).toEqual(
      [0, 1].map((replicaIdInSyncGroup) => new ValueContext({ replicaIdInSyncGroup, numReplicasInSync: 2 })),
    );
    expect(values.every((context) => context instanceof ValueContext)).toBe(true);
  });

  it('prints its replica id and the number of replicas', () => {
    const context = new ValueContext({ replicaIdInSyncGroup: 1, numReplicasInSync: 3 });
    expect(`${context}`).toBe('ValueContext(replica id 1, total replicas in sync: 3)');
  });
});
