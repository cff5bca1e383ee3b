import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { rejection, thrown } from '../../test/thrown.js';
import type { Collective } from '../collectives/collective.js';
import { ControllerGroup } from '../members/controller-group.js';
import { zeros } from '../values/tensor.js';
import type { PreparedCall } from './call-cache.js';
import type { Group, PersistentCollective, RunOptions } from './communicator.js';
import { OrderedCommunicator } from './ordered-communicator.js';
import type { CheckedCall } from './segment-list.js';

const sum: Collective = { kind: 'all-reduce', op: 'sum' };
const buffer = [zeros('float32', [3])];
const other = [zeros('float32', [5])];

/** A double that moves nothing: it notes what it is asked for, and an asynchronous call ends when the test says so. */
class Noting extends OrderedCommunicator<number> {
  readonly group: Group = new ControllerGroup({ communicator: () => this });
  readonly prepared: CheckedCall[] = [];
  readonly kept: boolean[] = [];
  readonly recycled: number[] = [];
  readonly executed: string[] = [];
  readonly ends: { resolve(): void; reject(error: Error): void }[] = [];
  released = 0;

  constructor(localRanks: readonly number[] = [1]) {
    super(2, localRanks);
  }

  refuses(collective: Collective): string | undefined {
    return collective.kind === 'all-gather' ? 'it does not gather' : undefined;
  }

  protected prepare(call: CheckedCall, isKept: boolean): number {
    this.kept.push(isKept);
    return this.prepared.push(call);
  }

  protected override recycle(handle: number): void {
    this.recycled.push(handle);
  }

  protected executeSync({ handle }: PreparedCall<number>): void {
    this.executed.push(`sync ${handle}`);
  }

  protected override execute({ handle }: PreparedCall<number>): Promise<void> {
    return this.#begin(`now ${handle}`);
  }

  protected override executeLater({ handle }: PreparedCall<number>): Promise<void> {
    return this.#begin(`later ${handle}`);
  }

  protected override release(): void {
    this.released++;
  }

  #begin(name: string): Promise<void> {
    this.executed.push(name);
    return new Promise((resolve, reject) => this.ends.push({ resolve, reject }));
  }
}

/** Plays at once, as an executor does that never waits. */
class Immediate extends OrderedCommunicator<void> {
  readonly group: Group = new ControllerGroup({ communicator: () => this });
  executions = 0;

  refuses(): undefined {}

  protected prepare(): void {}

  protected executeSync(): void {
    this.executions++;
  }
}

