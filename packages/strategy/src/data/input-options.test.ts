import { describe, expect, it } from 'vitest';
import { InputOptions } from './input-options.js';

describe('input options', () => {
  it('have the defaults of TensorFlow', () => {
    expect({ ...new InputOptions() }).toEqual({
      equalSteps: false,
      experimentalFetchToDevice: true,
      experimentalReplicationMode: 'PER_WORKER',
      experimentalPlaceDatasetOnDevice: false,
      experimentalPerReplicaBufferSize: 1,
      globalBatchSize: undefined,
      autoShardPolicy: 'AUTO',
    });
  });

  it('can be created from other options', () => {
    const options = new InputOptions({ experimentalPerReplicaBufferSize: 3, autoShardPolicy: 'OFF' });
    expect(new InputOptions(options)).toEqual(options);
  });

  it('allow experimentalPlaceDatasetOnDevice only with PER_REPLICA and without fetching to the device', () => {
    const placed = { experimentalPlaceDatasetOnDevice: true } as const;
    const own = { ...placed, experimentalReplicationMode: 'PER_REPLICA' } as const;
    expect(() => new InputOptions(placed)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => new InputOptions(own)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => new InputOptions({ ...placed, experimentalFetchToDevice: false })).toThrow(
      'needs experimentalReplicationMode: PER_REPLICA and experimentalFetchToDevice: false',
    );
    const options = new InputOptions({ ...own, experimentalFetchToDevice: false });
    expect(options.experimentalPlaceDatasetOnDevice).toBe(true);
  });

  it.each([
    { experimentalPerReplicaBufferSize: -1 },
    { experimentalPerReplicaBufferSize: 1.5 },
    { globalBatchSize: 0 },
    { globalBatchSize: '1' as unknown as number },
    { experimentalReplicationMode: 1 as unknown as 'PER_REPLICA' },
    { experimentalReplicationMode: 'PER_DEVICE' as 'PER_REPLICA' },
    { autoShardPolicy: 'toString' as 'AUTO' },
    { autoShardPolicy: ['AUTO'] as never },
  ])('are refused with %o', (wrong) => {
    const [name] = Object.keys(wrong);
    const refused = { code: 'ERR_COLL_VALUE', message: expect.stringMatching(`^${name} (must be|is) `) };
    expect(() => new InputOptions(wrong)).toThrow(
      expect.objectContaining({ name: 'ValueError', code: 'ERR_COLL_VALUE' }),
    );
    expect(() => new InputOptions(wrong)).toThrow(expect.objectContaining(refused));
  });
});
