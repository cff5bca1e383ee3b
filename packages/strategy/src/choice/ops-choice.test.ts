import { createRegistry, definePlugin } from '@coll/core';
import { ReductionToOneDevice } from '@coll/reduction-to-one';
import { describe, expect, it, vi } from 'vitest';
import { MirroredStrategy } from '../strategies/mirrored-strategy.js';
import { OpsChoice, servesSeveralTasks } from './ops-choice.js';

const devices = ['/job:localhost/replica:0/task:0/device:CPU:0'];
const registry = createRegistry();

/** A plug-in with mocked ops, which fails to create them the first `failures` times. */
function watched(failures = 0) {
  const closed = vi.fn();
  const made = vi.fn();
  const create = () => {
    made();
    if (made.mock.calls.length <= failures) throw new RangeError('not yet');
    const ops = new ReductionToOneDevice();
    const close = ops.close.bind(ops);
    return Object.assign(ops, {
      close: async () => {
        closed();
        await close();
      },
    });
  };
  const probe = vi.fn(() => ({ available: true }) as const);
  return { closed, made, probe, plugin: definePlugin({ name: 'watched', module: 'file:///double.js', probe, create }) };
}

const choose = (request: unknown, engine: 'auto' | 'js' = 'auto') =>
  new OpsChoice({ request: request as never, registry, devices, engine });

describe('the ops of a strategy', () => {
  it('are created once, when needed, and closed with the strategy', async () => {
    const { plugin, made, closed } = watched();
    const choice = choose(plugin);
    await choice.close();
    expect([made.mock.calls.length, closed.mock.calls.length]).toEqual([0, 0]);
    const [ops, again] = await Promise.all([choice.ops(), choice.ops()]);
    expect(again).toBe(ops);
    await choice.close();
    expect([made.mock.calls.length, closed.mock.calls.length]).toEqual([1, 1]);
  });

  it('are closed with the strategy, by close() or at the end of a using block', async () => {
    const { plugin, closed } = watched();
    const strategy = new MirroredStrategy({ devices: ['cpu:0'], crossDeviceOps: plugin });
    await strategy.extended.replicaOps();
    await strategy.close();
    expect(closed).toHaveBeenCalledTimes(1);
    {
      await using other = new MirroredStrategy({ devices: ['cpu:0'], crossDeviceOps: plugin });
      await other.extended.replicaOps();
    }
    expect(closed).toHaveBeenCalledTimes(2);
  });

  it('are created again after a failed attempt', async () => {
    const { plugin, made, closed } = watched(1);
    const choice = choose(plugin);
    await expect(choice.ops()).rejects.toThrow('not yet');
    await choice.close();
    await choice.ops();
    expect(made).toHaveBeenCalledTimes(2);
    await choice.close();
    expect(closed).toHaveBeenCalledTimes(1);
  });

  it('stay open if the caller passed them', async () => {
    const ops = new ReductionToOneDevice();
    const close = vi.spyOn(ops, 'close');
    const choice = choose(ops);
    expect([await choice.ops(), await choice.candidates(), choice.engine]).toEqual([ops, [], undefined]);
    await choice.close();
    expect(close).not.toHaveBeenCalled();
  });

  it('are chosen by plug-ins that know whether each replica has a thread of its own', async () => {
    const { plugin, probe } = watched();
    const choice = choose(plugin);
    await choice.ops();
    expect(probe.mock.lastCall).toEqual([expect.objectContaining({ devices, isolated: false })]);
    expect(await choice.isolated()).toMatchObject({ plugin, engine: choice.engine?.engine });
    expect(probe.mock.lastCall).toEqual([expect.objectContaining({ devices, isolated: true })]);
  });

  it('cannot be used in other threads if the caller passes them as an object', async () => {
    await expect(choose(new ReductionToOneDevice()).isolated()).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE', operation: 'run' },
      message: expect.stringContaining('an ops object cannot be sent to other threads'),
    });
  });

  it('cannot be combined with an engine option if the caller passes them as an object', () => {
    expect(() => choose(new ReductionToOneDevice(), 'js')).toThrow(
      expect.objectContaining({
        ...{ name: 'ValueError', code: 'ERR_COLL_VALUE' },
        message: expect.stringContaining("new RingAllReduce({ engine: 'js' })"),
      }),
    );
    expect(choose(watched().plugin, 'js').engine?.engine.name).toBe('js');
  });

  it.each([5, null, {}, { name: 5 }, { name: null }, []])('cannot be %j', (request) => {
    for (const ask of [() => choose(request), () => servesSeveralTasks(request as never, registry)])
      expect(ask).toThrow(
        expect.objectContaining({
          ...{ name: 'ValueError', code: 'ERR_COLL_VALUE' },
          message: expect.stringMatching(
            /^crossDeviceOps must be an ops object, a plug-in, \{ name, options \}, a name or/,
          ),
        }),
      );
  });
});
