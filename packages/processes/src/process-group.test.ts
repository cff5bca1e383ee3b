import { UnavailableError } from '@coll/core';
import {
  bytesOfDescriptors,
  type CallRecorder,
  Descriptors,
  type Failure,
  failureReasons,
  nowhere,
  type Stall,
  type StallListener,
  setRecorder,
} from '@coll/core/internal';
import { status, usualThresholds } from '@coll/native/addon';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { processCallDouble as call } from '../test/process-call-double.js';
import type { NativeFailure, ProcessBinding } from './process-binding.js';
import { NativeProcessGroup } from './process-group.js';

let asked: string[];
/** Native statuses of the next executions of calls; after the last one, calls end successfully. */
let answers: number[];
let failure: NativeFailure | undefined;
let missing: number[];
let states: (readonly number[] | undefined)[];
let hasParted: boolean;
let silences: number[] | undefined;
let wake: () => void;
let group: NativeProcessGroup;

/** A test double of native code with scripted answers, which records its calls. */
const binding = {
  group: (...[rank, sockets, seals, checksummed, millis, woken]: Parameters<ProcessBinding['group']>) => {
    const sealed = seals.map(({ length, [0]: identity, [32]: key }) => (length === 0 ? 'none' : `${identity}/${key}`));
    asked.push(`group of rank ${rank} on ${sockets}, sealed by ${sealed}, checksummed ${checksummed}, ${millis} ms`);
    wake = woken;
    return 'group';
  },
  useSharedMemory: (...given: unknown[]) => asked.push(`shared ${given.join(' ')}`),
  useMessages: (...given: unknown[]) => asked.push(`messages ${JSON.stringify(given)}`),
  tellOpened: () => asked.push('opened'),
  unopened: () => [0, 2],
  executeCall: (_: unknown, call: unknown, millis: number) => {
    asked.push(`execute ${call} for ${millis}`);
    const answer = answers.shift() ?? status.done;
    if (answer === status.waiting || answer === status.expired) vi.advanceTimersByTime(Math.min(millis, 1000) || 1000);
    return answer;
  },
  tryCall: (_: unknown, call: unknown) => {
    asked.push(`try ${call}`);
    return answers.shift() ?? status.done;
  },
  copiedBytes: () => 0,
  results: () => [],
  failGroup: (_: unknown, reason: number, rank: number, ranks: Int32Array, text: string) =>
    asked.push(`fail ${failureReasons[reason]} of ${[rank, ...ranks]}: ${text}`),
  failure: () => failure,
  missing: () => missing,
  absent: () => [],
  quietMillis: () => [],
  noteTurn: () => silences,
  states: () => states,
  leave: (_: unknown, delayMillis: number) => asked.push(`leave after ${delayMillis}`),
  hasParted: () => hasParted,
  stopGroup: () => asked.push('stop'),
} as unknown as ProcessBinding;

const hosts = ['a', 'b', 'c'];

function groupWith(stalls?: StallListener) {
  const seals = [{ identity: Buffer.alloc(32, 1), key: Buffer.alloc(32, 2) }, undefined, undefined];
  const links = { sockets: [5, -1, 7], seals, checksummed: [false, false, true] };
  return new NativeProcessGroup(binding, { rank: 1, ...links, hosts, heartbeatSeconds: 0.5, stalls });
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  asked = [];
  answers = [];
  failure = undefined;
  missing = [];
  states = [];
  hasParted = false;
  silences = undefined;
  group = groupWith();
});

afterEach(async () => {
  // A call that a test has left pending continues in the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  vi.useRealTimers();
});

const failed = (reason: Failure['reason'], rank = 2, ranks: readonly number[] = []): NativeFailure => [
  failureReasons.indexOf(reason),
  rank,
  ranks,
  'was stopped',
  [],
];

