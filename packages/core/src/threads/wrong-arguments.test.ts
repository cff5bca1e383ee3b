import { directAlgorithm } from '@coll/direct';
import { describe, expect, it } from 'vitest';
import { thrown } from '../../test/thrown.js';
import { threadWorld } from '../engines/worlds.js';
import { jsEngine } from '../js/js-engine.js';
import type { Communicator } from '../runtime/communicator.js';
import type { Engine } from '../runtime/engine.js';
import { UnavailableError, ValueError } from '../support/errors.js';
import { tensor } from '../values/tensor.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import { failThreadGroup } from './thread-group.js';

// As programs without types hand them in.
const nothing = [undefined, null, 7, 'x', Symbol('x'), []] as unknown as readonly never[];
const noNumbers = [null, Number.NaN, -1, 1.5, 'x', {}, Symbol('x'), 4n] as unknown as readonly never[];
const sum = { kind: 'all-reduce', op: 'sum' } as const;
const algorithm = directAlgorithm();

function group(engine: Engine, size = 1) {
  return engine.createGroup({ size, maxBytes: 2 ** 20 });
}

describe.each([jsEngine, wasmEngine])('the $name engine', (engine) => {
  it.each(nothing)('refuses to create a group or a rank from %s', (wrong) => {
    const calls = [
      () => engine.createGroup(wrong),
      () => engine.join(wrong, { rank: 0, algorithm }),
      () => engine.join(group(engine), wrong),
      () => threadWorld(wrong, 0, ['cpu:0']),
      () => failThreadGroup(wrong, 0, 'over'),
    ];
    for (const call of calls) expect(thrown(call)).toBeInstanceOf(ValueError);
  });

  it.each([...noNumbers, undefined, 0, 2 ** 40] as never[])('refuses a group of %s ranks', (size) => {
    expect(thrown(() => engine.createGroup({ size }))).toBeInstanceOf(ValueError);
    expect(thrown(() => engine.communicator(size, algorithm))).toBeInstanceOf(ValueError);
  });

  it.each(noNumbers)('refuses %s as a rank and as a number of polls', (wrong) => {
    expect(thrown(() => engine.join(group(engine, 2), { rank: wrong, algorithm }))).toBeInstanceOf(ValueError);
    expect(thrown(() => engine.createGroup({ size: 2, spins: wrong }))).toBeInstanceOf(ValueError);
  });

  describe.each([
    ['of one controller', () => engine.communicator(1, algorithm)],
    ['in a thread', () => engine.join(group(engine), { rank: 0, algorithm })],
  ] as const)('ranks %s', (_, open) => {
    const one = [tensor(new Float32Array(4))];
    const run = (communicator: Communicator, options: never, collective: unknown = sum) =>
      thrown(() => communicator.runSync(collective as typeof sum, one, one, options));

    it.each([null, 7, 'x', Symbol('x')] as never[])('refuse %s as options', (options) => {
      expect(run(open(), options)).toMatchObject({ code: 'ERR_COLL_VALUE', message: expect.stringMatching(/options/) });
    });

    it.each([Number.NaN, 'soon', {}, 4n, true])('refuse a timeout of %s seconds', (timeoutSeconds) => {
      const error = run(open(), { timeoutSeconds } as never);
      expect(error).toMatchObject({
        code: 'ERR_COLL_VALUE',
        message: expect.stringMatching(/^timeoutSeconds must be/),
      });
    });

    it.each([null, -1, 0, 1.5, Number.POSITIVE_INFINITY])('accept a timeout of %s seconds', (timeoutSeconds) => {
      open().runSync(sum, one, one, { timeoutSeconds });
    });

    it.each([Symbol('x'), Object.create(null), 4n])('refuse invalid collectives', (wrong) => {
      for (const collective of [
        { kind: wrong, op: 'sum' },
        { kind: 'all-reduce', op: wrong },
        { kind: 'broadcast', root: wrong },
      ])
        expect(run(open(), undefined as never, collective)).toBeInstanceOf(ValueError);
    });

    it.each([undefined, null, 7, { ...one[0], data: null }])('refuse %s instead of a tensor', (wrong) => {
      const communicator = open();
      communicator.runSync(sum, one, one);
      for (const [inputs, outputs] of [
        [[wrong], one],
        [one, [wrong]],
        [[wrong], [wrong]],
      ])
        expect(thrown(() => communicator.runSync(sum, inputs as never, outputs as never))).toBeInstanceOf(ValueError);
    });

    it('report an unknown dtype', () => {
      expect(open().refuses(sum, 'float8' as never)).toMatch(/no dtype is called "float8"/);
    });
  });

  it('allocates only whole numbers of elements, and keeps earlier allocations valid', () => {
    const communicator = engine.join(group(engine), { rank: 0, algorithm });
    const first = communicator.group.allocate('float32', 16);
    for (const wrong of [...noNumbers, undefined] as never[]) {
      expect(thrown(() => communicator.group.allocate('float32', wrong))).toBeInstanceOf(ValueError);
      expect(thrown(() => communicator.group.allocate(wrong, 1))).toBeInstanceOf(ValueError);
    }
    const next = communicator.group.allocate('float32', 16);
    expect(next?.data.byteOffset).toBeGreaterThanOrEqual((first?.data.byteOffset as number) + 64);
  });

  it('refuses to fail a group with a value that is not an error', () => {
    const communicator = engine.join(group(engine), { rank: 0, algorithm });
    for (const wrong of nothing) expect(thrown(() => communicator.group.fail(wrong))).toBeInstanceOf(ValueError);
    expect(communicator.group.failure).toBeUndefined();
    communicator.group.fail(new UnavailableError('ERR_COLL_PEER_FAILED', 'over'));
    expect(communicator.group.failure).toMatchObject({ code: 'ERR_COLL_PEER_FAILED' });
  });
});