describe('calls of a communicator', () => {
  it('are prepared again at their first repetition, and then reuse this preparation', async () => {
    const communicator = new Noting();
    communicator.runSync(sum, buffer, buffer);
    communicator.runSync({ kind: 'all-reduce', op: 'sum' }, [buffer], [buffer]);
    communicator.runSync(sum, buffer, buffer);
    const call = { dtype: 'float32', length: 3, layout: 0, isShared: false };
    expect(communicator.prepared).toMatchObject([call, call]);
    expect(communicator.executed).toEqual(['sync 1', 'sync 2', 'sync 2']);
    expect(communicator.kept).toEqual([false, true]);
    expect(communicator.recycled).toEqual([1]);
  });

  it('recycle their handle when they have ended, unless the handle is kept or the call failed', async () => {
    const communicator = new Noting();
    const first = communicator.run(sum, buffer, buffer);
    const second = rejection(communicator.run(sum, [other], [other]));
    expect(communicator.recycled).toEqual([]);
    communicator.ends[0]?.resolve();
    await first;
    await expect.poll(() => communicator.ends.length).toBe(2);
    communicator.ends[1]?.reject(new Error('lost'));
    await second;
    expect(communicator.recycled).toEqual([1]);
  });

  it.each<readonly [string, Collective, RunOptions]>([
    ['op', { kind: 'all-reduce', op: 'max' }, {}],
    ['variant', { ...sum, variant: 1 }, {}],
    ['layout', sum, { layout: 7 }],
    ['sharing', sum, { sharedResult: true }],
  ])('with another %s are prepared separately', (_, collective, options) => {
    const communicator = new Noting();
    communicator.runSync(sum, buffer, buffer);
    communicator.runSync(collective, buffer, buffer, options);
    expect(communicator.executed).toEqual(['sync 1', 'sync 2']);
  });

  it('execute in order, even after a failed call', async () => {
    const communicator = new Noting();
    const first = rejection(communicator.run(sum, buffer, buffer));
    const second = communicator.run(sum, [other], [other]);
    const third = communicator.run(sum, buffer, buffer);
    expect(communicator.executed).toEqual(['now 1']);
    communicator.ends[0]?.reject(new Error('lost'));
    expect(await first).toMatchObject({ message: 'lost' });
    await expect.poll(() => communicator.executed).toEqual(['now 1', 'later 2']);
    communicator.ends[1]?.resolve();
    await second;
    await expect.poll(() => communicator.executed).toEqual(['now 1', 'later 2', 'later 3']);
    communicator.ends[2]?.resolve();
    await third;
    communicator.runSync(sum, buffer, buffer);
  });

  it.each([
    ['end their group if ranks elsewhere wait for them', [1], 'ERR_COLL_ABORTED'],
    ['affect no other call if all ranks are local', [0, 1], undefined],
  ])('can be aborted before they start; such calls %s', async (_, localRanks, code) => {
    const communicator = new Noting(localRanks);
    const buffers = localRanks.map(() => zeros('float32', [3]));
    const turn = communicator.group.order.take();
    const controller = new AbortController();
    const waiting = rejection(communicator.run(sum, buffers, buffers, { signal: controller.signal }));
    controller.abort();
    turn.end();
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_ABORTED', operation: 'all-reduce sum' });
    expect(communicator.group.failure?.code).toBe(code);
    expect(communicator.executed).toEqual([]);
  });

  it('are refused if they are synchronous while another call runs; the error names the local rank', async () => {
    const communicator = new Noting();
    const running = communicator.run(sum, buffer, buffer);
    const call = () => communicator.runSync(sum, buffer, buffer);
    expect(thrown(call)).toMatchObject({ code: 'ERR_COLL_BUSY', rank: 1, operation: 'all-reduce sum' });
    communicator.ends[0]?.resolve();
    await running;
  });

  it('that complete at once all return the same resolved promise', async () => {
    const communicator = new Immediate(1, [0]);
    const first = communicator.run(sum, buffer, buffer);
    communicator.runSync(sum, buffer, buffer);
    expect(communicator.executions).toBe(2);
    expect(communicator.run(sum, buffer, buffer)).toBe(first);
  });

  it.each([
    ['many small', 3, 3000],
    ['few large', 2 ** 22, 3],
  ])('that complete at once let the event loop run between them, if they are %s', async (_, length, calls) => {
    const communicator = new Immediate(2, [0]);
    const floats = [zeros('float32', [length])];
    let turns = 0;
    let timer = setImmediate(function count() {
      turns++;
      timer = setImmediate(count);
    });
    for (let call = 0; call < calls; call++) await communicator.run(sum, floats, floats);
    clearImmediate(timer);
    expect(turns).toBeGreaterThan(0);
    expect(turns).toBeLessThanOrEqual(calls);
  });

  it('are checked before they are prepared', async () => {
    const communicator = new Noting();
    const gather: Collective = { kind: 'all-gather' };
    const gathered = [zeros('float32', [6])];
    expect(await rejection(communicator.run(gather, buffer, gathered))).toMatchObject({
      code: 'ERR_COLL_REFUSED',
      message: 'all-gather: it does not gather',
      rank: 1,
    });
    expect(thrown(() => communicator.runSync(sum, buffer, other))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
    const signal = AbortSignal.abort('enough');
    expect(await rejection(communicator.run(sum, buffer, buffer, { signal }))).toMatchObject({
      code: 'ERR_COLL_ABORTED',
      cause: 'enough',
    });
    expect(communicator.prepared).toEqual([]);
  });

  it.each([
    ['no collective', [undefined, buffer, buffer], 'a communicator must be called with a collective'],
    ['the name of a collective', ['all-reduce', buffer, buffer], 'a list of outputs, got "all-reduce"'],
    ['no lists', [sum, buffer[0], buffer[0]], 'a list of inputs'],
    ['empty lists', [sum, [], []], '0 inputs and 0 outputs for 1 local ranks'],
    [
      'typed arrays',
      [sum, [new Float32Array(3)], [new Float32Array(3)]],
      'a buffer must be a tensor, got Float32Array',
    ],
    ['a signal that is a number', [sum, buffer, buffer, { signal: 7 }], 'signal must be an AbortSignal, got 7'],
  ])('are refused for %s', async (_, call, message) => {
    const communicator = new Noting();
    const refused = expect.objectContaining({ name: 'ValueError', message: expect.stringContaining(message) });
    const asked = call as unknown as Parameters<typeof communicator.run>;
    expect(await rejection(communicator.run(...asked))).toEqual(refused);
    expect(thrown(() => communicator.runSync(...asked))).toEqual(refused);
    expect(communicator.prepared).toEqual([]);
  });
});

describe('a persistent collective', () => {
  it('is checked and prepared once, at the first call, and keeps this preparation', async () => {
    const communicator = new Noting();
    const persistent = communicator.persistent(sum, buffer, buffer);
    persistent.runSync();
    persistent.runSync();
    const running = persistent.run();
    communicator.ends[0]?.resolve();
    await running;
    communicator.runSync(sum, buffer, buffer);
    expect(communicator.executed).toEqual(['sync 1', 'sync 1', 'now 1', 'sync 1']);
    expect(communicator.kept).toEqual([true]);
    expect(communicator.recycled).toEqual([]);
    expect(thrown(() => communicator.persistent(sum, buffer, other))).toMatchObject({ code: 'ERR_COLL_BUFFER' });
  });

  it('waits for a turn that is held, and is refused while it would have to block for another call', async () => {
    const communicator = new Noting();
    const persistent = communicator.persistent(sum, buffer, buffer);
    const turn = communicator.group.order.take();
    const waiting = persistent.run();
    const busy = { code: 'ERR_COLL_BUSY', rank: 1, operation: 'all-reduce sum' };
    expect(thrown(() => persistent.runSync())).toMatchObject(busy);
    expect(communicator.executed).toEqual([]);
    turn.end();
    await expect.poll(() => communicator.executed).toEqual(['later 1']);
    expect(thrown(() => persistent.runSync())).toMatchObject(busy);
    communicator.ends[0]?.resolve();
    await waiting;
  });

  it('is refused once its communicator was closed, its signal aborted or its memory detached', async () => {
    const communicator = new Noting();
    const controller = new AbortController();
    const floats = [zeros('float32', [3])];
    const onFloats = communicator.persistent(sum, buffer, floats);
    const abortable = communicator.persistent(sum, buffer, buffer, { signal: controller.signal });
    structuredClone(floats[0]?.data, { transfer: [floats[0]?.data.buffer as ArrayBuffer] });
    controller.abort();
    const refusedBy = async (code: string, persistent: PersistentCollective) => {
      expect(thrown(() => persistent.runSync())).toMatchObject({ code, rank: 1 });
      expect(await rejection(persistent.run())).toMatchObject({ code, rank: 1 });
    };
    await refusedBy('ERR_COLL_BUFFER', onFloats);
    await refusedBy('ERR_COLL_ABORTED', abortable);
    await communicator.close();
    await refusedBy('ERR_COLL_CLOSED', onFloats);
    expect(communicator.executed).toEqual([]);
  });
});

it('an error names no rank if several ranks are local', async () => {
  const communicator = new Noting([0, 1]);
  await communicator.close();
  const error = thrown(() => communicator.runSync(sum, [...buffer, ...buffer], [...buffer, ...buffer]));
  expect(error).toMatchObject({ message: 'all-reduce sum: this communicator was closed', rank: undefined });
});

it('close releases resources once, and later calls are refused', async () => {
  const communicator = new Noting();
  await communicator.close();
  await communicator[Symbol.asyncDispose]();
  expect(communicator.released).toBe(1);
  expect(await rejection(communicator.run(sum, buffer, buffer))).toMatchObject({
    name: 'RuntimeError',
    code: 'ERR_COLL_CLOSED',
    rank: 1,
  });
});

it('close releases the memory of the latest call', async () => {
  const communicator = new Immediate(2, [0]);
  const memory = memoryOfACall(communicator);
  await communicator.close();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // A weak reference that was read holds what it refers to until the turn is over.
  for (let round = 0; round < 10 && memory.deref(); round++) {
    await new Promise(setImmediate);
    collect();
  }
  expect(memory.deref()).toBeUndefined();
  expect(() => communicator.runSync(sum, buffer, buffer)).toThrow('this communicator was closed');
});

function memoryOfACall(communicator: Immediate): WeakRef<object> {
  const buffers = [zeros('float32', [1000])];
  communicator.runSync(sum, buffers, buffers);
  return new WeakRef(buffers[0]?.data as object);
}
