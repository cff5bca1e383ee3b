import { describe, expect, it } from 'vitest';
import {
  busy,
  done,
  exited,
  failed,
  four,
  gone,
  now,
  peerFailed,
  recordedRank,
  turning,
  waiting,
} from '../../test/recorded-ranks.js';
import { findVerdict } from './find-verdict.js';
import type { SeenRecord } from './group-records.js';

describe('a rank that does not come', () => {
  it('is named if its event loop turns', () => {
    expect(findVerdict(four({ 3: turning }))).toEqual({
      kind: 'absent',
      ranks: [3],
      group: 'group',
      call: { number: 10, verb: 'all-reduce' },
      sentence:
        'rank 3 never called all-reduce 10 (sum, float32, 4,096 elements), in which ranks 0, 1, 2 have waited for 41 s; its event loop turns, so the program does not come to the call',
      waiting: [0, 1, 2],
      seconds: 41,
      missing: [],
    });
  });

  it('is named if its event loop is busy', () => {
    const { kind, ranks, sentence } = findVerdict(four({ 2: busy(40) }));
    expect({ kind, ranks }).toEqual({ kind: 'busy', ranks: [2] });
    expect(sentence).toMatch(/^rank 2 never called all-reduce 10 .*; its event loop has been busy for 40 s$/);
  });

  it('is said to be busy as soon as its wait is worth a verdict', () => {
    const calls = [...done(10), waiting(2.1)];
    const loop = busy(2.3);
    const record = { ...loop.record, alive: now - 0.9e6 };
    const { kind, ranks } = findVerdict(four({ 0: { calls }, 1: { calls }, 2: { ...loop, record }, 3: { calls } }));
    expect({ kind, ranks }).toEqual({ kind: 'busy', ranks: [2] });
  });

  it('is not said to be blocked if its event loop waits for events', () => {
    const record = { loopTurn: now - 5e6, threadState: 'S', systemCall: 281 };
    expect(findVerdict(four({ 1: { calls: done(10), record } })).kind).toBe('absent');
  });

  it('is named if it is blocked in a system call', () => {
    const record = { loopTurn: now - 40e6, threadState: 'D', systemCall: 74 };
    const { kind, ranks, sentence } = findVerdict(four({ 1: { calls: done(10), record } }));
    expect({ kind, ranks }).toEqual({ kind: 'blocked', ranks: [1] });
    expect(sentence).toContain('blocked in fsync for 40 s');
  });

  it('is named, with several others', () => {
    const { kind, ranks, waiting: who } = findVerdict(four({ 1: turning, 3: turning }));
    expect({ kind, ranks, who }).toEqual({ kind: 'absent', ranks: [1, 3], who: [0, 2] });
  });

  it('is named instead of a rank that waits for it in a sub-group', () => {
    const half = { group: 'half', parent: 'group', size: 2 };
    const whole = recordedRank({ rank: 1, size: 4 }).record.parts;
    const sub = { calls: [waiting(50)], otherParts: whole, part: { ...half, rank: 0, wholeRank: 1 } };
    const parts = recordedRank({ rank: 3, size: 4 }).record.parts;
    const idle = { calls: [], otherParts: parts, part: { ...half, rank: 1, wholeRank: 3 } };
    const { kind, ranks, group } = findVerdict([
      recordedRank({ rank: 0, size: 4, calls: [waiting(41)] }),
      recordedRank({ rank: 1, size: 4, ...sub }),
      recordedRank({ rank: 2, size: 4, calls: [waiting(41)] }),
      recordedRank({ rank: 3, size: 4, ...idle }),
    ]);
    expect({ kind, ranks, group }).toEqual({ kind: 'absent', ranks: [3], group: 'half' });
  });

  it('is not named after a short wait', () => {
    const calls = [...done(10), waiting(0.2)];
    const { kind } = findVerdict(four({ 0: { calls }, 1: { calls }, 2: { calls }, 3: turning }));
    expect(kind).toBe('healthy');
  });

  it('is named if all others have failed by their deadline, and it came too late', () => {
    const text = 'ERR_COLL_DEADLINE: all-reduce has taken longer than 5 seconds';
    const late = {
      calls: [...done(10), failed(9, 5)],
      notes: [{ kind: 'failure', rank: 0, text, time: now - 9e6 }] as const,
    };
    const self = peerFailed(0, 3);
    const { kind, ranks } = findVerdict(four({ 0: late, 1: late, 2: late, 3: self }));
    expect({ kind, ranks }).toEqual({ kind: 'absent', ranks: [3] });
  });
});

