import { directAlgorithm } from '@coll/direct';
import { ringAlgorithm } from '@coll/ring';
import { describe, expect, it } from 'vitest';
import { joinThreadGroup, openMembers } from '../engines/open-members.js';
import { jsEngine } from '../js/js-engine.js';
import { tensor } from '../values/tensor.js';
import type { Member } from './member.js';

const open = (size: number) => openMembers({ size, algorithm: ringAlgorithm(), engine: 'js' });
const all = <R>(members: readonly Member[], call: (member: Member) => Promise<R>) => Promise.all(members.map(call));
const errorOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a collective of members', () => {
  it('reduces arrays to arrays', async () => {
    const sums = await all(open(3), (member) => member.allReduce('sum', new Float32Array([member.rank, 1])));
    expect(sums).toEqual([0, 1, 2].map(() => new Float32Array([3, 3])));
  });

  it('returns floats for the mean of integers', async () => {
    const means = await all(open(2), (member) => member.allReduce('mean', new Int32Array([member.rank])));
    expect(means).toEqual([new Float64Array([0.5]), new Float64Array([0.5])]);
  });

  it('keeps the shape of tensors', async () => {
    const value = tensor(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
    const sums = await all(open(2), (member) => member.allReduce('max', value));
    expect(sums.map(({ shape }) => shape)).toEqual([
      [2, 2],
      [2, 2],
    ]);
    const joined = await all(open(2), (member) => member.allGather(value));
    expect(joined.map(({ shape }) => shape)).toEqual([
      [4, 2],
      [4, 2],
    ]);
  });

  it('accepts lists of arrays or tensors', async () => {
    const lists = await all(open(2), (member) =>
      member.allReduce('sum', [new Float32Array([member.rank]), new Float32Array([2, 3])]),
    );
    expect(lists[1]).toEqual([new Float32Array([1]), new Float32Array([4, 6])]);
  });

  it('refuses a number in a list, and says which index and what to do', async () => {
    const members = open(2);
    const list = [new Float64Array(1), 7] as unknown as Float64Array[];
    const calls = [
      (member: Member) => member.allReduce('sum', list),
      (member: Member) => member.reduce('sum', 0, list),
      (member: Member) => member.broadcast(0, list),
      (member: Member) => member.allGather(list as never),
    ];
    for (const call of calls) {
      for (const error of await all(members, (member) => errorOf(call(member)))) {
        expect(error).toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
        expect(String(error)).toMatch(/: rank \d: a list .* got the number 7 at index 1; .*Float32Array\.of/);
      }
    }
    await all(members, (member) => member.barrier());
  });

  it('refuses a number as memory for a result', async () => {
    const members = open(2);
    const value = new Float64Array(1);
    const calls = [
      (member: Member) => member.allReduce('sum', value, { into: 5 as never }),
      (member: Member) => member.allReduce('sum', [value], { into: [5] as never }),
      (member: Member) => member.scatter(0, 5 as never, member.rank === 0 ? new Float64Array(2) : undefined),
    ];
    for (const call of calls)
      for (const error of await all(members, (member) => errorOf(call(member))))
        expect(error).toMatchObject({ code: 'ERR_COLL_VALUE', message: expect.stringContaining('got 5') });
    await all(members, (member) => member.barrier());
    expect(await errorOf((members[0] as Member).receive(1, 5 as never))).toMatchObject({ code: 'ERR_COLL_VALUE' });
  });

  it('states the operation and the rank in errors of values', async () => {
    const [first, second] = open(2) as [Member, Member];
    for (const [call, operation] of [
      [second.allReduce('sum', 'one' as never), 'all-reduce sum'],
      [second.broadcast(0, [new Float32Array(1), undefined] as never), 'broadcast from rank 0'],
      [second.scatter(0, 'one' as never), 'scatter from rank 0'],
      [second.send(0, {} as never), 'send to rank 0'],
      [second.receive(0, 5 as never), 'receive from rank 0'],
    ] as const)
      expect(await errorOf(call)).toMatchObject({
        ...{ name: 'ValueError', operation, rank: 1 },
        message: expect.stringMatching(new RegExp(`^${operation}: rank 1: (value|into) must be`)),
      });
    await first.close();
  });

  it('writes into the memory passed as `into` and returns it', async () => {
    const into = [new Float32Array(1), new Float32Array(1)];
    const results = await all(open(2), (member) =>
      member.allReduce('sum', new Float32Array([5]), { into: into[member.rank] as Float32Array }),
    );
    expect(results[0]).toBe(into[0]);
    expect(into).toEqual([new Float32Array([10]), new Float32Array([10])]);
  });

  it('returns a reduce result at the root only', async () => {
    const members = open(3);
    expect(await all(members, (member) => member.reduce('sum', 1, new Int32Array([member.rank])))).toEqual([
      undefined,
      new Int32Array([3]),
      undefined,
    ]);
    expect(await all(members, (member) => member.gather(2, new Int32Array([member.rank])))).toEqual([
      undefined,
      undefined,
      new Int32Array([0, 1, 2]),
    ]);
  });

  it('supports broadcast, gather, scatter and all-to-all', async () => {
    const members = openMembers({ size: 2, algorithm: directAlgorithm() });
    const value = (rank: number) => new Int32Array([10 * rank, 10 * rank + 1]);
    expect(await all(members, (member) => member.broadcast(1, value(member.rank)))).toEqual([value(1), value(1)]);
    expect(await all(members, (member) => member.reduceScatter('sum', value(member.rank)))).toEqual([
      new Int32Array([10]),
      new Int32Array([12]),
    ]);
    expect(await all(members, (member) => member.allToAll(value(member.rank)))).toEqual([
      new Int32Array([0, 10]),
      new Int32Array([1, 11]),
    ]);
    const parts = await all(members, (member) =>
      member.scatter(0, new Int32Array(1), member.rank === 0 ? value(3) : undefined),
    );
    expect(parts).toEqual([new Int32Array([30]), new Int32Array([31])]);
  });

  it('resolves a barrier when the last member arrives', async () => {
    const [first, second] = open(2) as [Member, Member];
    let isOver = false;
    const waiting = first.barrier().then(() => {
      isOver = true;
    });
    await new Promise(setImmediate);
    expect(isOver).toBe(false);
    await Promise.all([waiting, second.barrier()]);
  });

  it('refuses invalid arguments, and goes on if all members have refused as many calls', async () => {
    const [first, second] = open(2) as [Member, Member];
    expect(await errorOf(first.broadcast(2, new Float32Array(1)))).toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: 'root must be a rank from 0 to 1, got 2',
    });
    expect(await errorOf(first.allReduce('median' as 'sum', new Float32Array(1)))).toMatchObject({
      message: expect.stringContaining('unknown reduce op "median"'),
    });
    expect(await errorOf(first.reduceScatter('sum', new Float32Array(3)))).toMatchObject({
      code: 'ERR_COLL_BUFFER',
      message:
        'reduce-scatter sum: rank 0: the number of elements must be divisible by the number of ranks, got 3 elements for 2 ranks',
    });
    expect(await errorOf(first.allGather([new Float32Array(1)] as never))).toMatchObject({
      message:
        'all-gather: all-gather takes one array or tensor, got a list; only all-reduce, reduce and broadcast take lists',
    });
    expect(await errorOf(first.scatter(0, new Float32Array(1)))).toMatchObject({
      message: 'scatter from rank 0: rank 0: the root must pass the value to scatter',
    });
    expect(await errorOf(second.scatter(0, new Float32Array(1), new Float32Array(2)))).toMatchObject({
      message: 'scatter from rank 0: rank 1: only the root may pass a value',
    });
    for (let call = 1; call < 5; call++) await errorOf(second.broadcast(2, new Float32Array(1)));
    const sums = await Promise.all([first, second].map((member) => member.allReduce('sum', new Float32Array([1]))));
    expect(sums).toEqual([new Float32Array([2]), new Float32Array([2])]);
  });

  it('fails on all members after a call that one member alone has refused', async () => {
    const [first, second] = open(2) as [Member, Member];
    const refused = await errorOf(second.allReduce('sum', new Float32Array(1), { signal: 1 as never }));
    const sum = () => Promise.all([first, second].map((member) => errorOf(member.allReduce('sum', new Int8Array(1)))));
    for (const error of [...(await sum()), ...(await sum())]) {
      expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
      expect((error as Error).message).toContain(`rank 1 caught ERR_COLL_VALUE (${(refused as Error).message})`);
    }
  });

  it('fails on all members if they call different collectives', async () => {
    const [first, second] = open(2) as [Member, Member];
    const errors = await Promise.all([errorOf(first.allReduce('sum', new Float32Array(1))), errorOf(second.barrier())]);
    for (const error of errors) expect(error).toMatchObject({ code: 'ERR_COLL_MISMATCH', operation: 'all-reduce' });
  });

  it('names the member that did not arrive before the deadline', async () => {
    const [first] = open(2) as [Member, Member];
    expect(await errorOf(first.barrier({ timeoutSeconds: 0.01 }))).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      message: expect.stringContaining('rank 1'),
    });
  });
});

