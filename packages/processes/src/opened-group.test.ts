import type { Link } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { usualThresholds } from '@coll/native/addon';
import { describeMachine, findMachine } from '@coll/native/machine';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { OpenedGroup, type OpenedGroupOptions } from './opened-group.js';

let asked: string[];
const groups: OpenedGroup[] = [];
const machine = findMachine();
const found = `machine: ${describeMachine(machine)}`;

beforeEach(() => {
  asked = [];
});

afterEach(async () => {
  for (const group of groups.splice(0)) await group.close();
});

/** Opens a member on a test double of native code, which records its calls. */
function open(more: Partial<OpenedGroupOptions> = {}, size = 2) {
  const native = {
    rank: 1,
    size,
    isClosed: false,
    fail: (kind: string, text: string) => asked.push(`${kind}: ${text}`),
    failure: () => 'why',
    exit: (failure: string) => asked.push(`exit: ${failure}`),
    waitForExit: () => asked.push('wait'),
    close: async () => {
      native.isClosed = true;
      asked.push('close');
    },
  };
  const binding = { simd: 'AVX2', processes: { releaseMemory: (memory: unknown) => asked.push(`release ${memory}`) } };
  const links: readonly Link[] = [{ rank: 0, transport: 'tcp', reason: 'on another host, a' }];
  const stopListening = () => asked.push('stop listening');
  const messages = { mesh: {}, split: async () => [], algorithm: directAlgorithm(), stopListening };
  const local = { number: 0, ranks: 2, cores: 2 };
  const place = { generation: 3, hosts: ['a', 'b'], links, local };
  const options = { binding, group: native, memory: undefined, ...place, ...messages, ...more };
  const group = new OpenedGroup(options as never);
  groups.push(group);
  return group;
}

const listeners = () => process.listenerCount('exit');

describe('an opened group', () => {
  it('describes its rank and its transports', () => {
    const group = open();
    expect(group).toMatchObject({ rank: 1, size: 2, generation: 3, hosts: ['a', 'b'], links: [{ rank: 0 }] });
    expect(group.explain()).toEqual({
      engine: 'native',
      simd: 'AVX2',
      player: 'messages',
      links: group.links,
      machine,
      hasOwnCore: true,
      calibration: undefined,
      text: `rank 1 of 2, generation 3: executed in C++ with AVX2, by messages\n${found}; members 2 on 2 cores: each has a core of its own\nrank 0 over tcp: on another host, a`,
    });
    const shared = open({ memory: 'memory' as never, links: [] }).explain();
    const [text] = shared.text.split('\n');
    expect(text).toBe('rank 1 of 2, generation 3: executed in C++ with AVX2, all members in shared memory');
    expect(shared.player).toBe('shared-memory');
    const calibration = { thresholds: usualThresholds, source: 'usual', detail: 'one core' } as const;
    expect(open({ calibration }).explain()).toMatchObject({
      calibration,
      text: expect.stringMatching(/\nthresholds: small up to 1 KiB, .* \(usual: one core\)\n/),
    });
    expect(open({ links: [] }, 1).explain().text).toMatch(/^rank 1 of 1, generation 3: executed in C\+\+ with AVX2\n/);
  });

  it('describes members that share cores', () => {
    const { hasOwnCore, text } = open({ local: { number: 1, ranks: 3, cores: 1 } }).explain();
    expect(hasOwnCore).toBe(false);
    expect(text).toContain('members 3 on 1 core: waiting members give their core away soon');
  });

  it('fails for all members when one member makes it fail', () => {
    const group = open();
    group.fail(new RangeError('out of memory'));
    group.fail('a text');
    expect(asked).toEqual(['failed: failed: out of memory', 'failed: failed: a text']);
    expect(group.failure()).toBe('why');
  });

  it('is closed only once, however often close is called, and releases its memory', async () => {
    const group = open({ memory: 'memory' as never });
    await Promise.all([group.close(), group.close(), group[Symbol.asyncDispose]()]);
    expect(asked).toEqual(['stop listening', 'close', 'release memory']);
    expect(() => group.communicator({} as never)).toThrow(
      expect.objectContaining({
        ...{ name: 'RuntimeError', code: 'ERR_COLL_CLOSED', rank: 1, operation: 'communicator' },
        message: 'this process group was closed; open a new group',
      }),
    );
    asked = [];
    await open().close();
    expect(asked).toEqual(['stop listening', 'close']);
  });

  it('is left when the process exits, through a single listener for all groups', async () => {
    const before = listeners();
    const emit = vi.spyOn(process, 'on');
    const [first, second] = [open(), open()];
    expect(listeners()).toBe(before + 1);
    const leaveAll = emit.mock.calls.find(([name]) => String(name) === 'exit')?.[1] as (code: number) => void;
    emit.mockRestore();
    await first.close();
    expect(listeners()).toBe(before + 1);
    asked = [];
    leaveAll(7);
    expect(asked).toEqual(['exit: ended with exit code 7', 'wait']);
    await second.close();
    expect(listeners()).toBe(before);
  });
});
