import { readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { checkpointFolders } from '@coll/strategy/internal';
import { nodeDisk } from '@coll/strategy/internal-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../strategy/test/memory-folder.ts';
import { readCheckpoint, readManifest } from '../src/checkpoints/checkpoint-format.js';
import type { replica } from './fixtures/checkpoints.ts';

const module = new URL('./fixtures/checkpoints.ts', import.meta.url);
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
let folder: string;

beforeAll(async () => {
  folder = await memoryFolder();
});

afterAll(async () => {
  await strategy[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

describe('two replicas in threads', () => {
  it('resume at the last checkpoint and end with the bits of an undisturbed training', async () => {
    const at = (name: string) => path.join(folder, name);
    const parts = [
      { how: 'fit', folder: at('straight fit'), until: 4 },
      { how: 'fit', folder: at('fit'), until: 2 },
      { how: 'fit', folder: at('fit'), until: 4 },
      { how: 'loop', folder: at('straight loop'), until: 8 },
      { how: 'loop', folder: at('loop'), until: 5 },
      { how: 'loop', folder: at('loop'), until: 8 },
    ] as const;
    const results = await strategy.run<typeof import('./fixtures/checkpoints.ts')>(module, { args: [parts] });
    const byReplica = strategy.experimentalLocalResults(results) as Awaited<ReturnType<typeof replica>>[];
    const [first, second] = byReplica as [(typeof byReplica)[0], (typeof byReplica)[0]];
    expect(first.map(({ resumed }) => resumed)).toEqual([
      undefined,
      undefined,
      { epoch: 2, step: 6, data: { seed: 11 } },
      undefined,
      undefined,
      { epoch: 0, step: 5, data: { seed: 11 } },
    ]);
    expect(second).toEqual(first);
    expect(first[2]?.weights).toEqual(first[0]?.weights);
    expect(first[5]?.weights).toEqual(first[3]?.weights);
    expect(await readdir(at('fit'))).toEqual(['checkpoint-000002', 'checkpoint-000003', 'checkpoint-000004']);
    expect(await readdir(at('loop'))).toEqual(['checkpoint-000002']);
    expect((await readdir(folder)).filter((name) => name.includes('another host'))).toEqual([]);
  });

  it('get the same error if replica 0 cannot write, cannot read, or reads the checkpoint of another model', async () => {
    await writeFile(path.join(folder, 'file'), '');
    const options = { args: [folder], exportName: 'refused' } as const;
    const errors = await strategy.run<typeof import('./fixtures/checkpoints.ts'), 'refused'>(module, options);
    // A text that was not the same on both replicas would be a PerReplica.
    expect(errors).toEqual([
      expect.stringMatching(
        /^ERR_COLL_CHECKPOINT of rank 0: saveCheckpoint: cannot write a checkpoint into .*file: EEXIST: .*; pass a folder/,
      ),
      expect.stringMatching(/^ERR_COLL_CHECKPOINT of rank 0: restoreCheckpoint: ENOTDIR: .*file/),
      expect.stringMatching(
        /^ERR_COLL_CHECKPOINT of rank 0: restoreCheckpoint: .*checkpoint-000001 does not fit: weight 0/,
      ),
      expect.stringMatching(/^ERR_COLL_MISMATCH of rank 1: replicas train different models: variable 0 /),
      expect.stringMatching(
        /^ERR_COLL_MISMATCH of rank 1: replicas have different optimizers: SGD on replica 0, Adam on /,
      ),
    ]);
  });

  it('save by the clock of replica 0 and after a stop, and end with the best weights', async () => {
    const own = path.join(folder, 'stopped');
    const options = { args: [own], exportName: 'stopped' } as const;
    const results = await strategy.run<typeof import('./fixtures/checkpoints.ts'), 'stopped'>(module, options);
    const [first, second] = strategy.experimentalLocalResults(results) as unknown as Record<string, unknown>[];
    expect(first).toMatchObject({ epoch: 1, step: 5 });
    expect(second).toEqual(first);
    const [newest] = await checkpointFolders(nodeDisk, own);
    expect((await readManifest(nodeDisk, newest as string)).step).toBe(5);
    const [best] = await checkpointFolders(nodeDisk, path.join(own, 'best'));
    const { snapshot } = await readCheckpoint(nodeDisk, best as string);
    expect(snapshot.step).toBe(3);
    expect(snapshot.weights.flatMap(({ values }) => Array.from(values, String)).join()).toBe(first?.['weights']);
  });
});