describe('messages between members', () => {
  it('arrive in the order in which they were sent', async () => {
    const [first, second] = open(2) as [Member, Member];
    const into = [new Float32Array(1), new Float32Array(1)] as const;
    await Promise.all([
      second.receive(0, into[0]),
      first.send(1, new Float32Array([1])),
      first.send(1, new Float32Array([2])),
      second.receive(0, into[1]),
    ]);
    expect(into).toEqual([new Float32Array([1]), new Float32Array([2])]);
  });

  it('travel in both directions at once, and beside collectives', async () => {
    const [first, second] = open(2) as [Member, Member];
    const swap = (member: Member, other: number) =>
      Promise.all([member.send(other, new Int32Array([member.rank])), member.receive(other, new Int32Array(1))]);
    const sum = first.allReduce('sum', new Float32Array([1]));
    const swapped = await Promise.all([swap(first, 1), swap(second, 0)]);
    expect(swapped.map(([, received]) => received)).toEqual([new Int32Array([1]), new Int32Array([0])]);
    await Promise.all([sum, second.allReduce('sum', new Float32Array([1]))]);
  });

  it('fail the group on both sides if their length or dtype is not the one that the receiver expects', async () => {
    for (const [into, code] of [
      [new Float32Array(2), 'ERR_COLL_SHAPE_MISMATCH'],
      [new Int32Array(1), 'ERR_COLL_DTYPE_MISMATCH'],
    ] as const) {
      const [first, second] = open(2) as [Member, Member];
      const sending = errorOf(first.send(1, new Float32Array(1)));
      expect(await errorOf(second.receive(0, into))).toMatchObject({ code, rank: 1, operation: 'receive from rank 0' });
      await sending;
      expect(await errorOf(first.send(1, new Float32Array(1)))).toMatchObject({ code });
    }
  });

  it('fail the group if their memory is detached while they are sent', async () => {
    const [first, second] = open(2) as [Member, Member];
    const value = new Float32Array(2);
    const sending = errorOf(first.send(1, value));
    structuredClone(value, { transfer: [value.buffer] });
    const receiving = errorOf(second.receive(0, new Float32Array(2)));
    const lost = { code: 'ERR_COLL_BUFFER', message: expect.stringContaining('a buffer of rank 0 was detached') };
    expect(await sending).toMatchObject(lost);
    expect(await receiving).toMatchObject(lost);
  });

  it('fail at their deadline together with the group', async () => {
    const [first, second] = open(2) as [Member, Member];
    expect(await errorOf(first.receive(1, new Float32Array(1), { timeoutSeconds: 0.01 }))).toMatchObject({
      code: 'ERR_COLL_DEADLINE',
      message: 'receive from rank 1: timed out on rank 0 waiting for rank 1, which did not call send',
    });
    expect(await errorOf(second.send(0, new Float32Array(1)))).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
  });

  it('are aborted by a signal, together with the group if they have started', async () => {
    const [first, second] = open(2) as [Member, Member];
    const aborted = AbortSignal.abort(new Error('enough'));
    expect(await errorOf(first.send(1, new Float32Array(1), { signal: aborted }))).toMatchObject({
      message: 'send to rank 1 was aborted before it began',
    });
    const refused = errorOf(second.receive(0, new Float32Array(1), { signal: aborted }));
    expect(await refused).toMatchObject({ message: 'receive from rank 0 was aborted before it began' });
    await Promise.all([first.send(1, new Float32Array([7])), second.receive(0, new Float32Array(1))]);
    const controller = new AbortController();
    const sending = errorOf(first.send(1, new Float32Array(1), { signal: controller.signal }));
    controller.abort();
    expect(await sending).toMatchObject({ message: 'send to rank 1 was aborted while it was under way' });
    expect(await errorOf(second.receive(0, new Float32Array(1)))).toMatchObject({ code: 'ERR_COLL_ABORTED' });
  });

  it('do not keep a program running while a member waits for them', () => {
    const [first] = open(2) as [Member, Member];
    const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
    const before = timers();
    void first.receive(1, new Float32Array(1));
    expect(timers()).toBe(before);
  });

  it('must go to another member', async () => {
    const [first] = open(2) as [Member, Member];
    expect(await errorOf(first.send(0, new Float32Array(1)))).toMatchObject({
      message: 'send: rank 0 cannot send messages to itself or receive its own',
    });
    expect(await errorOf(first.receive(5, new Float32Array(1)))).toMatchObject({
      message: 'from must be a rank from 0 to 1, got 5',
    });
  });
});

