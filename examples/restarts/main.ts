// Trains in two processes with two threads each. After a process was lost, the restarted program continues from the newest checkpoint. Run it with:
//
//   npx coll run -n 2 --max-restarts 3 examples/restarts/main.ts checkpoints
import { createHash } from 'node:crypto';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';

const [folder = 'checkpoints', seed] = process.argv.slice(2);

await using strategy = new MultiWorkerMirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const { worker } = await strategy.explain();
const crash = crashOf(Number(process.env['COLL_RESTART']));

const results = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
  args: [folder],
  onReport: (_, steps) => {
    if (steps === crash.steps) setTimeout(() => process.kill(process.pid, 'SIGKILL'), crash.milliseconds);
  },
});
if (strategy.extended.shouldCheckpoint) {
  const [weights] = strategy.experimentalLocalResults(results);
  console.log(
    `weights ${createHash('sha256')
      .update(weights as Float32Array)
      .digest('hex')
      .slice(0, 16)}`,
  );
}

/** Crashes for demonstration: with a seed, one process of each of the first two attempts kills itself at some moment. */
function crashOf(attempt: number): { readonly steps?: number; readonly milliseconds?: number } {
  if (seed === undefined || attempt > 1) return {};
  const [who = 0, step = 0, moment = 0] = createHash('sha256').update(`${seed} ${attempt}`).digest();
  return who % 2 === worker ? { steps: 1 + (step % 20), milliseconds: moment % 32 } : {};
}