describe('a process that ends', () => {
  it('is named if it was killed, and the others failed because of it', () => {
    const victim = { ...peerFailed(2), record: exited(1) };
    const { kind, ranks, sentence } = findVerdict(
      four({ 0: victim, 1: victim, 2: { calls: [...done(10), waiting(2)], ...gone(1.2) }, 3: victim }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [2] });
    expect(sentence).toMatch(
      /^rank 2 was killed in all-reduce 10 \(sum, float32, 4,096 elements\); ranks 0, 1, 3 waited for/,
    );
  });

  it('is named instead of a rank that has failed because of it', () => {
    const killed = { calls: done(10), ...gone(5) };
    const { kind, ranks } = findVerdict(
      four({ 0: peerFailed(1, 1), 1: { ...peerFailed(2, 2), record: exited(1, 2) }, 2: killed, 3: peerFailed(1, 1) }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [2] });
  });

  it('is named if its launcher saw it end first, and ended the others before they noticed', () => {
    const computing = { calls: done(10), ...gone(0.1) };
    const killed = { calls: done(10), ...gone(0.2, { endedWith: 137 }) };
    const { kind, ranks, sentence } = findVerdict(four({ 0: computing, 1: computing, 2: killed, 3: computing }));
    expect({ kind, ranks, sentence }).toEqual({
      kind: 'killed',
      ranks: [2],
      sentence: 'rank 2 was ended by SIGKILL; no rank waits',
    });
    const waits = { calls: [...done(10), waiting(0.3)], ...gone(0.1) };
    const others = findVerdict(four({ 0: waits, 1: waits, 2: killed, 3: computing }));
    expect({ ranks: others.ranks, waiting: others.waiting }).toEqual({ ranks: [2], waiting: [0, 1] });
  });

  it('is named by the exit code that its launcher saw, if it has not closed its record', () => {
    const computing = { calls: done(10), ...gone(0.1) };
    const ended = { calls: done(10), ...gone(0.2, { endedWith: 7 }) };
    const { kind, ranks, sentence } = findVerdict(four({ 0: computing, 1: ended, 2: computing, 3: computing }));
    expect({ kind, ranks, sentence }).toEqual({
      kind: 'exited',
      ranks: [1],
      sentence: 'rank 1 ended with exit code 7; no rank waits',
    });
  });

  it('is not named because its launcher saw it end first, if it had hung because of another one', () => {
    const killed = gone(0.2, { endedWith: 137 });
    const { kind, ranks } = findVerdict(
      four({ 0: gone(0.1), 1: { ...turning, ...gone(0.1) }, 2: killed, 3: gone(0.1) }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'absent', ranks: [1] });
  });

  it('is named although the launcher has killed others that were computing', () => {
    const killed = { calls: done(10), ...gone(1) };
    const { kind, ranks } = findVerdict(
      four({ 0: { ...peerFailed(3), process: 'gone' }, 1: killed, 2: killed, 3: killed }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [3] });
  });

  it('is named if others wait for it', () => {
    const { kind, ranks } = findVerdict(four({ 3: { calls: done(10), ...gone(30) } }));
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [3] });
  });

  it('is named if it exited early, with its exit code', () => {
    const { kind, ranks, sentence } = findVerdict(
      four({ 3: { calls: done(7), process: 'gone', record: exited(0, 30) } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'exited', ranks: [3] });
    expect(sentence).toContain('rank 3 ended with exit code 0 before all-reduce 10');
  });

  it('is named if it closed its group early', () => {
    const closing = { ...turning, part: { closed: now - 2e6 } };
    const victim = peerFailed(3, 1);
    const { kind, ranks, sentence } = findVerdict(four({ 0: victim, 1: victim, 2: victim, 3: closing }));
    expect({ kind, ranks }).toEqual({ kind: 'exited', ranks: [3] });
    expect(sentence).toContain('rank 3 closed the group');
  });

  it('is named if it failed by its own error', () => {
    const text = 'ended with exit code 1: ENOSPC: no space left on device';
    const own = { calls: done(10), process: 'gone', record: exited(1, 2), notes: [{ kind: 'exit', text }] } as const;
    const victim = peerFailed(1);
    const { kind, ranks, sentence } = findVerdict(four({ 0: victim, 1: own, 2: victim, 3: victim }));
    expect({ kind, ranks }).toEqual({ kind: 'failed', ranks: [1] });
    expect(sentence).toContain('ENOSPC');
  });

  it('is named if its own call was refused', () => {
    const notes = [
      { kind: 'refused', rank: 1, text: 'ERR_COLL_TYPE' },
      { kind: 'failure', rank: 1, text: 'ERR_COLL_REFUSED: rank 1 refused its call' },
    ] as const;
    const victim = peerFailed(1);
    const { kind, ranks, sentence } = findVerdict(
      four({ 0: victim, 1: { calls: done(10), notes }, 2: victim, 3: victim }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'failed', ranks: [1] });
    expect(sentence).toContain('ERR_COLL_TYPE');
  });

  it('has no culprit if something has killed all processes together', () => {
    const killed = { calls: done(10), ...gone(5) };
    const { kind, ranks, sentence } = findVerdict(four({ 0: killed, 1: killed, 2: killed, 3: killed }));
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [] });
    expect(sentence).toBe(
      'ranks 0, 1, 2, 3 ended at the same time without closing their records: something killed them together',
    );
    const thread = { calls: done(10), ...gone(5, { process: 'one' }) };
    expect(findVerdict(four({ 0: thread, 1: thread, 2: thread, 3: thread })).ranks).toEqual([0, 1, 2, 3]);
  });

  it('is named if it exited with an error, and its launcher killed the others', () => {
    const killed = { calls: done(10), ...gone(5) };
    const { kind, ranks } = findVerdict(
      four({ 0: killed, 1: { ...turning, process: 'gone', record: exited(3, 5) }, 2: killed, 3: killed }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'exited', ranks: [1] });
  });

  it('has no known culprit if several processes were killed and others ended well', () => {
    const killed = { calls: done(10), ...gone(5) };
    const { kind, ranks } = findVerdict(
      four({ 0: { ...turning, process: 'gone', record: exited(0, 5) }, 1: killed, 2: killed, 3: killed }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [] });
  });

  it('does not hide for whom the others waited before something killed all', () => {
    const calls = [...done(10), waiting(41)];
    const killed = gone(5);
    const { kind, ranks } = findVerdict(
      four({ 0: { calls, ...killed }, 1: { calls, ...killed }, 2: { calls, ...killed }, 3: { ...turning, ...killed } }),
    );
    expect(ranks).toEqual([3]);
    expect(kind).not.toBe('healthy');
  });

  it('does not hide that the event loop was busy', () => {
    const calls = [...done(10), waiting(41)];
    const killed = gone(5);
    const looping = gone(5, { loopTurn: now - 40e6, threadState: 'R', systemCall: -1 });
    const { kind, ranks } = findVerdict(
      four({
        0: { calls, ...killed },
        1: { calls, ...killed },
        2: { calls, ...killed },
        3: { ...turning, ...looping },
      }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'busy', ranks: [3] });
  });
});

