import { definePlugin, registry } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { beforeEach, describe, expect, it } from 'vitest';
import { NcclChoice } from './nccl-choice.js';

const gpus = ['gpu:0', 'gpu:1'];
const remarks: string[] = [];
let refused: string | undefined;
let asked = 0;
beforeEach(() => {
  remarks.length = 0;
  refused = undefined;
  asked = 0;
});

/** A fake NCCL plug-in. It is available unless `refused` contains a reason. */
const double = definePlugin({
  name: 'nccl',
  module: import.meta.url,
  probe: () => (refused === undefined ? { available: true } : { available: false, reason: refused }),
  create: () => new ReductionToOneDevice(),
});

/** The choice of worker 0, which receives these lines from the other workers. */
function choice(...others: readonly string[]): NcclChoice {
  return new NcclChoice({
    workers: 1 + others.length,
    async gatherLines(line) {
      asked++;
      return [line, ...others];
    },
    open: (plugin) => plugin.create(undefined),
    remark: (level, why) => remarks.push(`${level}: ${why}`),
  });
}

const missing = 'no plug-in is registered as "nccl": install @coll/nccl and import @coll/nccl/register';

// These tests come first, because a registered plug-in stays registered.
describe('the choice of NCCL if no plug-in is registered as nccl', () => {
  it('logs a warning for implementation NCCL and nothing for AUTO', async () => {
    const nccl = choice();
    expect(await nccl.opsFor('AUTO', gpus)).toBeUndefined();
    expect(remarks).toEqual([]);
    expect(await nccl.opsFor('NCCL', gpus)).toBeUndefined();
    expect(remarks).toEqual([`warn: NCCL was requested, but ${missing}; a ring is used instead`]);
  });

  it('checks the registry again at the next call, but asks other workers only once', async () => {
    const [alone, together] = [choice(), choice('null')];
    for (const nccl of [alone, together]) await nccl.opsFor('AUTO', gpus);
    registry.register(double);
    expect((await alone.opsFor('AUTO', gpus))?.name).toBe('reduction-to-one');
    expect(await together.opsFor('NCCL', gpus)).toBeUndefined();
    expect(remarks).toEqual([`warn: NCCL was requested, but on worker 0 ${missing}; a ring is used instead`]);
  });
});

describe('the plug-in registered as nccl', () => {
  it('is used for GPUs only', async () => {
    const nccl = choice('null');
    expect(await nccl.opsFor('AUTO', ['gpu:0', 'cpu:0'])).toBeUndefined();
    expect(remarks).toEqual([]);
    expect(await nccl.opsFor('NCCL', ['gpu:0', 'cpu:0'])).toBeUndefined();
    expect(remarks).toEqual(['warn: NCCL was requested, but cpu:0 is not a GPU; a ring is used instead']);
    expect(asked).toBe(0);
  });

  it('is used if no worker refuses, and creates its ops only once', async () => {
    const nccl = choice('null', 'null');
    const ops = await nccl.opsFor('AUTO', gpus);
    expect(ops?.name).toBe('reduction-to-one');
    expect(await nccl.opsFor('NCCL', gpus)).toBe(ops);
    expect([asked, remarks]).toEqual([1, []]);
    await nccl.close();
    await expect(ops?.broadcast(Float32Array.of(1), 'gpu:0')).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });

  it.each([
    ['here', () => choice(), 'there is no driver'],
    ['on one of several workers', () => choice('null'), 'on worker 0 there is no driver'],
  ])('makes implementation NCCL throw and AUTO log a note if it is not available %s', async (_, make, why) => {
    refused = 'there is no driver';
    const nccl = make();
    expect(await nccl.opsFor('AUTO', gpus)).toBeUndefined();
    expect(remarks).toEqual([`info: nccl is not used, because ${why}; values are combined on the host`]);
    await expect(nccl.opsFor('NCCL', gpus)).rejects.toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: `NCCL was requested, but ${why}: fix the cause, or request AUTO or RING, which do not need NCCL`,
    });
  });

  it('makes implementation NCCL throw if it is not available on another worker', async () => {
    const nccl = choice('null', JSON.stringify({ why: 'it is broken', isNothing: false }));
    await expect(nccl.opsFor('NCCL', gpus)).rejects.toMatchObject({ rank: 2, message: /on worker 2 it is broken/ });
  });

  it.each([
    [
      'AUTO',
      gpus,
      [
        'info: nccl is not used for synchronous calls, which it does not support; their values are combined on the host',
      ],
    ],
    ['AUTO', ['cpu:0'], []],
    ['NCCL', gpus, ['warn: NCCL was requested, but it has no synchronous calls; a ring is used instead']],
    ['NCCL', ['cpu:0'], ['warn: NCCL was requested, but cpu:0 is not a GPU; a ring is used instead']],
  ] as const)('is not used for synchronous calls with implementation %s on %s', (implementation, devices, message) => {
    choice().refuseBlocking(implementation, devices);
    expect(remarks).toEqual(message);
  });
});
