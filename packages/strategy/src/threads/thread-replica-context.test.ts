import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { CommunicationOptions, type CrossDeviceOps, InternalError, PerReplica, UnavailableError } from '@coll/core';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { runInReplica } from '../scope/contexts.js';
import { ThreadReplicaContext } from './thread-replica-context.js';

const two = strategyOf(2);
const ports: MessagePort[] = [];
afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

/**
 * A replica on a test double of ops with this group, and the port of the thread that started the
 * replica.
 */
function replicaOf(group: object | undefined, defaults?: CommunicationOptions, replica = 0) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const ops = { name: 'lonely', replicaGroup: group } as unknown as CrossDeviceOps;
  const context = new ThreadReplicaContext({ replica, strategy: two, ops, port: port1, defaults });
  const heard: unknown[] = [];
  const waiting: ((message: unknown) => void)[] = [];
  port2.on('message', (message) => {
    const next = waiting.shift();
    if (next) next(message);
    else heard.push(message);
  });
  const next = () =>
    heard.length > 0 ? Promise.resolve(heard.shift()) : new Promise((resolve) => waiting.push(resolve));
  return { context, next, starter: port2 };
}

/**
 * A test double of a replica group that multiplies each value by a factor and records its calls.
 */
function groupOf(factor: number) {
  const asked: unknown[][] = [];
  const purposes: string[] = [];
  const group = {
    reduceCall: (...call: unknown[]) => {
      asked.push(call);
      return call;
    },
    ownCall: (purpose: string, call: unknown[]) => {
      purposes.push(purpose);
      return call;
    },
    run: async ([, value]: [unknown, Float32Array]) => ({ data: value.map((number) => factor * number) }),
    refuse: vi.fn(),
  };
  return { group, asked, purposes };
}

describe('a merge call in a thread', () => {
  it('sends its arguments and receives its component of the result', async () => {
    const { context, next, starter } = replicaOf(undefined);
    const merged = runInReplica(context, () => context.mergeCall(() => 0, [5], { rate: 2 }));
    expect(await next()).toEqual({ type: 'merge', args: [5, { rate: 2 }] });
    starter.postMessage({ type: 'outcome', value: 7 });
    expect(await merged).toBe(7);
  });

  it('runs on replica 0 for all, in cross-replica context', async () => {
    const { context, next, starter } = replicaOf(undefined);
    const seen: unknown[] = [];
    const merged = runInReplica(context, () =>
      context.mergeCall(
        (strategy, value) => {
          seen.push(strategy, value);
          return new PerReplica([10, 20]);
        },
        [1],
      ),
    );
    await next();
    starter.postMessage({ type: 'hold', args: [[1], [2]] });
    expect(await next()).toEqual({ type: 'merged', results: [10, 20] });
    expect(seen).toEqual([two, new PerReplica([1, 2])]);
    starter.postMessage({ type: 'outcome', value: 10 });
    expect(await merged).toBe(10);
  });

  it('reports why it could not run', async () => {
    const { context, next, starter } = replicaOf(undefined);
    const fail = () => {
      throw new RangeError('too far');
    };
    void runInReplica(context, () => context.mergeCall(fail));
    await next();
    starter.postMessage({ type: 'hold', args: [[], []] });
    expect(await next()).toMatchObject({ type: 'mergeFailed', error: [{ name: 'RangeError', message: 'too far' }] });
  });

  it('is accompanied by a collective with a purpose of its own', async () => {
    const { group, asked, purposes } = groupOf(2);
    const { context, next, starter } = replicaOf(group, undefined, 1);
    for (let call = 1; call <= 3; call++) {
      const merged = runInReplica(context, () => context.mergeCall(() => 0));
      await next();
      starter.postMessage({ type: 'outcome', value: call });
      expect(await merged).toBe(call);
    }
    expect(purposes).toEqual(['merge', 'merge', 'merge']);
    expect(asked).toEqual([1, 2, 3].map(() => ['MAX', new Int16Array(1), 1, undefined]));
  });

  it('counts as refused if its arguments cannot be sent', async () => {
    const { group, asked } = groupOf(2);
    const { context } = replicaOf(group, undefined, 1);
    const error = await runInReplica(context, () => context.mergeCall(() => 0, [() => 0])).catch((error) => error);
    expect(error).toMatchObject({ code: 'ERR_COLL_NOT_CLONEABLE' });
    expect([group.refuse.mock.calls, asked]).toEqual([[[1, error]], []]);
  });

  it('fails if another replica makes a different call', async () => {
    const error = new InternalError('ERR_COLL_MISMATCH', 'ranks disagree', { operation: 'mergeCall' });
    const { context, next } = replicaOf({ ...groupOf(3).group, run: () => Promise.reject(error) });
    const merged = runInReplica(context, () => context.mergeCall(() => 0));
    const failed = expect(merged).rejects.toBe(error);
    await next();
    await failed;
  });

  it('refuses arguments that cannot be posted', async () => {
    const { context } = replicaOf(undefined);
    const merged = runInReplica(context, () => context.mergeCall(() => 0, [() => 1]));
    await expect(merged).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_NOT_CLONEABLE', cause: expect.anything() },
      message: expect.stringMatching(
        /^an argument of a merge call cannot be sent to another thread \(.+\); use plain data/,
      ),
    });
  });
});

