import { zeros } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import { openProcessGroup } from '@coll/processes';
import { FileStore } from '@coll/rendezvous';
import { ringAlgorithm } from '@coll/ring';

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
}

const task = JSON.parse(process.argv[2] as string) as LinkRank;
const { rank, size, folder, jobKey, host, streams, algorithm, bytes, calls } = task;
const job = 'links';
const sum = { kind: 'all-reduce', op: 'sum' } as const;

await using store = new FileStore({ folder });
await using group = await openProcessGroup({ store, rank, size, job, jobKey, host, streams, insecure: true });
await using communicator = group.communicator(algorithm === 'ring' ? ringAlgorithm() : directAlgorithm());

const [input, output] = [zeros('float32', [bytes / 4]), zeros('float32', [bytes / 4])];
const expected = (size * (size + 1)) / 2;
const longest = zeros('float64', [1]);
const millis: number[] = [];
for (let call = -2; call < calls; call++) {
  input.data.fill((rank + 1) as never);
  output.data.fill(0 as never);
  await agree(0);
  const begin = performance.now();
  await communicator.run(sum, [input], [output], { timeoutSeconds: 60 });
  const took = await agree(performance.now() - begin);
  // The connections learn how fast the link is in the first calls.
  if (call >= 0) millis.push(took);
  if (output.data.some((value) => value !== expected)) throw new Error(`rank ${rank}: wrong result`);
}
if (rank === 0) console.log(JSON.stringify({ millis }));

/** The largest of all ranks' values; nobody goes on before all have come. */
async function agree(value: number): Promise<number> {
  longest.data[0] = value;
  await communicator.run({ kind: 'all-reduce', op: 'max' }, [longest], [longest]);
  return longest.data[0] as number;
}
