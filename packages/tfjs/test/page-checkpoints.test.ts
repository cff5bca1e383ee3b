import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { getReplicaContext, type ReplicaContext } from '@coll/strategy';
import { checkpointHandler, restoreCheckpoint, saveCheckpoint } from '@coll/tfjs/node';
import * as tf from '@tensorflow/tfjs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { browsers, launchChromium, type TestBrowser, type TestPage } from '../../strategy/test/browsers.ts';
import { memoryFolder } from '../../strategy/test/memory-folder.ts';
import { PageServer } from '../../strategy/test/page-server.ts';
import type { Trained } from './fixtures/page-checkpoints-replica.ts';
import { stateOf } from './fixtures/page-checkpoints-state.ts';

type SavedFiles = readonly (readonly [name: string, bytes: readonly number[]])[];

const programs = ['program', 'replica'].map((name) => `${import.meta.dirname}/fixtures/page-checkpoints-${name}.ts`);
const context = getReplicaContext() as ReplicaContext;
const weightsOf = (model: unknown) => (model as tf.LayersModel).getWeights().map((weight) => [...weight.dataSync()]);

describe.each(browsers)('checkpoints in a page of %s', (name, { isHere, launch }) => {
  if (!isHere) return it.skip('needs the browser', () => {});
  let browser: TestBrowser;
  let server: PageServer;
  let page: TestPage;
  let folder: string;

  beforeAll(async () => {
    tf.enableProdMode();
    [server, browser, folder] = await Promise.all([PageServer.open(programs), launch(), memoryFolder()]);
  });
  afterAll(async () => {
    await Promise.all([browser?.[Symbol.asyncDispose](), server?.[Symbol.asyncDispose]()]);
    await rm(folder, { recursive: true, force: true });
  });

  beforeEach(async () => {
    page = await browser.open(server.address);
  });
  afterEach(() => page[Symbol.asyncDispose]());

  /** Calls a function of the page's program. */
  const call = <Result>(name: string, ...args: readonly unknown[]) =>
    page.evaluate<Result>(`program.${name}(...${JSON.stringify(args)})`);
  const train = (place: string, until: number) => call<readonly [Trained, Trained]>('train', { folder: place, until });

  it('continue a training after a reload, with the bits of an undisturbed one', async () => {
    const [straight] = await train('straight', 4);
    await train('runs/1', 2);
    await page.reload();
    const [first, second] = await train('runs/1', 4);
    expect(first).toMatchObject({ resumed: { epoch: 2, step: 4, data: { seed: 11 } }, warnings: '' });
    expect(second).toEqual(first);
    expect(first.weights).toEqual(straight.weights);
    expect(await call('namesIn', 'runs/1')).toEqual(['checkpoint-000002', 'checkpoint-000003', 'checkpoint-000004']);
    expect(await page.errors()).toEqual([]);
  });

  it('that are damaged are skipped with a warning, and those without a manifest removed by the next save', async () => {
    await train('damaged', 3);
    await call('write', 'damaged/checkpoint-000003', 'weights.bin', 'half');
    await call('write', 'damaged/checkpoint-000004', 'weights.bin', 'half');
    await call('write', 'damaged/checkpoint-000004', 'checkpoint.json');
    await call('write', 'damaged/checkpoint-000005', 'weights.bin', 'half');
    const [{ resumed, warnings }] = await train('damaged', 3);
    expect(resumed).toMatchObject({ epoch: 2 });
    expect(warnings).toMatch(
      /000005, which is not whole: .*checkpoint\.json does not exist\n.*000004, .*checkpoint\.json is not JSON.*\n.*000003, .*weights\.bin has 4 bytes, but/,
    );
    expect(await call('namesIn', 'damaged')).toEqual(['checkpoint-000002', 'checkpoint-000003', 'checkpoint-000004']);
  });

  it('move to Node.js and back as files', async () => {
    const [{ weights }] = await train('moved', 2);
    const files = await call<SavedFiles>('exported', 'moved');
    const place = path.join(folder, name, 'checkpoint-000001');
    await mkdir(place, { recursive: true });
    for (const [file, bytes] of files) await writeFile(path.join(place, file), Uint8Array.from(bytes));

    expect(weightsOf(await tf.loadLayersModel(checkpointHandler(place)))).toEqual(weights);
    const { model, state } = stateOf(tf, 9);
    expect(await restoreCheckpoint(path.dirname(place), state, context)).toEqual({
      epoch: 2,
      step: 4,
      data: { seed: 11 },
    });
    expect(weightsOf(model)).toEqual(weights);

    Object.assign(state, { epoch: 3, step: 6 });
    const saved = await saveCheckpoint(path.dirname(place), state, context);
    const names = await readdir(saved);
    const back = await Promise.all(names.map(async (file) => [file, [...(await readFile(path.join(saved, file)))]]));
    expect(await call('imported', 'moved', [...back, ['notes.txt', [1]]])).toBe('/moved/checkpoint-000003');
    expect(await call('namesIn', 'moved/checkpoint-000003')).toEqual(names.sort());
    expect((await train('moved', 3))[0]).toMatchObject({ resumed: { epoch: 3, step: 6 }, weights });
  });

  it('that are missing or not whole are neither exported nor imported', async () => {
    await expect(call('exported', 'nothing')).rejects.toThrow('exportCheckpoint: "nothing" has no whole checkpoint');
    await train('whole', 1);
    const files = await call<SavedFiles>('exported', 'whole');
    for (const damaged of [files.slice(1), files.slice(0, -1), [...files.slice(1), ['weights.bin', [1]]]]) {
      await expect(call('imported', 'refused', damaged)).rejects.toThrow(
        /importCheckpoint: the files are not a whole checkpoint: .*; pass checkpoint\.json and all files beside it/,
      );
    }
    expect(await call('namesIn', 'refused')).toEqual([]);
  });

  it.runIf(name === 'Chromium')('that do not fit into the storage are an error, and leave those before', async () => {
    await using chromium = await launchChromium();
    const small = await chromium.newPage();
    await small.goto(server.address);
    const train = (until: number) => small.evaluate(`program.train({ folder: 'full', until: ${until} })`);
    await train(1);
    const session = await small.context().newCDPSession(small);
    const limit = (quotaSize?: number) =>
      session.send('Storage.overrideQuotaForOrigin', {
        origin: new URL(server.address).origin,
        ...(quotaSize ? { quotaSize } : {}),
      });
    await limit(1);
    await expect(train(2)).rejects.toThrow(
      /RuntimeError: .*checkpointCallback: the storage is full: the checkpoint has \d+ bytes, and this site stores \d+ bytes already; keep fewer/,
    );
    await limit();
    expect(await small.evaluate("program.namesIn('full')")).toEqual(['checkpoint-000001']);
    expect(await train(2)).toMatchObject([{ resumed: { epoch: 1 } }, { resumed: { epoch: 1 } }]);
  });
});