describe('a replica in a thread', () => {
  it('sends its reports', async () => {
    const { context, next } = replicaOf(undefined);
    context.report({ loss: 1 });
    expect(await next()).toEqual({ type: 'report', value: { loss: 1 } });
    expect(() => context.report(() => 1)).toThrow(/^a report cannot be sent to another thread/);
  });

  it('supports synchronous calls, and names operations that need a world', async () => {
    const { context } = replicaOf(undefined);
    expect(context.canBlock).toBe(true);
    await expect(runInReplica(context, () => context.allReduce('SUM', 1))).rejects.toMatchObject({
      ...{ name: 'NotImplementedError', code: 'ERR_COLL_NOT_IMPLEMENTED', operation: 'allReduce' },
      message: 'lonely cannot allReduce inside a replica, because it was created without a world',
    });
    expect(() => runInReplica(context, () => context.broadcastSync(1))).toThrow('lonely cannot broadcastSync inside');
  });

  it('merges the options of a call into the options of its strategy', async () => {
    const { group, asked } = groupOf(1);
    const value = Float32Array.of(1);
    const { context } = replicaOf(group, new CommunicationOptions({ timeoutSeconds: 7, bytesPerPack: 3 }));
    await runInReplica(context, () => context.allReduce('SUM', value));
    const into = new Float32Array(1);
    await runInReplica(context, () => context.allReduce('SUM', value, { timeoutSeconds: 2, into }));
    expect(asked.map(([, , , options]) => options)).toEqual([
      { options: expect.objectContaining({ timeoutSeconds: 7, bytesPerPack: 3 }) },
      { options: expect.objectContaining({ timeoutSeconds: 2, bytesPerPack: 3 }), into },
    ]);
    const plain = groupOf(1);
    const options = { timeoutSeconds: 2 };
    const { context: without } = replicaOf(plain.group);
    await runInReplica(without, () => without.allReduce('SUM', value, options));
    expect(plain.asked[0]?.[3]).toBe(options);
  });
});

describe('the end of a run in a thread', () => {
  it('meets the other replicas in a collective with a purpose of its own and without a time limit', async () => {
    const { group, asked, purposes } = groupOf(2);
    const { context } = replicaOf(group, new CommunicationOptions({ timeoutSeconds: 7 }), 1);
    for (let run = 1; run <= 2; run++) expect(await context.leave()).toBe(true);
    expect(purposes).toEqual(['run end', 'run end']);
    expect(asked).toEqual([1, 2].map(() => ['MAX', new Int16Array(1), 1, { timeoutSeconds: 0 }]));
  });

  it('reports that another replica still waits if their common call is refused', async () => {
    const error = new InternalError('ERR_COLL_MISMATCH', 'ranks disagree', { operation: 'all-reduce sum' });
    const { context } = replicaOf({ ...groupOf(3).group, run: () => Promise.reject(error) }, undefined, 1);
    await expect(context.leave()).rejects.toMatchObject({
      ...{ name: 'RuntimeError', code: 'ERR_COLL_MERGE', rank: 1, cause: error },
      message: expect.stringMatching(
        /^replicas made different numbers of collectives: replica 1 has ended after 0 while another replica waits in collective 1 of the run/,
      ),
    });
  });

  it('reports a group that has failed', async () => {
    const run = () => Promise.reject(new UnavailableError('ERR_COLL_PEER_FAILED', 'another replica failed'));
    expect(await replicaOf({ ...groupOf(1).group, run }).context.leave()).toBe(false);
  });

  it('refuses calls until the next run', async () => {
    const { context } = replicaOf(groupOf(1).group);
    const call = () => context.allReduce('SUM', Float32Array.of(1));
    const during = () => context.during(() => runInReplica(context, call));
    const refused = { code: 'ERR_COLL_CLOSED', operation: 'allReduce', rank: 0 };
    await during();
    await expect(runInReplica(context, call)).rejects.toMatchObject(refused);
    expect(() => context.report(1)).toThrow(expect.objectContaining({ code: 'ERR_COLL_CLOSED', operation: 'report' }));
    await during();
    await expect(context.during(() => Promise.reject(new Error('thrown')))).rejects.toThrow('thrown');
    await expect(runInReplica(context, call)).rejects.toMatchObject(refused);
  });
});
