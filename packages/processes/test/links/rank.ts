import { type Communicator, tensor, zeros } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { FileStore } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';

export type Protection = 'encrypted' | 'insecure';

/** What a rank has measured of the calls with one protection. */
export interface LinkFigures {
  readonly protection: Protection;
  /** Of each call: the longest time of all ranks. */
  readonly millis: readonly number[];
  /** CPU time of this rank in all calls. */
  readonly cpuMillis: number;
}

/** The task of a rank on one of the hosts, as JSON in its first argument. */
export interface LinkRank {
  readonly rank: number;
  readonly size: number;
  /** A folder that all hosts see, to meet in. */
  readonly folder: string;
  readonly jobKey: string;
  /** Where the others reach this one. */
  readonly host: string;
  readonly streams: number | 'auto';
  readonly algorithm: 'ring' | 'direct';
  readonly bytes: number;
  readonly calls: number;
  /** How the links are protected. Calls of groups with each of them alternate. */
  readonly protections: readonly Protection[];
}

const task = JSON.parse(process.argv[2] as string) as LinkRank;
const { rank, size, folder, jobKey, host, streams, algorithm, bytes, calls, protections } = task;
const sum = { kind: 'all-reduce', op: 'sum' } as const;

await using store = new FileStore({ folder });
const measured = [];
for (const protection of protections) measured.push(await opened(protection));
const [input, output] = [zeros('float32', [bytes / 4]), zeros('float32', [bytes / 4])];
const expected = (size * (size + 1)) / 2;
for (let call = -2; call < calls; call++) {
  for (const one of measured) {
    const figures = await timed(one.communicator);
    // The connections learn how fast the link is in the first calls.
    if (call < 0) continue;
    one.millis.push(figures.millis);
    one.cpuMillis += figures.cpuMillis;
  }
}
if (rank === 0) {
  const all = measured.map(({ protection, millis, cpuMillis }): LinkFigures => ({ protection, millis, cpuMillis }));
  console.log(JSON.stringify(all));
}
for (const { communicator, group } of measured) {
  await communicator.close();
  await group.close();
}

async function opened(protection: Protection) {
  const insecure = protection === 'insecure';
  const member = { store, rank, size, job: `links ${protection}`, jobKey, host, streams, insecure };
  const group = await openProcessGroup(member);
  const communicator = group.communicator(algorithm === 'ring' ? ringAlgorithm() : directAlgorithm());
  return { protection, group, communicator, millis: [] as number[], cpuMillis: 0 };
}

async function timed(communicator: Communicator) {
  input.data.fill((rank + 1) as never);
  output.data.fill(0 as never);
  await agree(communicator, 0);
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await communicator.run(sum, [input], [output], { timeoutSeconds: 60 });
  const took = performance.now() - begin;
  const { user, system } = process.cpuUsage(cpu);
  if (output.data.some((value) => value !== expected)) throw new Error(`rank ${rank}: wrong result`);
  return { millis: await agree(communicator, took), cpuMillis: (user + system) / 1000 };
}

/** The largest of all ranks' values; nobody goes on before all have come. */
async function agree(communicator: Communicator, value: number): Promise<number> {
  const longest = tensor([value], { dtype: 'float64' });
  await communicator.run({ kind: 'all-reduce', op: 'max' }, [longest], [longest]);
  return longest.data[0] as number;
}
