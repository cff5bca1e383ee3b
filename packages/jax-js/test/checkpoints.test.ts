import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setLogSink } from '@coll/core';
import { direct } from '@coll/direct';
import { restoreCheckpoint, saveCheckpoint } from '@coll/jax-js/node';
import { MirroredStrategy, type ReplicaContext } from '@coll/strategy';
import { numpy as np, tree } from '@jax-js/jax';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { memoryFolder } from '../../strategy/test/memory-folder.ts';
import { both, resultsOf } from './fixtures/results-of.ts';

const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: direct });
afterAll(() => strategy.close());
let folder: string;
beforeEach(async () => {
  folder = await memoryFolder();
});
afterEach(async () => {
  setLogSink();
  await rm(folder, { recursive: true, force: true });
});

/** What each of two replicas returns, or the error that it gets. */
const onBoth = <Result>(replica: (context: ReplicaContext, id: number) => Promise<Result>) =>
  resultsOf(strategy, replica);

/** A state of a training, whose arrays hold numbers around `value`. */
const stateOf = (value: number) => ({
  params: { layers: [{ w: np.array([[value, 1.5]]), b: np.array([value]) }] },
  moments: [np.array([value, 2 ** 31], { dtype: np.uint32 }), np.array(value), np.array([true, value > 1])],
  epoch: value,
  data: { order: [3, 1, 2], name: 'shuffled', done: null, empty: [] as number[] },
});
type State = ReturnType<typeof stateOf>;

const plain = (state: State) =>
  tree.map((leaf: np.Array) => (leaf instanceof np.Array ? leaf.js() : leaf), state as never);

it('a saved tree is restored on all replicas, with its arrays, counters and data', async () => {
  const results = await onBoth(async (context, id) => {
    const first = { ...stateOf(5), data: { ...stateOf(5).data, order: [1, 2, 3, 4] } };
    // Only the tree of replica 0 is saved.
    const saved = await saveCheckpoint(context, folder, id === 0 ? first : stateOf(7));
    return [path.relative(folder, saved), plain(await restoreCheckpoint(context, folder, stateOf(0)))];
  });
  const expected = { ...stateOf(5), data: { ...stateOf(5).data, order: [1, 2, 3, 4] } };
  expect(results).toEqual(both(['checkpoint-000001', plain(expected)]));
});

it('without a checkpoint, the tree itself is returned', async () => {
  const same = await onBoth(async (context) => {
    const state = stateOf(1);
    return (await restoreCheckpoint(context, path.join(folder, 'none'), state)) === state;
  });
  expect(same).toEqual(both(true));
});

it('arrays are consumed, and the caller has the only reference of the restored ones', async () => {
  const counts = await onBoth(async (context) => {
    const kept = np.array([1, 2]);
    await saveCheckpoint(context, folder, [kept.ref]);
    const [restored] = await restoreCheckpoint(context, folder, [kept.ref]);
    return [kept.refCount, restored?.refCount];
  });
  expect(counts).toEqual(both([1, 1]));
});

it('a folder keeps as many checkpoints as asked for', async () => {
  await onBoth(async (context) => {
    for (let epoch = 0; epoch < 5; epoch++) await saveCheckpoint(context, folder, { epoch }, { keep: 2 });
  });
  expect((await readdir(folder)).sort()).toEqual(['checkpoint-000004', 'checkpoint-000005']);
});

it('damaged checkpoints are skipped with a warning, and the one before is restored', async () => {
  const lines: string[] = [];
  setLogSink((level, message) => level === 'warn' && lines.push(message));
  await onBoth(async (context) => {
    for (const value of [1, 2, 3, 4, 5]) await saveCheckpoint(context, folder, stateOf(value), { keep: 9 });
  });
  const fileOf = (number: number, name: string) => path.join(folder, `checkpoint-00000${number}`, name);
  const bytes = await readFile(fileOf(5, 'arrays.bin'));
  bytes[3] = 1 + (bytes[3] as number);
  await writeFile(fileOf(5, 'arrays.bin'), bytes);
  await writeFile(fileOf(4, 'arrays.bin'), 'short');
  await writeFile(fileOf(3, 'checkpoint.json'), '{"format": "coll checkpoint of jax-js", "version": 1}');
  await rm(fileOf(2, 'arrays.bin'));
  const restored = await onBoth(async (context) => (await restoreCheckpoint(context, folder, stateOf(0))).epoch);
  expect(restored).toEqual(both(1));
  expect(lines).toEqual([
    expect.stringMatching(
      /^skipped the checkpoint .*5, which is not whole: .*arrays.bin does not have the checksum in/,
    ),
    expect.stringMatching(/^skipped the checkpoint .*4, which is not whole: .*arrays.bin has 5 bytes, but \d+ were/),
    expect.stringMatching(/^skipped the checkpoint .*3, which is not whole: .*does not describe a tree of arrays/),
    expect.stringMatching(/^skipped the checkpoint .*2, which is not whole: .*arrays.bin does not exist/),
  ]);
});

