import { directAlgorithm } from '@coll/direct';
import { describe, expect, it, vi } from 'vitest';
import { thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { jsEngine } from '../js/js-engine.js';
import { ReferenceCommunicator } from '../testing/reference-communicator.js';
import { type Tensor, tensor } from '../values/tensor.js';
import type { Communicator } from './communicator.js';
import { type ForwardedCall, ForwardingCommunicator, type ReplacementCall } from './forwarding-communicator.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const doubles = (...elements: readonly number[]) => tensor(Float64Array.from(elements));

/** Sums float64 values as float32 values; `finished` counts the calls that have ended. */
class Narrowed extends ForwardingCommunicator {
  finished = 0;

  protected override replacement({ inputs, outputs }: ForwardedCall): ReplacementCall | undefined {
    if (inputs[0]?.[0]?.dtype !== 'float64') return undefined;
    const narrow = inputs.map((segments) =>
      segments.map(({ data }) => tensor(Float32Array.from(data as Float64Array))),
    );
    const finish = () => {
      this.finished += 1;
      for (const [rank, segments] of narrow.entries())
        segments.forEach(({ data }, index) => {
          ((outputs[rank] as readonly Tensor[])[index] as Tensor<'float64'>).data.set(data as Float32Array);
        });
    };
    return { inputs: narrow, outputs: narrow, finish };
  }
}

const engine = () => jsEngine.communicator(2, directAlgorithm());

describe('ForwardingCommunicator', () => {
  it('passes every call on and has the ranks and the group of the other communicator', async () => {
    const inner = engine();
    const own = new ForwardingCommunicator(inner);
    const calls = (['run', 'runSync', 'persistent', 'refuses', 'close'] as const).map((name) => vi.spyOn(inner, name));
    const buffers = [doubles(1), doubles(2)];
    const options = { layout: 5 };
    await own.run(sum, buffers, buffers, options);
    own.runSync(sum, buffers, buffers);
    own.persistent(sum, buffers, buffers)?.runSync();
    expect(own.refuses({ kind: 'all-reduce', op: 'mean' }, 'bool')).toMatch('bool');
    await own[Symbol.asyncDispose]();
    expect(buffers).toMatchObject([{ data: doubles(12).data }, { data: doubles(12).data }]);
    for (const call of calls) expect(call).toHaveBeenCalled();
    expect(calls[0]).toHaveBeenCalledWith(sum, buffers, buffers, options);
    expect([own.size, own.localRanks, own.group]).toEqual([inner.size, inner.localRanks, inner.group]);
  });

  it('makes the replacing call, and writes its results after it has ended, by run and by runSync', async () => {
    const own = new Narrowed(engine());
    const inputs = [
      [doubles(1 / 3), doubles(1)],
      [doubles(0), doubles(2)],
    ] as const;
    const outputs = [
      [doubles(0), doubles(0)],
      [doubles(0), doubles(0)],
    ] as const;
    const running = own.run(sum, inputs, outputs);
    expect(own.finished).toBe(0);
    await running;
    const expected = [[Math.fround(1 / 3)], [3]];
    expect(outputs.map((segments) => segments.map(({ data }) => [...data]))).toEqual([expected, expected]);
    own.runSync(sum, outputs, outputs);
    expect(outputs[1]).toMatchObject([{ data: doubles(2 * Math.fround(1 / 3)).data }, { data: doubles(6).data }]);
    expect(own.finished).toBe(2);
  });

  it('passes on calls that it does not replace', async () => {
    const own = new Narrowed(engine());
    const buffers = [tensor(Int32Array.of(1)), tensor(Int32Array.of(2))];
    await own.run(sum, buffers, buffers);
    expect(buffers[0]?.data).toEqual(Int32Array.of(3));
    expect(own.finished).toBe(0);
  });

  it('gives each rank its result if the outputs of the replaced call share memory', async () => {
    const own = new Narrowed(engine());
    const shared = doubles(0);
    await own.run(sum, [doubles(1), doubles(2)], [shared, shared], { sharedResult: true });
    expect(shared.data).toEqual(Float64Array.of(3));
  });

  it('prepares no repeated calls if it replaces calls', () => {
    const buffers = [doubles(1), doubles(2)];
    expect(new Narrowed(engine()).persistent(sum, buffers, buffers)).toBeUndefined();
  });

  it('refuses invalid calls before anything is replaced, and counts them if other ranks are elsewhere', async () => {
    const inner = new ReferenceCommunicator({ size: 1, algorithm: directAlgorithm() });
    const elsewhere: Communicator = Object.assign(Object.create(inner), { size: 2 });
    const own = new Narrowed(elsewhere);
    await expect(own.run(sum, [], [])).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
    expect(thrown(() => own.runSync(sum, [doubles(1)], [doubles(1, 2)]))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
    await expect(own.run(sum, [doubles(1)], [doubles(1)], { layuot: 1 } as never)).rejects.toThrow('layuot');
    expect(own.group.order.refusals.count).toBe(3);
  });

  it('needs a communicator', () => {
    expect(() => new ForwardingCommunicator({} as Communicator)).toThrow('inner must be a communicator');
  });
});
