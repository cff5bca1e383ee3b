import { directAlgorithm } from '@coll/direct';
import { expect, it, onTestFinished, vi } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import { jsEngine } from '../js/js-engine.js';
import { type Tensor, tensor } from '../values/tensor.js';
import { wasmEngine } from '../wasm/wasm-engine.js';
import type { Communicator, RunOptions } from './communicator.js';
import type { Engine } from './engine.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

// So many elements that a call looks at the clock several times.
const length = 2 ** 22;
type Take = (communicator: Communicator) => Tensor;
const own: Take = () => tensor(new Float32Array(length));
const allocated: Take = (communicator) => communicator.group.allocate('float32', length);
const memories: readonly [name: string, memory: string, Engine, Take][] = [
  ['js', 'ordinary', jsEngine, own],
  ['wasm', 'ordinary', wasmEngine, own],
  ['wasm', 'shared', wasmEngine, allocated],
];

function begun(engine: Engine, take: Take, options: RunOptions = {}) {
  const communicator = engine.communicator(2, directAlgorithm());
  const tensors = [take(communicator), take(communicator)];
  tensors.forEach(({ data }, rank) => {
    (data as Float32Array).fill(rank + 1);
  });
  return { communicator, tensors, call: communicator.run(sum, tensors, tensors, options) };
}

/** Lets a millisecond pass with each look at the clock, so that the length of a call does not depend on the machine. */
function passMillisPerLook(): void {
  let now = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now++);
  onTestFinished(() => clock.mockRestore());
}

const isAll = ({ data }: Tensor, value: number) => (data as Float32Array).every((element) => element === value);

it.each(memories)('the engine %s lets the event loop run during a call on %s memory', async (_, __, engine, take) => {
  passMillisPerLook();
  const { communicator, tensors, call } = begun(engine, take);
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  expect(thrown(() => communicator.runSync(sum, tensors, tensors))).toMatchObject({ code: 'ERR_COLL_BUSY' });
  const later = communicator.run(sum, tensors, tensors);
  await communicator.close();
  clearImmediate(timer);
  await Promise.all([call, later]);
  expect(turns).toBeGreaterThan(10);
  expect(tensors.every((each) => isAll(each, 6))).toBe(true);
});

it.each(memories)(
  'the engine %s ends a call on %s memory by signal and by deadline, and then executes the next call',
  async (_, __, engine, take) => {
    passMillisPerLook();
    const ending = new AbortController();
    const { communicator, tensors, call } = begun(engine, take, { signal: ending.signal });
    ending.abort(new Error('enough'));
    expect(await rejection(call)).toMatchObject({ code: 'ERR_COLL_ABORTED', cause: { message: 'enough' } });
    const late = communicator.run(sum, tensors, tensors, { timeoutSeconds: 1e-9 });
    expect(await rejection(late)).toMatchObject({ code: 'ERR_COLL_DEADLINE', operation: 'all-reduce sum' });
    tensors.forEach(({ data }, rank) => {
      (data as Float32Array).fill(rank + 1);
    });
    await communicator.run(sum, tensors, tensors);
    expect(tensors.every((each) => isAll(each, 3))).toBe(true);
  },
);

it.each([jsEngine, wasmEngine])(
  'the $name engine rejects a call whose memory is transferred to another thread during the call',
  async (engine) => {
    passMillisPerLook();
    const { tensors, call } = begun(engine, own);
    const buffer = tensors[1]?.data.buffer as ArrayBuffer;
    structuredClone(buffer, { transfer: [buffer] });
    expect(await rejection(call)).toMatchObject({ code: 'ERR_COLL_BUFFER', rank: 1 });
  },
);
