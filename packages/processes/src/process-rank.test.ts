import { constants } from 'node:buffer';
import { type Algorithm, type Communicator, RuntimeError, UnavailableError } from '@coll/core';
import type { RecordedGroup } from '@coll/core/internal';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MemoryHandle } from './process-binding.js';
import type { NativeProcessGroup } from './process-group.js';
import type { MessageMesh } from './process-postbox.js';
import { ProcessRank } from './process-rank.js';

const allocate = vi.fn((_: unknown, bytes: number) => {
  if (bytes > 1e6) throw new Error('no space left');
  return new ArrayBuffer(bytes);
});
const binding = { processes: { allocate } } as never;
const communicator = vi.fn(() => 'a communicator' as unknown as Communicator);

function rankWith(memory?: MemoryHandle, isClosed = false) {
  const group = { rank: 2, isClosed, failure: () => 'why', failWith: vi.fn() };
  return {
    group,
    rank: new ProcessRank({
      ...{ binding, group: group as unknown as NativeProcessGroup, memory, communicator },
      ...{ mesh: {} as MessageMesh, split: async () => [], recorded: {} as RecordedGroup },
    }),
  };
}

const memory = 'memory' as unknown as MemoryHandle;

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('a rank of a process group', () => {
  it('reports the failure of its group, and can make the group fail', () => {
    const { rank, group } = rankWith();
    expect(rank.failure).toBe('why');
    const algorithm = {} as Algorithm;
    expect(rank.communicator(algorithm)).toBe('a communicator');
    expect(communicator).toHaveBeenCalledWith(rank, algorithm);
    const error = new UnavailableError('ERR_COLL_PEER_FAILED', 'lost');
    rank.fail(error);
    expect(group.failWith).toHaveBeenCalledWith(error);
    expect(() => rank.fail(new Error('of another kind') as never)).toThrow(
      expect.objectContaining({ name: 'ValueError' }),
    );
    expect(group.failWith).toHaveBeenCalledOnce();
  });

  it('refuses messages and sub-groups in Bun by name', async () => {
    vi.stubGlobal('process', Object.create(process, { versions: { value: { ...process.versions, bun: '1.2.3' } } }));
    const { rank } = rankWith();
    const value = { data: new Int8Array(1), dtype: 'int8', shape: [1], device: '' } as const;
    const calls = [rank.send(2, 0, value), rank.receive(2, 0, value), rank.split([], {} as Algorithm, {})];
    const refused = {
      code: 'ERR_COLL_REFUSED',
      message: expect.stringContaining('a group of processes in Bun has no '),
    };
    for (const call of calls) await expect(call).rejects.toMatchObject(refused);
  });

  it('allocates memory that all members share, or private memory if the group has no shared memory', () => {
    const shared = rankWith(memory).rank.allocate('int16', 3);
    expect(shared).toEqual({ data: new Int16Array(3), dtype: 'int16', shape: [3], device: '' });
    expect(allocate).toHaveBeenLastCalledWith(memory, 6);
    expect(allocate.mock.results.at(-1)?.value).toBe(shared.data.buffer);
    allocate.mockClear();
    expect(rankWith(memory).rank.allocate('float64', 0)).toMatchObject({ data: new Float64Array(0), shape: [0] });
    expect(rankWith().rank.allocate('float64', 2)).toMatchObject({ data: new Float64Array(2), shape: [2] });
    expect(allocate).not.toHaveBeenCalled();
  });

  it.each<[unknown, unknown]>([
    ['float', 1],
    ['int16', -1],
    ['int16', 0.5],
    ['int16', '1'],
  ])('refuses to allocate a tensor with dtype %j and length %j', (dtype, length) => {
    expect(() => rankWith(memory).rank.allocate(dtype as 'int16', length as number)).toThrow(
      expect.objectContaining({
        ...{ name: 'ValueError', code: 'ERR_COLL_VALUE' },
        message: expect.stringContaining('allocate takes a dtype and a whole number of elements, got '),
      }),
    );
  });

  it('reports what to change if shared memory is used up', () => {
    const { rank } = rankWith(memory);
    expect(() => rank.allocate('float32', 1e6)).toThrow(
      expect.objectContaining({
        ...{ name: 'CollError', code: 'ERR_COLL_BUFFER', cause: expect.any(Error) },
        message: expect.stringMatching(/^cannot allocate 4000000 more bytes .*: no space left; .*larger maxBytes/),
      }),
    );
    const [most, more] = [constants.MAX_LENGTH, constants.MAX_LENGTH + 1];
    expect(() => rank.allocate('uint8', more)).toThrow(
      expect.objectContaining({
        ...{ name: 'CollError', code: 'ERR_COLL_BUFFER' },
        message: expect.stringMatching(`^a tensor must have at most ${most} bytes, .*, got ${more}`),
      }),
    );
    expect(() => rank.allocate('uint8', most)).toThrow(/^cannot allocate/);
  });

  it('refuses to allocate once its group is closed', () => {
    const refused = { name: RuntimeError.name, code: 'ERR_COLL_CLOSED', operation: 'allocate', rank: 2 };
    expect(() => rankWith(memory, true).rank.allocate('int16', 1)).toThrow(expect.objectContaining(refused));
  });
});
