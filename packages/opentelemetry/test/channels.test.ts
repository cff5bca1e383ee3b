import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { direct } from '@coll/direct';
import { MirroredStrategy } from '@coll/strategy';
import { expect, it } from 'vitest';
import { type Heard, hear } from './fixtures/heard.ts';

const launcher = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url));
const rank = fileURLToPath(new URL('./fixtures/heard-rank.ts', import.meta.url));
const replica = new URL('./fixtures/heard-replica.ts', import.meta.url);
const devices = ['cpu:0', 'cpu:1'];

const awaited = ['start', 'end', 'asyncStart', 'asyncEnd'];
/** A call may also end before it returns its promise. */
const anyOrder = [awaited, ['start', 'end']];

/** What the ranks of `coll run` have printed. */
async function runRanks(args: readonly string[], environment: Record<string, string> = {}): Promise<Heard[]> {
  const command = [launcher, 'run', '-n', '2', rank, ...args];
  const options = { maxBuffer: 2 ** 24, env: { ...process.env, ...environment } };
  const run = promisify(execFile)(process.execPath, command, options);
  const { stdout } = await run.catch((error: { stdout: string }) => error);
  const lines = stdout.split('\n').filter((line) => line.includes('{'));
  return lines.sort().map((line) => JSON.parse(line.replace(/^\[\d\] /, '')) as Heard);
}

it('calls of replicas in one thread are published in this thread', async () => {
  const heard = hear();
  await using strategy = new MirroredStrategy({ devices, crossDeviceOps: direct });
  await strategy.run((context) => context.allReduce('mean', new Float32Array(8)));
  const [call] = heard.calls.filter(({ event }) => event.operation === 'all-reduce mean');
  expect(anyOrder).toContainEqual(call?.names);
  expect(call?.event).toMatchObject({ kind: 'all-reduce', op: 'mean', dtype: 'float32', elements: 8, bytes: 32 });
  expect(call?.event).toMatchObject({ size: 2, rank: -1, transport: 'memory' });
});

it('replicas in threads publish their calls in their own thread', async () => {
  await using strategy = new MirroredStrategy({ devices });
  const results = await strategy.run<typeof import('./fixtures/heard-replica.ts')>(replica);
  const calls = strategy.experimentalLocalResults(results) as Heard['calls'][];
  for (const [own, heard] of calls.entries()) {
    const [mean, sum, broadcast] = heard.filter(({ event }) => ['all-reduce', 'broadcast'].includes(event.kind));
    expect(anyOrder).toContainEqual(mean?.names);
    expect(mean?.event).toMatchObject({ operation: 'all-reduce mean', dtype: 'float32', elements: 8, bytes: 32 });
    expect(sum?.names).toEqual(['start', 'end']);
    expect(sum?.event).toMatchObject({ operation: 'all-reduce sum', dtype: 'float64', elements: 3, bytes: 24 });
    expect(broadcast?.event).toMatchObject({ operation: 'broadcast', peer: 1 });
    for (const { event } of [mean, sum, broadcast] as Heard['calls'])
      expect(event).toMatchObject({ rank: own, size: 2, engine: 'native', transport: 'memory' });
  }
  const groupsAndNumbers = calls.map((heard) => heard.map(({ event }) => [event.group, event.number]));
  expect(groupsAndNumbers[1]).toEqual(groupsAndNumbers[0]);
});

it.each(['on', 'off'])('processes publish calls, messages and groups with COLL_RECORD=%s', async (record) => {
  const ranks = await runRanks([], { COLL_RECORD: record });
  expect(ranks.length).toBe(2);
  for (const [own, { calls, groups }] of ranks.entries()) {
    const find = (operation: string) => calls.find(({ event }) => event.operation === operation);
    const [sum, message] = [find('all-reduce sum'), find(own === 0 ? 'send' : 'receive')];
    expect(sum?.event).toMatchObject({ rank: own, size: 2, elements: 2, bytes: 8, engine: 'native' });
    expect(message?.event).toMatchObject({ rank: own, peer: 1 - own, number: 0, dtype: 'int16', elements: 5 });
    expect(find('barrier')).toBeDefined();
    for (const { names } of calls) expect(anyOrder).toContainEqual(names);
    expect(groups.map(({ name }) => name)).toEqual(['opened', 'closed']);
    expect(groups[0]?.event).toMatchObject({ kind: 'processes', rank: own, size: 2, group: sum?.event.group });
  }
});

it('a group that has lost a rank is published once, with the rank', async () => {
  const [survivor] = await runRanks(['lost']);
  expect(survivor?.groups.map(({ name }) => name)).toEqual(['opened', 'lost', 'closed']);
  expect(survivor?.groups[1]?.event).toMatchObject({ code: 'ERR_COLL_CLOSED', failedRank: 1, rank: 0 });
  expect(survivor?.calls.at(-1)?.names).toContain('error');
});
