import { together } from '@coll/strategy/internal';
import { describe, expect, it } from 'vitest';
import { commonMetrics, type OwnMetrics, weightedMean } from './common-metrics.js';

/** What each replica gets. */
function commonOf(ofReplicas: readonly Partial<OwnMetrics>[]) {
  const [first, ...others] = together(
    ofReplicas.map((own, replica) =>
      commonMetrics(
        { of: 'epoch 3', metrics: {}, rows: undefined, validationRows: undefined, wantsStop: false, ...own },
        { numReplicasInSync: ofReplicas.length, replicaIdInSyncGroup: replica },
      ),
    ),
  );
  for (const other of others) expect(other).toEqual(first);
  return first;
}

describe('metrics of all replicas', () => {
  it('are weighted by rows', () => {
    const common = commonOf([
      { metrics: { loss: 1 }, rows: 3 },
      { metrics: { loss: 5 }, rows: 1 },
    ]);
    expect(common).toEqual({ metrics: { loss: 2 }, rows: 4, stops: false });
  });

  it('have equal weights if no replica knows its rows', () => {
    expect(commonOf([{ metrics: { loss: 1 } }, { metrics: { loss: 5 } }])?.metrics).toEqual({ loss: 3 });
  });

  it('ignore a replica without rows, and keep NaN and infinity of the others', () => {
    const metricsOf = (metrics: OwnMetrics['metrics'], rows: number) => ({ metrics, rows });
    const nothing = metricsOf({ loss: Number.NaN, acc: Number.NaN }, 0);
    const [some, others] = [
      metricsOf({ loss: 2, acc: Number.POSITIVE_INFINITY }, 4),
      metricsOf({ loss: 4, acc: 1 }, 4),
    ];
    expect(commonOf([nothing, some, others])?.metrics).toEqual({ loss: 3, acc: Number.POSITIVE_INFINITY });
    expect(commonOf([some, metricsOf({ loss: Number.NaN, acc: 1 }, 1)])?.metrics['loss']).toBeNaN();
  });

  it('end the training if any replica wants to', () => {
    expect(commonOf([{}, { wantsStop: true }, {}])?.stops).toBe(true);
  });

  it('are those of replica 0 if metrics of validation differ by rounding only', () => {
    const common = commonOf([{ metrics: { val_loss: 0.5 } }, { metrics: { val_loss: 0.5000001 } }]);
    expect(common?.metrics).toEqual({ val_loss: 0.5 });
    expect(commonOf([{ metrics: { val_loss: Number.NaN } }, { metrics: { val_loss: Number.NaN } }])?.metrics).toEqual({
      val_loss: Number.NaN,
    });
  });

  it('are weighted by rows of validation if replicas give them', () => {
    const common = commonOf([
      { metrics: { val_loss: 1 }, rows: 9, validationRows: 3 },
      { metrics: { val_loss: 5 }, rows: 9, validationRows: 1 },
    ]);
    expect(common?.metrics).toEqual({ val_loss: 2 });
  });

  it.each([
    [
      [{ metrics: { val_loss: 1 } }, { metrics: { val_loss: Number.NaN } }],
      /^distributedCallbacks: val_loss differs between replicas at the end of epoch 3: 1 on replica 0, NaN on replica 1; /,
    ],
    [[{ rows: 3 }, {}], /^distributedCallbacks: replica 0 gives the size of its batches .*, but replica 1 does not; /],
    [[{}, { validationRows: 3 }], /^distributedCallbacks: replica 1 gives validationRows, but replica 0 does not; /],
    [
      [{}, { of: 'epoch 4' }, {}],
      /^replicas have different metrics: replica 1 ends epoch 4 with the metrics none, the others end epoch 3 with /,
    ],
  ])('are an error for %j', (ofReplicas, message) => {
    expect(() => commonOf(ofReplicas)).toThrow(message);
  });

  it('keep the bits of equal values', () => {
    expect(weightedMean([0.1, 0.1, 0.1], [3, 3, 7])).toBe(0.1);
    expect(weightedMean([0.1, 0.1, 7], [3, 3, 0])).toBe(0.1);
    expect(weightedMean([7, 8], [0, 0])).toBe(7);
  });
});