it('checkpoints of other trees, newer releases and other packages are errors or skipped', async () => {
  const restore = (state: object, place = folder) =>
    onBoth(async (context) => {
      await restoreCheckpoint(context, place, state);
      return 'went through';
    });
  await onBoth((context) => saveCheckpoint(context, folder, { w: np.ones([2]), epoch: 1 }));
  const misfit = (what: string) =>
    both(
      `ERR_COLL_CHECKPOINT restoreCheckpoint: ${path.join(folder, 'checkpoint-000001')} does not fit: ${what} in the tree of this program`,
    );
  expect(await restore({ w: np.ones([3]), epoch: 0 })).toEqual(
    misfit('w is float32 [2] in the checkpoint, and float32 [3]'),
  );
  expect(await restore({ w: np.ones([2]) })).toEqual(misfit('epoch is a JSON value in the checkpoint, and missing'));
  expect(await restore({ w: np.ones([2]), epoch: np.array(1) })).toEqual(
    misfit('epoch is a JSON value in the checkpoint, and float32 []'),
  );
  const newer = path.join(folder, 'newer');
  await mkdir(newer);
  await cp(path.join(folder, 'checkpoint-000001'), path.join(newer, 'checkpoint-000001'), { recursive: true });
  const manifest = path.join(newer, 'checkpoint-000001/checkpoint.json');
  await writeFile(manifest, (await readFile(manifest, 'utf8')).replace('"version": 1', '"version": 2'));
  expect(await restore({ epoch: 0 }, newer)).toEqual(
    both(expect.stringMatching(/has version 2, but this release of @coll\/jax-js reads version 1$/)),
  );
});

it('replicas get the same error, which says what to do, if replica 0 cannot write', async () => {
  const file = path.join(folder, 'file');
  await writeFile(file, '');
  const what =
    /^ERR_COLL_CHECKPOINT saveCheckpoint: cannot write a checkpoint into .*file: EEXIST: .*; pass a folder in which/;
  expect(await onBoth((context) => saveCheckpoint(context, file, { epoch: 1 }))).toEqual(
    both(expect.stringMatching(what)),
  );
});

it('arguments that make no sense are refused', async () => {
  const cases: [call: (context: ReplicaContext) => Promise<unknown>, message: RegExp][] = [
    [(context) => saveCheckpoint(context, '', {}), /saveCheckpoint: folder must be a path, got ""/],
    [
      (context) => saveCheckpoint(folder as never, context as never, {}),
      /folder must be a path, got an object .*; call saveCheckpoint\(context, folder, tree\)/,
    ],
    [(context) => saveCheckpoint(context, folder, null as never), /tree must be a list or an object of .*, got null/],
    [(context) => saveCheckpoint(context, folder, {}, { keep: 0 }), /keep must be a whole number from 1, got 0/],
    [
      (context) => saveCheckpoint(context, folder, { f: () => 1 }),
      /f must be an array of jax-js or a JSON value, got fun/,
    ],
    [(context) => saveCheckpoint(context, folder, { a: [Number.NaN] }), /a\[0\] must be an array of jax-js or a JSON/],
    [
      (context) => saveCheckpoint(context, folder, { a: new Float32Array(1) }),
      /a must be an array of jax-js or a JSON value, got Float32Array.*; pass np\.array\(values\)/,
    ],
    [(context) => restoreCheckpoint(context, '', {}), /restoreCheckpoint: folder must be a path, got ""/],
    [
      (context) => restoreCheckpoint(context, folder, { w: np.ones([1 + context.replicaIdInSyncGroup]) }),
      /^ERR_COLL_MISMATCH restoreCheckpoint: replicas have different trees: w is float32 \[1\] on replica 0/,
    ],
  ];
  for (const [call, message] of cases)
    expect(await onBoth(call)).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
});
