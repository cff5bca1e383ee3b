import { describe, expect, it } from 'vitest';
import { CallOrder } from './call-order.js';

const eventLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('CallOrder', () => {
  it('is held from the moment when a turn is taken until the turn ends', () => {
    const order = new CallOrder();
    expect(order.isHeld).toBe(false);
    const turn = order.take();
    expect([order.isHeld, turn.begun]).toEqual([true, undefined]);
    turn.end();
    expect(order.isHeld).toBe(false);
  });

  it('starts a call once all earlier turns have ended, whether they succeeded or failed', async () => {
    const order = new CallOrder();
    const log: string[] = [];
    const failing = order.hold(async () => {
      await eventLoop();
      log.push('first ends');
      throw new Error('burst');
    });
    const call = order.start(async () => {
      log.push('second starts');
      return 2;
    });
    await expect(failing).rejects.toThrow('burst');
    expect(await call).toBe(2);
    expect(log).toEqual(['first ends', 'second starts']);
    expect(order.isHeld).toBe(false);
  });

  it('starts the next call once the previous call has started, without waiting for its end', async () => {
    const order = new CallOrder();
    const turn = order.take();
    const log: string[] = [];
    let end = () => {};
    const first = order.start(() => {
      log.push('first');
      return new Promise<void>((resolve) => {
        end = resolve;
      });
    });
    const second = order.start(async () => void log.push('second'));
    expect(log).toEqual([]);
    turn.end();
    await second;
    expect(log).toEqual(['first', 'second']);
    end();
    await first;
  });

  it('grants turns in the order in which they were requested', async () => {
    const order = new CallOrder();
    const log: number[] = [];
    await Promise.all([1, 2, 3].map((number) => order.hold(async () => void log.push(number))));
    expect(log).toEqual([1, 2, 3]);
  });

  it('counts collectives and their bytes', () => {
    const order = new CallOrder();
    order.count(4);
    order.count(8);
    expect([order.begun, order.bytes]).toEqual([2, 12]);
  });
});