describe('a NativeProcessGroup', () => {
  it('passes its sockets and transports to the addon', () => {
    expect([group.rank, group.size, group.isClosed, group.unopened]).toEqual([1, 3, false, [0, 2]]);
    const local = { number: 1, ranks: 2, cores: 4 };
    group.useSharedMemory('memory' as never, local, usualThresholds);
    const rings = [undefined, undefined, 'ring' as never];
    const tickets = [Uint8Array.of(9), Uint8Array.of(), Uint8Array.of()];
    const sealed = [true, false, false];
    const how = { sealed, checksummed: [false, false, true], connectMillis: 70 };
    const data = { listener: 8, hosts: ['a', 'b', 'c'], ports: [1, 2, 3], tickets, ...how };
    group.useMessages({ data, rings, generation: 6, local, allShareCores: true });
    group.tellOpened();
    expect(asked).toEqual([
      'group of rank 1 on 5,-1,7, sealed by 1/2,none,none, checksummed false,false,true, 500 ms',
      'shared group memory 1 2 4 1024,262144,8388608,131072,4194304',
      'messages ["group",8,["a","b","c"],{"0":1,"1":2,"2":3},[{"0":9},{},{}],[true,false,false],[false,false,true],70,[null,null,"ring"],6,1,2,4,true]',
      'opened',
    ]);
  });

  it('records ranks that were silent and are heard again', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    const note = vi.fn<CallRecorder['note']>();
    setRecorder({ note } as unknown as CallRecorder);
    groupWith();
    silences = [2, 3140];
    vi.advanceTimersByTime(1000);
    setRecorder(undefined);
    const text = 'received nothing from rank 2 on c for 3.1 seconds; it is heard again';
    expect(note.mock.calls).toEqual([[{ kind: 'silence', text, rank: 2 }]]);
  });

  it('fails by its own errors and by errors of other members', () => {
    group.fail('failed', 'broke');
    group.fail('deadline', 'did not arrive', [2, 0]);
    group.failWith(new UnavailableError('ERR_COLL_PEER_FAILED', 'gone', { rank: 0 }));
    group.failWith(new UnavailableError('ERR_COLL_PEER_FAILED', 'gone'));
    expect(asked.slice(1)).toEqual([
      'fail failed of 1: broke',
      'fail deadline of 1,2,0: did not arrive',
      'fail failed of 0: failed: gone',
      'fail failed of 1: failed: gone',
    ]);
  });

  it('returns the same failure as all other members', () => {
    expect(group.failure()).toBeUndefined();
    failure = failed('lost', 2, [0]);
    const message = 'group: rank 2 on c was stopped; rank 0 on a was lost, too';
    expect(group.failure()).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 2, operation: 'group', message });
    expect(group.failure('open a group')).toMatchObject({ operation: 'open a group' });
    answers = [status.slice];
    void group.execute(call('first'), {})?.catch(() => {});
    expect(group.failure()).toMatchObject({ operation: 'all-reduce sum' });
    expect(group.failure()?.message).toContain('(collective 0 of the group)');
  });
});

