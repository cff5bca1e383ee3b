import { type Member, setLogSink } from '@coll/core';
import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type OpenedProcessGroup, openProcessGroup } from '../src/index.js';

const jobKey = TcpStoreServer.newKey();
const one = () => Float32Array.of(1);

let lines: string[];
beforeEach(() => {
  lines = [];
  setLogSink((level, message) => {
    if (level === 'warn') lines.push(`warn: ${message}`);
  });
  // Longer than a busy machine takes to tell each member what the others have called.
  vi.stubEnv('COLL_STALL_SECONDS', '1');
  vi.stubEnv('COLL_STALL_FILE', '');
});
afterEach(() => {
  setLogSink();
  vi.unstubAllEnvs();
});

/** Opens a group of members in this process, which no launcher has started. */
async function open(size: number): Promise<readonly OpenedProcessGroup[]> {
  const store = new MemoryStore();
  const open = (rank: number) => openProcessGroup({ store, rank, size, jobKey, timeoutSeconds: 120 });
  return await Promise.all(Array.from({ length: size }, (_, rank) => open(rank)));
}

async function close(members: readonly OpenedProcessGroup[]): Promise<void> {
  await Promise.all(members.map((member) => member.close()));
}

/** Waits until so many lines match. */
async function logged(pattern: RegExp, count = 1): Promise<void> {
  const options = { timeout: 60_000, interval: 20 };
  await expect.poll(() => lines.filter((line) => pattern.test(line)).length, options).toBeGreaterThanOrEqual(count);
}

it('the lowest waiting member logs a stalled collective, again when the time has doubled, and its end', async () => {
  const members = await open(3);
  const [first, second, third] = members as [OpenedProcessGroup, OpenedProcessGroup, OpenedProcessGroup];
  const waiting = [second.allReduce('sum', one()), third.allReduce('sum', one())];
  await logged(
    /^warn: stalled: ranks 1, 2 in all-reduce sum \(collective 0\) for \d+ seconds?, rank 0 has not arrived([,;] .*)?$/,
    2,
  );
  await first.allReduce('sum', one());
  await Promise.all(waiting);
  await logged(/^warn: no longer stalled: all ranks have resumed$/);
  await close(members);
  expect(lines.filter((line) => !line.startsWith('warn: stalled: ranks 1, 2'))).toHaveLength(1);
});

it('the lower one of two members that both send first logs the stall', async () => {
  const members = await open(2);
  const [first, second] = members as [OpenedProcessGroup, OpenedProcessGroup];
  // Connects them.
  await Promise.all([first.send(1, one()), second.receive(0, one())]);
  const sends = [first.send(1, one()), second.send(0, one())];
  await logged(/^warn: stalled: rank 0 in send to rank 1 for \d+ seconds?, rank 1 has not arrived$/, 2);
  await Promise.all([first.receive(1, one()), second.receive(0, one()), ...sends]);
  await logged(/no longer stalled/);
  await close(members);
  expect(lines.join('\n')).not.toMatch(/rank 1 in send/);
});

it('two members that both receive first are logged, but not a member that waits for work', async () => {
  const members = await open(2);
  const [first, second] = members as [OpenedProcessGroup, OpenedProcessGroup];
  const waitingForWork = first.receive(1, one());
  // Rank 1 waits as well, but in a collective, whose stall names rank 0.
  const collective = second.allReduce('sum', one());
  await logged(/rank 1 in all-reduce sum/, 2);
  expect(lines.join('\n')).not.toMatch(/receive/);
  await Promise.all([first.allReduce('sum', one()), collective]);
  const other = second.receive(0, one());
  await logged(/^warn: stalled: rank 0 in receive from rank 1 for \d+ seconds?, rank 1 has not arrived$/);
  await Promise.all([second.send(0, one()), first.send(1, one()), waitingForWork, other]);
  await close(members);
});

it('a stalled sub-group is logged in the numbers of the whole group', async () => {
  const members = await open(3);
  const parts = await Promise.all(members.map((member) => member.split(Math.min(member.rank, 1))));
  const [, first, second] = parts as [unknown, Member, Member];
  const waiting = second.allReduce('sum', one());
  await logged(
    /^warn: stalled: rank 2 in all-reduce sum \(collective \d+\) for \d+ seconds?, rank 1 has not arrived([,;] .*)?$/,
  );
  await Promise.all([first.allReduce('sum', one()), waiting]);
  for (const part of parts) await part?.close();
  await close(members);
});

it('an invalid COLL_STALL_SECONDS is refused before the group opens', async () => {
  vi.stubEnv('COLL_STALL_SECONDS', 'soon');
  await expect(open(1)).rejects.toThrow(/^COLL_STALL_SECONDS must be a number/);
});
