import type { Collective, Communicator, ProcessGroup, Tensor } from '@coll/core';
import { CallOrder } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { expect, it } from 'vitest';
import { LinkTuning } from './link-tuning.js';

/** The algorithms with which a group on these hosts measures its links. */
function measuredOn(hosts: readonly string[]): readonly string[] {
  const opened: string[] = [];
  const stop = new Error('a double that executes nothing');
  const communicator = (algorithm: Algorithm) => {
    opened.push(algorithm.name);
    const refuses = (collective: Collective) => algorithm.refuses?.(collective, hosts.length);
    const runSync = () => {
      throw stop;
    };
    return {
      group: { order: {} },
      refuses,
      runSync,
      close: async () => {},
    } as unknown as Communicator;
  };
  const tuning = new LinkTuning({ rank: 0, size: hosts.length, hosts, communicator } as unknown as ProcessGroup);
  opened.length = 0;
  expect(() => tuning.beginSync()).toThrow(stop);
  return opened;
}

it('LinkTuning measures links within hosts by an algorithm on two levels if hosts have several ranks', () => {
  const flat = ['direct', 'recursive-halving-doubling', 'ring', 'binary-tree'];
  expect(measuredOn(['a', 'a', 'b', 'b'])).toEqual([...flat, 'direct/direct']);
  expect(measuredOn(['a', 'b', 'c', 'd'])).toEqual(flat);
  expect(measuredOn(['a', 'a', 'a', 'a'])).toEqual(flat);
});

it('LinkTuning measures once for calls that begin together in one turn, and begins them in order', async () => {
  const order = new CallOrder();
  const events: string[] = [];
  // A double that executes nothing, in a turn of the event loop.
  const run = async ({ kind }: Collective, [input]: readonly Tensor[], [output]: readonly Tensor[]) => {
    await new Promise(setImmediate);
    if (kind !== 'broadcast') return;
    output?.data.set(input?.data as never);
    events.push('all agree');
  };
  const communicator = () => ({ group: { order }, refuses: () => undefined, run, close: async () => {} });
  const group = { rank: 0, size: 2, hosts: ['a', 'a'], links: [], communicator };
  const tuning = new LinkTuning(group as unknown as ProcessGroup);
  const turn = order.take();
  const begin = (name: string) => tuning.begin(async () => void events.push(name), { turn });
  await Promise.all([begin('first'), begin('second')]);
  turn.end();
  expect(events).toEqual(['all agree', 'first', 'second']);
});