describe('a synchronous call', () => {
  it.each([
    [undefined, 0],
    [0, 0],
    [2, 2000],
  ])('with a timeout of %s seconds executes for at most %i ms (0: no limit)', (timeoutSeconds, millis) => {
    group.executeSync(call('first'), timeoutSeconds === undefined ? {} : { timeoutSeconds });
    expect(asked.slice(1)).toEqual([`execute first for ${millis}`]);
  });

  it('is continued with the rest of its timeout if the addon returns before the call is done', () => {
    answers = [status.waiting, status.waiting, status.waiting];
    group.executeSync(call('first'), { timeoutSeconds: 2.5 });
    expect(asked.slice(1)).toEqual([2500, 1500, 500, 0.001].map((millis) => `execute first for ${millis}`));
  });

  it('is refused while an asynchronous call runs, and when the group is closed', async () => {
    answers = [status.slice];
    const running = group.execute(call('first'), {})?.catch((error: unknown) => error);
    const details = { name: 'RuntimeError', rank: 1, operation: 'all-reduce sum' };
    expect(() => group.executeSync(call('second'), {})).toThrow(
      expect.objectContaining({ ...details, code: 'ERR_COLL_BUSY' }),
    );
    const closing = group.close(0);
    hasParted = true;
    wake();
    await closing;
    const closed = { ...details, code: 'ERR_COLL_CLOSED' };
    expect(await running).toMatchObject(closed);
    expect(() => group.executeSync(call('second'), {})).toThrow(expect.objectContaining(closed));
    expect(() => group.execute(call('second'), {})).toThrow(expect.objectContaining(closed));
  });

  it.each([
    [[0], '1,0: did not arrive at all-reduce sum'],
    [[0, 2], '1,0,2: did not arrive at all-reduce sum'],
    [[], '1,0,2: called all-reduce sum, but did not finish it'],
  ])('fails the group if it times out while rank %j is missing', (absent, message) => {
    answers = [status.expired, status.failed];
    missing = absent;
    failure = failed('deadline');
    expect(() => group.executeSync(call('first'), { timeoutSeconds: 1 })).toThrow(
      expect.objectContaining({
        ...{ name: 'DeadlineExceededError', code: 'ERR_COLL_DEADLINE', rank: 2, operation: 'all-reduce sum' },
        message: expect.stringContaining('(collective 0 of the group)'),
      }),
    );
    expect(asked.slice(1)).toEqual(['execute first for 1000', `fail deadline of ${message}`, 'execute first for 0']);
  });

  it('fails the group if the ranks call different collectives', () => {
    const stateOf = (length: number) => {
      const table = new Descriptors(new SharedArrayBuffer(bytesOfDescriptors(1)), 1);
      const places = { inputAt: nowhere, outputAt: nowhere, workAt: nowhere, schedule: 1, layout: 0 };
      table.write(0, { collective: { kind: 'all-reduce', op: 'sum' }, dtype: 'float32', length, ...places });
      return [...table.announcedBy(0)];
    };
    states = [stateOf(4), stateOf(4), stateOf(3)];
    answers = [status.disagreed, status.failed];
    failure = failed('shapes');
    expect(() => group.executeSync(call('first'), {})).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_SHAPE_MISMATCH' }),
    );
    expect(asked[2]).toMatch(/^fail shapes of 2: /);
    expect(asked[3]).toBe('execute first for 0');
  });

  it('throws the failure of the group, or a general error if there is none', () => {
    group.executeSync(call('first'), {});
    answers = [status.failed, status.failed];
    failure = failed('aborted', 0);
    expect(() => group.executeSync(call('second'), {})).toThrow(
      expect.objectContaining({
        ...{ code: 'ERR_COLL_ABORTED', rank: 0, operation: 'all-reduce sum' },
        message: expect.stringContaining('(collective 1 of the group)'),
      }),
    );
    failure = undefined;
    expect(() => group.executeSync(call('third'), {})).toThrow(
      expect.objectContaining({
        ...{ name: 'InternalError', code: 'ERR_COLL_INTERNAL' },
        message: 'all-reduce sum: the engine failed without stating a reason, which is a bug of the engine',
      }),
    );
  });
});

describe('a long synchronous call', () => {
  const stalls: (Stall | undefined)[] = [];
  beforeEach(() => {
    stalls.length = 0;
    group = groupWith({ seconds: 3, repeats: false, tell: (_, stall) => stalls.push(stall) });
    asked = [];
    missing = [2];
  });
  const stall: Stall = { operation: 'all-reduce sum', sequence: 0, missing: [2], seconds: 3 };

  it('is reported once as stalled, and again when it continues', () => {
    answers = [status.expired, status.waiting];
    group.executeSync(call('first'), {});
    expect(asked).toEqual(['execute first for 3000', 'execute first for 0', 'execute first for 0']);
    expect(stalls).toEqual([stall, undefined]);
  });

  it('executes for the rest of its timeout after it was reported as stalled', () => {
    answers = [status.expired];
    group.executeSync(call('first'), { timeoutSeconds: 10 });
    expect(asked).toEqual(['execute first for 3000', 'execute first for 7000']);
    expect(stalls).toEqual([stall, undefined]);
  });

  it.each([2, 3])('is not reported as stalled if its timeout is at most %i seconds', (timeoutSeconds) => {
    answers = [status.expired, status.failed];
    failure = failed('deadline');
    expect(() => group.executeSync(call('first'), { timeoutSeconds })).toThrow(/collective 0/);
    expect(asked[0]).toBe(`execute first for ${1000 * timeoutSeconds}`);
    expect(stalls).toEqual([]);
  });

  it('is not reported as stalled if it ends in time', () => {
    group.executeSync(call('first'), {});
    expect([asked, stalls]).toEqual([['execute first for 3000'], []]);
  });
});

describe('the error of a lost member', () => {
  afterEach(() => vi.unstubAllEnvs());

  it.each([
    ['lost', 2, '0', false],
    ['lost', 2, undefined, true],
    ['lost', 1, '0', true],
    ['mismatch', 2, '0', true],
  ] as const)('for the reason %s and rank %i, with COLL_RESTART=%s, has frames: %s', (reason, rank, restart, has) => {
    vi.stubEnv('COLL_RESTART', restart);
    failure = failed(reason, rank);
    expect(/\n\s+at /.test(group.failure()?.stack ?? '')).toBe(has);
  });
});

