import type { Store } from '@coll/rendezvous';
import { describe, expect, it } from 'vitest';
import { memberOf } from './member-config.js';
import type { OpenProcessGroupOptions } from './options.js';

const jobKey = 'tests-only-4kQz9XvB7mLwR2';
const launched = { COLL_RANK: '2', COLL_SIZE: '4', COLL_GENERATION: '1', COLL_JOB: 'run', COLL_JOB_KEY: jobKey };

describe('memberOf', () => {
  it('reads everything from the environment of a launcher', () => {
    expect(memberOf({}, launched)).toMatchObject({
      rank: 2,
      size: 4,
      generation: 1,
      job: 'run',
      host: '127.0.0.1',
      transport: 'auto',
      streams: 'auto',
      heartbeatSeconds: 5,
      timeoutSeconds: 60,
      encrypt: 'between-hosts',
      insecure: false,
      maxBytes: 0,
      signal: undefined,
    });
  });

  it('prefers options over the environment', () => {
    const member = memberOf({ rank: 0, size: 1, generation: 7, job: 'mine' }, launched);
    expect(member).toMatchObject({ rank: 0, size: 1, generation: 7, job: 'mine' });
  });

  it('uses the generation of its launcher, also with an explicit rank', () => {
    expect(memberOf({ rank: 0, size: 1 }, launched)).toMatchObject({ rank: 0, size: 1, generation: 1, job: 'run' });
  });

  it('needs no environment if all options are given', () => {
    expect(memberOf({ rank: 1, size: 2, jobKey }, {})).toMatchObject({ rank: 1, size: 2, generation: 0, job: '' });
  });

  it('reads rank and size from the variables of other launchers', () => {
    const pod = { LWS_WORKER_INDEX: '1', LWS_GROUP_SIZE: '3', COLL_JOB_KEY: jobKey };
    expect(memberOf({}, pod)).toMatchObject({ rank: 1, size: 3 });
    expect(() => memberOf({}, { JOB_COMPLETION_INDEX: '1', COLL_JOB_KEY: jobKey })).toThrow(
      'Kubernetes indexed job does not say how many members there are: set COLL_SIZE',
    );
  });

  it('reads its host from COLL_HOST, and whether data between hosts is unencrypted from COLL_INSECURE', () => {
    const variables = { ...launched, COLL_HOST: 'eth0', COLL_INSECURE: '1' };
    expect(memberOf({}, variables)).toMatchObject({ host: 'eth0', insecure: true });
    const options = { host: '10.0.0.1', insecure: false };
    expect(memberOf(options, variables)).toMatchObject(options);
    const decided = [
      memberOf({}, launched),
      memberOf({}, variables),
      memberOf({ insecure: true }, variables),
      memberOf(options, variables),
    ];
    expect(decided.map(({ insecureBy }) => insecureBy)).toEqual([
      'default',
      'COLL_INSECURE',
      'the option insecure',
      'the option insecure, which overrules COLL_INSECURE=1',
    ]);
    expect(() => memberOf({}, { ...launched, COLL_INSECURE: 'yes' })).toThrow(
      'COLL_INSECURE must be 0 or 1, got "yes"',
    );
  });

  it.each([null, 0, -1])('has no time limit with a timeout of %s', (timeoutSeconds) => {
    expect(memberOf({ timeoutSeconds }, launched).timeoutSeconds).toBeUndefined();
  });

  it('uses all options that are passed', () => {
    const { signal } = new AbortController();
    const said = { host: '10.0.0.1', transport: 'tcp', insecure: true, maxBytes: 7, timeoutSeconds: 0.5 } as const;
    expect(memberOf({ ...said, signal }, launched)).toMatchObject({ ...said, signal });
  });

  it.each<OpenProcessGroupOptions>([
    { streams: 1 },
    { streams: 16 },
    { heartbeatSeconds: 0.05 },
    { heartbeatSeconds: 3600 },
    { maxBytes: Number.MAX_SAFE_INTEGER },
    { rank: 1023, size: 1024, generation: 2 ** 32 - 1 },
    { rank: 0, size: 1, generation: 0 },
    { transport: 'shared-memory' },
    { job: '' },
  ])('accepts options at the limits of their ranges: %o', (options) => {
    expect(memberOf(options, launched)).toMatchObject(options);
  });

  it.each<[string, OpenProcessGroupOptions]>([
    ['streams must be a whole number from 1 to 16, got 0', { streams: 0 }],
    ['streams must be a whole number from 1 to 16, got 1.5', { streams: 1.5 }],
    ['heartbeatSeconds must be between 0.05 and 3600, got 0.049', { heartbeatSeconds: 0.049 }],
    ['heartbeatSeconds must be between 0.05 and 3600, got 3601', { heartbeatSeconds: 3601 }],
    ['maxBytes must be a whole number from 0', { maxBytes: -1 }],
    ['size must be a whole number from 1 to 1024, got 1025', { rank: 0, size: 1025 }],
    ['rank must be a whole number from 0 to 3, got -1', { rank: -1, size: 4 }],
    ['generation must be a whole number from 0 to 4294967295', { generation: 2 ** 32 }],
    ['generation must be a whole number from 0', { generation: -1 }],
    ['host must be an address', { host: 5 as unknown as string }],
  ])('throws for an option out of range: %s', (message, options) => {
    const details = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'open a group' };
    expect(() => memberOf(options, launched)).toThrow(
      expect.objectContaining({ ...details, message: expect.stringContaining(message) }),
    );
  });

  it('derives the same secret from a job key in every process', () => {
    const { key } = memberOf({}, launched);
    expect(key.toString('hex')).toBe('e9b8f6c7e3703e97e2cd9950f400713bb5a7554385e7a07c2f31d0007bc427f7');
    expect(memberOf({ jobKey: 'other-tests-8sHdP3nYcK5vT' }, launched).key).not.toEqual(key);
  });

  it.each([
    ['a rank outside the group', { rank: 4 }, 'rank must be a whole number from 0 to 3'],
    ['no size', { size: 0, rank: 0 }, 'size must be a whole number from 1'],
    ['a fractional generation', { generation: 0.5 }, 'generation'],
    [
      'an unknown transport',
      { transport: 'carrier pigeon' as 'tcp' },
      'transport must be one of auto, shared-memory, tcp',
    ],
    ['too many streams', { streams: 17 }, 'streams'],
    ['no heartbeat', { heartbeatSeconds: 0 }, 'heartbeatSeconds'],
    ['a short key', { jobKey: 'secret' }, 'got 6 characters, 5 different: start the program with'],
    ['a key of equal letters', { jobKey: 'a'.repeat(32) }, 'got 32 hexadecimal digits, 1 different'],
    ['no host', { host: '' }, 'host'],
    ['an invalid timeout', { timeoutSeconds: Number.NaN }, 'timeoutSeconds'],
    ['a heartbeat that is text', { heartbeatSeconds: '5' as unknown as number }, 'heartbeatSeconds'],
    ['a job that is not a string', { job: 7 as unknown as string }, 'job must be a string, got 7'],
    [
      'an address instead of a store',
      { store: 'tcp://127.0.0.1:1' as unknown as Store },
      'store must be a store of @coll/rendezvous',
    ],
    ['a signal that is a number', { signal: 7 as unknown as AbortSignal }, 'signal must be an AbortSignal'],
    ['options that are not an object', 'tcp' as unknown as OpenProcessGroupOptions, 'options must be an object'],
    [
      'an unknown encryption',
      { encrypt: 'never' as 'always' },
      'encrypt or COLL_ENCRYPT must be one of between-hosts, always',
    ],
    [
      'two settings of encryption that contradict each other',
      { encrypt: 'always' as const, insecure: true },
      'contradict each other: set one of them',
    ],
    ['an insecure flag that is not a boolean', { insecure: 1 as unknown as boolean }, 'insecure'],
  ])('refuses %s', (_, options, message) => {
    expect(() => memberOf(options, launched)).toThrow(
      expect.objectContaining({ code: 'ERR_COLL_VALUE', message: expect.stringContaining(message) }),
    );
  });

  it('does not print the job key', () => {
    expect(() => memberOf({ jobKey: 'hunter2' }, launched)).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('hunter2') }),
    );
  });

  it('says what to do if rank and size are not known', () => {
    expect(() => memberOf({}, {})).toThrow(expect.objectContaining({ code: 'ERR_COLL_CLUSTER' }));
    expect(() => memberOf({ rank: 0, size: 1 }, {})).toThrow(
      expect.objectContaining({ message: expect.stringContaining('coll run') }),
    );
  });
});
