import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { metricsLog } from './metrics-log.js';

const contextOf = (replicaIdInSyncGroup: number) => ({
  numReplicasInSync: 2,
  replicaIdInSyncGroup,
  allReduce: () => undefined,
});

it('appends a line of JSON per epoch, on replica 0', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'coll-metrics-'));
  try {
    const file = path.join(folder, 'metrics.jsonl');
    expect(metricsLog(file, contextOf(1))).toEqual({});
    for (const first of [0, 2]) {
      const log = metricsLog(file, contextOf(0));
      await log.onTrainBegin?.({});
      for (const epoch of [first, first + 1]) {
        for (const batch of [0, 1, 2]) await log.onBatchBegin?.(batch, {});
        await log.onEpochEnd?.(epoch, { loss: epoch === 3 ? Number.NaN : 0.5 });
      }
    }
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { epoch: 0, step: 3, time, loss: 0.5 },
      { epoch: 1, step: 6, time, loss: 0.5 },
      { epoch: 2, step: 3, time, loss: 0.5 },
      { epoch: 3, step: 6, time, loss: null },
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it('refuses a wrong file', () => {
  expect(() => metricsLog(5 as never, contextOf(0))).toThrow('metricsLog: file must be a path or a file URL, got 5');
});
