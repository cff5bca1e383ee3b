import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Members } from './members.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;

describe.each(['shared-memory', 'tcp'] as const)('a group over %s', (transport) => {
  let members: Members;

  beforeAll(async () => {
    members = await Members.start(3);
  });
  afterAll(() => members[Symbol.asyncDispose]());

  const each = <Result>(work: (member: Members['all'][number], rank: number) => Promise<Result>) =>
    Promise.all(members.all.map(work));

  it('executes small and large collectives in sync and async calls', async () => {
    const opened = await members.open({ transport });
    expect(opened[1]).toMatchObject({
      rank: 1,
      size: 3,
      generation: 0,
      links: [
        { rank: 0, transport },
        { rank: 2, transport },
      ],
    });
    for (const length of [0, 1, 1000, 1_000_000]) {
      for (const how of ['run', 'runSync'] as const) {
        const results = await each((member) => member.ask({ do: how, collective: sum, length }));
        for (const result of results) expect(result).toEqual(Array(Math.min(length, 4)).fill(6));
      }
    }
    await each((member) => member.ask({ do: 'close' }));
    const late = await each((member) => member.failure({ do: 'run', collective: sum, length: 1 }));
    for (const { code } of late) expect(code).toBe('ERR_COLL_CLOSED');
  });

  it('names the ranks whose calls differ, with the same message on all members', async () => {
    await members.open({ transport });
    const failures = await each((member, rank) =>
      member.failure({ do: rank === 0 ? 'runSync' : 'run', collective: sum, length: rank === 2 ? 5 : 4 }),
    );
    for (const failure of failures) {
      expect(failure).toEqual(failures[0]);
      expect(failure).toMatchObject({ code: 'ERR_COLL_SHAPE_MISMATCH', rank: 2 });
      expect(failure.message).toContain('5 float32 elements on rank 2');
    }
    const later = await each((member) => member.failure({ do: 'run', collective: sum, length: 4 }));
    for (const failure of later) expect(failure.message).toBe(failures[0]?.message);
  });

  it('names a rank that never arrives, on all members', async () => {
    await members.open({ transport });
    const [first, second, third] = members.all as [Members['all'][0], Members['all'][0], Members['all'][0]];
    const failures = await Promise.all([
      first.failure({ do: 'runSync', collective: sum, length: 4, timeoutSeconds: 3 }),
      second.failure({ do: 'run', collective: sum, length: 4, timeoutSeconds: 3 }),
    ]);
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
      expect(failure.message).toContain('rank 2 did not arrive');
    }
    expect(failures[0]?.message).toBe(failures[1]?.message);
    const late = await third.failure({ do: 'run', collective: sum, length: 4 });
    expect(late.message).toBe(failures[0]?.message);
  });

  it('ends for all members when one member aborts a call, fails or leaves', async () => {
    const [first, second] = members.all as [Members['all'][0], Members['all'][0]];
    for (const [how, waiting, task, code] of [
      ['aborted', 'run', { do: 'run', collective: sum, length: 4, abortAfter: 50 }, 'ERR_COLL_ABORTED'],
      ['out of memory', 'runSync', { do: 'fail', message: 'out of memory' }, 'ERR_COLL_PEER_FAILED'],
      ['left', 'run', { do: 'close' }, 'ERR_COLL_CLOSED'],
    ] as const) {
      await members.open({ transport });
      const failure = second.failure({ do: waiting, collective: sum, length: 4 });
      const own = first.ask(task).catch((error) => error);
      expect(await failure).toMatchObject({ code, rank: 0 });
      expect((await failure).message).toContain(how);
      if (how === 'aborted') expect(await own).toMatchObject({ code });
    }
  });

  it('completes the collectives in which a member took part before it left', async () => {
    await members.open({ transport });
    const results = await each(async (member, rank) => {
      const result = await member.ask({ do: 'run', collective: { kind: 'broadcast', root: 0 }, length: 300_000 });
      if (rank === 0) await member.ask({ do: 'close' });
      return result;
    });
    for (const result of results) expect(result).toEqual([1, 1, 1, 1]);
  });
});

describe.each(['shared-memory', 'tcp'] as const)('a lost member, over %s', (transport) => {
  it('is named on all others at once when its process ends', async () => {
    await using members = await Members.start(3);
    await members.open({ transport, heartbeatSeconds: 60 });
    const [first, second, third] = members.all as [Members['all'][0], Members['all'][0], Members['all'][0]];
    const waiting = [
      first.failure({ do: 'runSync', collective: sum, length: 1_000_000 }),
      second.failure({ do: 'run', collective: sum, length: 1_000_000 }),
    ];
    await second.ask({ do: 'explain' });
    const begin = performance.now();
    third.child.kill('SIGKILL');
    const failures = await Promise.all(waiting);
    // Long before any heartbeat is missed.
    expect(performance.now() - begin).toBeLessThan(30_000);
    for (const failure of failures) {
      expect(failure).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 2, operation: 'all-reduce sum' });
      expect(failure.message).toContain('rank 2 on');
      expect(failure.message).toContain('was lost');
    }
  });

  it('is named on all others after the heartbeat timeout when its process is stopped', async () => {
    await using members = await Members.start(3);
    await members.open({ transport, heartbeatSeconds: 2 });
    const [first, second, third] = members.all as [Members['all'][0], Members['all'][0], Members['all'][0]];
    third.child.kill('SIGSTOP');
    const begin = performance.now();
    const failures = await Promise.all([
      first.failure({ do: 'run', collective: sum, length: 4 }),
      second.failure({ do: 'runSync', collective: sum, length: 4 }),
    ]);
    expect(performance.now() - begin).toBeLessThan(30_000);
    for (const failure of failures) expect(failure).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 2 });
    expect(failures[0]?.message).toBe(failures[1]?.message);
    third.child.kill('SIGCONT');
    const own = await third.failure({ do: 'run', collective: sum, length: 4 });
    expect(own).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 2 });
  });

  it('reports its exit code to the others if it exits by itself', async () => {
    await using members = await Members.start(2);
    await members.open({ transport });
    const [first, second] = members.all as [Members['all'][0], Members['all'][0]];
    const waiting = first.failure({ do: 'run', collective: sum, length: 4 });
    second.ask({ do: 'exit', code: 7 }).catch(() => {});
    expect(await waiting).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 1 });
    expect((await waiting).message).toMatch(/rank 1 on .* ended with exit code 7/);
  });
});