describe('split() of a member', () => {
  it('creates one group per color, ordered by key', async () => {
    const members = await all(open(5), (member) =>
      member.split(member.rank === 4 ? -1 : member.rank % 2, -member.rank),
    );
    expect(members.map((member) => member && [member.rank, member.size])).toEqual([
      [1, 2],
      [1, 2],
      [0, 2],
      [0, 2],
      undefined,
    ]);
    const gathered = await all(members.slice(0, 4) as Member[], (member) =>
      member.allGather(new Int32Array([member.rank])),
    );
    expect(gathered).toEqual(Array.from({ length: 4 }, () => new Int32Array([0, 1])));
  });

  it('orders by rank if no key is given', async () => {
    const members = await all(open(3), (member) => member.split(7));
    expect(members.map((member) => member?.rank)).toEqual([0, 1, 2]);
  });

  it('creates groups that fail if their parent group fails, and vice versa', async () => {
    for (const failsFirst of ['part', 'whole']) {
      const whole = open(4);
      const parts = (await all(whole, (member) => member.split(member.rank % 2))) as Member[];
      const [failing, later] = failsFirst === 'part' ? [parts, whole] : [whole, parts];
      await errorOf((failing[0] as Member).receive(1, new Float32Array(1), { timeoutSeconds: 0.01 }));
      for (const member of later)
        expect(await errorOf(member.send((member.rank + 1) % member.size, new Float32Array(1)))).toMatchObject({
          code: 'ERR_COLL_DEADLINE',
        });
    }
  });

  it('creates groups that can be closed without effect on the parent group', async () => {
    const whole = open(2);
    const parts = (await all(whole, (member) => member.split(0))) as Member[];
    await all(parts, (member) => member.close());
    expect(await errorOf((parts[0] as Member).barrier())).toMatchObject({ code: 'ERR_COLL_CLOSED' });
    expect(await all(whole, (member) => member.allReduce('sum', new Int32Array([1])))).toEqual([
      new Int32Array([2]),
      new Int32Array([2]),
    ]);
  });

  it('requires 32-bit integers as color and key', async () => {
    const [first] = open(1) as [Member];
    expect(await errorOf(first.split(0.5))).toMatchObject({
      message: 'split: color must be a 32-bit integer, got 0.5',
    });
    expect(await errorOf(first.split(0, 2 ** 40))).toMatchObject({
      message: 'split: key must be a 32-bit integer, got 1099511627776',
    });
  });
});

describe('close() of a member', () => {
  it('rejects the calls in which other members wait', async () => {
    const [first, second] = open(2) as [Member, Member];
    const waiting = errorOf(first.barrier());
    await second.close();
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });

  it('rejects the message that a member in a thread waits for', async () => {
    const group = jsEngine.createGroup({ size: 2 });
    const member = joinThreadGroup(group, { rank: 0, algorithm: ringAlgorithm() });
    const waiting = errorOf(member.receive(1, new Float32Array(1)));
    await member.close();
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_CLOSED' });
  });
});