describe('leaving a group', () => {
  it.each([
    ['fulfilled', () => Promise.resolve()],
    ['rejected', () => Promise.reject(new Error('a message was lost'))],
  ])('waits until all connections have closed, after a promise that is %s', async (_, after) => {
    let isOver = false;
    const closing = group.close(100, after()).then(() => {
      isOver = true;
    });
    expect(group.isClosed).toBe(true);
    wake();
    await Promise.resolve();
    expect(asked.slice(1)).toEqual(['leave after 5000']);
    await vi.waitFor(() => expect(asked.slice(1)).toEqual(['leave after 5000', 'leave after 0']));
    expect(isOver).toBe(false);
    hasParted = true;
    wake();
    await closing;
    expect(asked.slice(1)).toEqual(['leave after 5000', 'leave after 0', 'stop']);
    await group.close(100);
    group.exit('ended with exit code 1');
    group.waitForExit();
    group.fail('failed', 'too late');
    failure = failed('lost');
    expect([group.failure(), asked.slice(1)]).toEqual([undefined, ['leave after 5000', 'leave after 0', 'stop']]);
  });

  it('makes calls in progress fail on all members', async () => {
    answers = [status.slice];
    const running = group.execute(call('first'), {});
    const closing = group.close(0);
    hasParted = true;
    wake();
    await closing;
    await expect(running).rejects.toMatchObject({ code: 'ERR_COLL_CLOSED' });
    expect(asked.slice(1)).toEqual(['try first', 'fail closed of 1: has left the group', 'leave after 0', 'stop']);
  });

  it.each([
    [undefined, false, []],
    [undefined, true, ['fail closed of 1: has left the group']],
    ['ended with exit code 3', false, ['fail failed of 1: ended with exit code 3']],
    ['ended with exit code 3', true, ['fail failed of 1: ended with exit code 3']],
  ])(
    'at process exit with the failure %s notifies the other members (calls in progress: %s)',
    (failure, isBusy, said) => {
      hasParted = true;
      if (isBusy) {
        answers = [status.slice];
        group.execute(call('first'), {})?.catch(() => {});
        asked.length = 1;
      }
      for (let exits = 0; exits < 2; exits++) {
        group.exit(failure);
        group.waitForExit();
        expect(asked.slice(1)).toEqual([...said, 'leave after 0', 'stop']);
      }
    },
  );

  it.each([
    [undefined, []],
    ['ended with exit code 3: disk full', ['fail failed of 1: ended with exit code 3: disk full']],
  ])('at process exit with the failure %s leaves at once although a close has begun', (failure, said) => {
    void group.close(100);
    hasParted = true;
    group.exit(failure);
    group.waitForExit();
    expect(asked.slice(1)).toEqual(['leave after 5000', ...said, 'leave after 0', 'stop']);
  });

  it('at process exit stops waiting for other members after six seconds', () => {
    const parted = vi.spyOn(binding, 'hasParted').mockImplementation(() => {
      vi.advanceTimersByTime(1500);
      return false;
    });
    group.exit(undefined);
    group.waitForExit();
    expect(asked.slice(1)).toEqual(['leave after 0', 'stop']);
    expect(parted).toHaveBeenCalledTimes(4);
    parted.mockRestore();
  });
});

it('a call rejects with the reason of its signal when the signal is aborted', async () => {
  const over = new AbortController();
  answers = [status.slice];
  vi.spyOn(binding, 'results').mockReturnValue([0, status.failed]);
  Object.assign(binding, { stage: () => true, submit: () => {}, finish: () => {} });
  const running = group.execute(call('first'), { signal: over.signal });
  answers = [status.failed];
  failure = failed('aborted', 1);
  over.abort('enough');
  await new Promise((resolve) => setImmediate(resolve));
  wake();
  await expect(running).rejects.toMatchObject({
    ...{ name: 'AbortedError', code: 'ERR_COLL_ABORTED', rank: 1, operation: 'all-reduce sum', cause: 'enough' },
    message: 'all-reduce sum was aborted while it was under way',
  });
  expect(asked).toContain('fail aborted of 1: aborted: enough');
  vi.restoreAllMocks();
});
