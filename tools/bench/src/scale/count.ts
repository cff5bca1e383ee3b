import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { TcpStoreServer } from '@coll/rendezvous';
import { ask } from '../ask.js';
import { type Machine, thisMachine } from '../report/machine.js';
import { type ConnectionEnd, connectionsBetween } from './connections.js';

/** The resources that the ranks of a group need. */
export interface ScaleRow extends Machine {
  readonly ranks: number;
  readonly transport: 'shared-memory' | 'tcp';
  readonly algorithm: 'ring' | 'rechd' | 'binary-tree';
  /** Seconds until every rank had opened the group. */
  readonly openSeconds: number;
  /** Bytes of memory per rank that the group and its first calls add: the mean of all ranks. */
  readonly memoryBytes: number;
  /** TCP connections of a rank to other ranks: the maximum over all ranks. */
  readonly connections: number;
  /** The connections among them that carried headers or data of collectives. */
  readonly dataConnections: number;
  /** Messages with headers or data that a rank sends per call, as TCP segments: the maximum over all ranks. */
  readonly messages: number;
  /** Messages per call on the other connections, on which ranks watch each other: the maximum over all ranks. */
  readonly controlMessages: number;
}

const entry = fileURLToPath(new URL('./rank.mjs', import.meta.url));
const callsToWarm = 3;
const callsToCount = 40;

/** The counted cases. With shared memory, connections do not depend on the algorithm. */
const counted = [
  ['tcp', 'ring'],
  ['tcp', 'rechd'],
  ['tcp', 'binary-tree'],
  ['shared-memory', 'ring'],
] as const;

/** Counts groups of new processes, which have not used their memory before. Prints each count to stderr. */
export async function takeCounts(sizes: readonly number[]): Promise<ScaleRow[]> {
  const rows: ScaleRow[] = [];
  for (const ranks of sizes) {
    for (const [transport, algorithm] of counted) {
      const row = await count(ranks, transport, algorithm);
      process.stderr.write(`${JSON.stringify(row)}\n`);
      rows.push(row);
    }
  }
  return rows;
}

async function count(
  ranks: number,
  transport: ScaleRow['transport'],
  algorithm: ScaleRow['algorithm'],
): Promise<ScaleRow> {
  const member = { job: 'scale', jobKey: TcpStoreServer.newKey() };
  await using store = await TcpStoreServer.listen(member);
  const children = Array.from({ length: ranks }, (_, rank) =>
    fork(entry, [JSON.stringify({ rank, ranks, address: store.address, ...member })], { execArgv: ['--expose-gc'] }),
  );
  try {
    const counts = await countIn(children, { type: 'open', transport, algorithm });
    return { ranks, transport, algorithm, ...counts, ...thisMachine() };
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
}

type Counts = Pick<
  ScaleRow,
  'openSeconds' | 'memoryBytes' | 'connections' | 'dataConnections' | 'messages' | 'controlMessages'
>;

async function countIn(children: readonly ChildProcess[], open: object): Promise<Counts> {
  const pids = new Set(children.flatMap(({ pid }) => pid ?? []));
  // The start of the processes must not count as time of opening the group.
  await askAll(children, { type: 'start' });
  const start = performance.now();
  await askAll(children, open);
  const openSeconds = (performance.now() - start) / 1000;
  const memory = await askAll<number>(children, { type: 'call', count: callsToWarm });
  const before = new Map(connectionsBetween(pids).map((end) => [keyOf(end), end.segments]));
  await askAll(children, { type: 'call', count: callsToCount });
  const ends = connectionsBetween(pids).map((end) => {
    return { ...end, segments: end.segments - (before.get(keyOf(end)) ?? 0) };
  });
  await askAll(children, { type: 'close' });
  // Every call sends something on a connection that it uses. Control messages are rarer than calls.
  const data = ends.filter(({ segments }) => segments >= 0.9 * callsToCount);
  const used = new Set(data.flatMap(({ local, peer }) => [`${local} ${peer}`, `${peer} ${local}`]));
  const control = ends.filter((end) => !used.has(keyOf(end)));
  const perCall = (some: readonly ConnectionEnd[]) =>
    Number((most(some, ({ segments }) => segments) / callsToCount).toPrecision(4));
  return {
    openSeconds: Number(openSeconds.toPrecision(3)),
    memoryBytes: Math.round(memory.reduce((sum, bytes) => sum + bytes, 0) / memory.length),
    connections: most(ends, () => 1),
    dataConnections: most(ends, (end) => (used.has(keyOf(end)) ? 1 : 0)),
    messages: perCall(data),
    controlMessages: perCall(control),
  };
}

const keyOf = ({ local, peer }: ConnectionEnd) => `${local} ${peer}`;

/** The largest sum of any process. */
function most<End extends ConnectionEnd>(ends: readonly End[], amountOf: (end: End) => number): number {
  const sums = new Map<number, number>();
  for (const end of ends) sums.set(end.pid, (sums.get(end.pid) ?? 0) + amountOf(end));
  return Math.max(0, ...sums.values());
}

function askAll<Answer>(children: readonly ChildProcess[], order: object): Promise<Answer[]> {
  return Promise.all(children.map((child, rank) => ask<Answer>(child, `rank ${rank}`, order)));
}