describe('a launcher that kills all other processes', () => {
  const killedAt = (seconds: number) =>
    ({ process: 'gone', record: { alive: now - 1e6 * seconds, loopTurn: now - 1e6 * seconds } }) as const;
  const calls = [...done(10), waiting(5.08)];

  it('does not hide a rank that has exited', () => {
    const victim = { calls, ...killedAt(5) };
    const { kind, ranks } = findVerdict(
      four({ 0: victim, 1: victim, 2: victim, 3: { ...turning, process: 'gone', record: exited(1, 5.05) } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'exited', ranks: [3] });
  });

  it('does not hide a rank that has made no call for much longer than before', () => {
    const quick = Array.from({ length: 10 }, (_, number) => ({
      begun: now - 6e6 + 4000 * number,
      ended: now - 6e6 + 4000 * number + 500,
    }));
    const victim = { calls: [...quick, waiting(5.9)], ...killedAt(5) };
    const { kind, ranks } = findVerdict(
      four({ 0: victim, 1: victim, 2: victim, 3: { calls: quick, ...killedAt(6.5) } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [3] });
  });

  it('does not hide a rank that had been stopped', () => {
    const victim = { calls: [...done(10), waiting(10)], ...killedAt(5) };
    const { kind, ranks } = findVerdict(four({ 0: victim, 1: victim, 2: victim, 3: { ...turning, ...killedAt(10) } }));
    expect({ kind, ranks }).toEqual({ kind: 'stopped', ranks: [3] });
  });
});

describe('a process that is stopped', () => {
  const still = { alive: now - 30e6, loopTurn: now - 30.4e6 };

  it('is named while it is stopped', () => {
    const { kind, ranks, sentence } = findVerdict(four({ 1: { calls: done(10), process: 'stopped', record: still } }));
    expect({ kind, ranks }).toEqual({ kind: 'stopped', ranks: [1] });
    expect(sentence).toContain('rank 1 is stopped: its process has not run for 30 s, before all-reduce 10');
  });

  it('is named if it stopped inside the call', () => {
    const calls = [...done(10), waiting(41)];
    const { kind, ranks } = findVerdict(four({ 1: { calls, process: 'running', record: still } }));
    expect({ kind, ranks }).toEqual({ kind: 'stopped', ranks: [1] });
  });

  it('is named if the records are read on another host', () => {
    const others = { process: 'unknown' } as const;
    const { kind, ranks } = findVerdict(
      four({ 0: others, 1: { calls: done(10), process: 'unknown', record: still }, 2: others, 3: others }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'silent', ranks: [1] });
  });
});

describe('a rank on a host that is lost', () => {
  it('is named if the others have lost it', () => {
    const away = { host: 'host-b', alive: now - 5e6, loopTurn: now - 5.5e6 };
    const victim = { ...peerFailed(3, 3), process: 'unknown' } as const;
    const lost = { calls: done(10), process: 'unknown', record: away, seenUntil: now - 5e6 } as const;
    const { kind, ranks, sentence } = findVerdict(four({ 0: victim, 1: victim, 2: victim, 3: lost }));
    expect({ kind, ranks }).toEqual({ kind: 'silent', ranks: [3] });
    expect(sentence).toContain('rank 3 on host-b was killed or stopped: its records end 2 s before');
  });

  it('is not named if its record was read before the others began to wait', () => {
    const early = { calls: done(10), process: 'unknown', record: { host: 'host-b' }, seenUntil: now - 50e6 } as const;
    const { kind, ranks } = findVerdict(four({ 3: early }));
    expect({ kind, ranks }).toEqual({ kind: 'unknown', ranks: [] });
  });
});

describe('calls that differ', () => {
  const other = (call: object) => ({ calls: [...done(10), waiting(4, call)] });

  it.each([
    ['verb', { verb: 'broadcast', op: undefined, peer: 0 }],
    ['op', { op: 'max' }],
    ['dtype', { dtype: 'int32' }],
    ['length', { bytes: 8 }],
    ['purpose', { purpose: 'barrier' }],
  ] as const)('name the minority by its %s', (_, call) => {
    const { kind, ranks, waiting: who } = findVerdict(four({ 2: other(call) }));
    expect({ kind, ranks, who }).toEqual({ kind: 'wrong-call', ranks: [2], who: [0, 1, 3] });
  });

  it('name the first rank that differs from rank 0 if there is no majority', () => {
    const { kind, ranks, sentence } = findVerdict(four({ 1: other({ op: 'max' }), 3: other({ op: 'max' }) }));
    expect({ kind, ranks }).toEqual({ kind: 'wrong-call', ranks: [1] });
    expect(sentence).toBe(
      'rank 1 called all-reduce 10 (max, float32, 4,096 elements), but ranks 0, 2 called all-reduce 10 (sum, float32, 4,096 elements)',
    );
  });

  it('are no fault if they were made after a failure', () => {
    const after = {
      calls: [...done(10), failed(0.5, 0.1, { verb: 'all-gather' })],
      notes: [{ kind: 'failure', rank: 3, text: 'ERR_COLL_PEER_FAILED: rank 3', time: now - 1e6 }] as const,
    };
    const { kind, ranks } = findVerdict(
      four({ 0: peerFailed(3), 1: peerFailed(3), 2: after, 3: { calls: done(10), ...gone(1) } }),
    );
    expect({ kind, ranks }).toEqual({ kind: 'killed', ranks: [3] });
  });

  it('may differ in length where a root has the values of all ranks', () => {
    const gather = (rank: number) => ({
      calls: [...done(10), waiting(41, { verb: 'gather', op: undefined, peer: 0, bytes: rank === 0 ? 64 : 16 })],
    });
    const { kind, ranks } = findVerdict(four({ 0: gather(0), 1: gather(1), 2: gather(2), 3: turning }));
    expect({ kind, ranks }).toEqual({ kind: 'absent', ranks: [3] });
  });
});

describe('a job without failures', () => {
  it('is healthy', () => {
    const { kind, sentence } = findVerdict(four({ 0: turning, 1: turning, 2: turning, 3: turning }));
    expect({ kind, sentence }).toEqual({
      kind: 'healthy',
      sentence: 'all 4 ranks have made the same 10 calls; nothing waits',
    });
  });

  it('is healthy if it has ended', () => {
    const ended = { calls: done(10), process: 'gone', record: exited(0) } as const;
    expect(findVerdict(four({ 0: ended, 1: ended, 2: ended, 3: ended })).kind).toBe('healthy');
  });

  it('names a rank that comes last to most calls', () => {
    const late = { calls: done(10).map((_, index) => ({ begun: 10.6e6 + 1e6 * index, ended: 10.7e6 + 1e6 * index })) };
    const early = { calls: done(10).map((_, index) => ({ begun: 10e6 + 1e6 * index, ended: 10.7e6 + 1e6 * index })) };
    const { kind, ranks, sentence } = findVerdict(four({ 0: early, 1: early, 2: late, 3: early }));
    expect({ kind, ranks }).toEqual({ kind: 'slow', ranks: [2] });
    expect(sentence).toBe('no rank fails, but the other 3 ranks wait 62 % of the time, 100 % of it for rank 2');
  });

  it('is empty without a group', () => {
    const [seen] = four({ 0: turning }) as [SeenRecord];
    expect(findVerdict([{ ...seen, record: { ...seen.record, parts: [], calls: [] } }]).kind).toBe('empty');
  });
});
