// Measures what the calls cost that connect a program and its replicas in threads: `npx tsx examples/map-costs/main.ts 2`.
import { availableParallelism } from 'node:os';
import { MirroredStrategy } from '@coll/strategy';

const [threads = availableParallelism(), calls = 300] = process.argv.slice(2).map(Number);
const module = new URL('./replica.ts', import.meta.url);
type Replica = typeof import('./replica.ts');

await using strategy = new MirroredStrategy({ devices: Array.from({ length: threads }, (_, index) => `cpu:${index}`) });
const copied = new Float32Array(2 ** 20);
const shared = new Float32Array(new SharedArrayBuffer(2 ** 22));

/** The median of the microseconds that a call takes. */
async function median(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  while (times.length < calls) {
    const start = performance.now();
    await call();
    times.push(1000 * (performance.now() - start));
  }
  return times.sort((a, b) => a - b)[calls >> 1] as number;
}

const run = (...args: readonly unknown[]) => strategy.run<Replica>(module, { args });
const costs = {
  run: await median(() => run()),
  'run with 4 MiB, which each thread gets a copy of': await median(() => run(copied)),
  'run with 4 MiB in a SharedArrayBuffer': await median(() => run(shared)),
  'run, and reduce of a number': await median(async () =>
    strategy.reduce('sum', await strategy.run<Replica, 'one'>(module, { exportName: 'one' }), null),
  ),
  'run, and gather of about 64 KiB per replica, of unequal lengths': await median(async () =>
    strategy.gather(await strategy.run<Replica, 'several'>(module, { exportName: 'several', args: [2 ** 14] }), 0),
  ),
};
const inReplicas = await strategy.run<Replica, 'collectives'>(module, { exportName: 'collectives', args: [calls] });
const [own] = strategy.experimentalLocalResults(inReplicas);
for (const [call, microseconds] of Object.entries({ ...costs, ...own }))
  console.log(`${microseconds.toFixed(1).padStart(8)} µs  ${call}`);
