// `npx tsx main.ts digits` trains on two cores, and `npx tsx main.ts digits 4` on four; so do addition, houses and pole.
import '@coll/direct/register';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

const [program = 'digits', replicas = '2'] = process.argv.slice(2);
await using strategy = new MultiWorkerMirroredStrategy({
  devices: Array.from({ length: Number(replicas) }, (_, core) => `cpu:${core}`),
});
await strategy.run(new URL(`./${program}-parallel.ts`, import.meta.url));
