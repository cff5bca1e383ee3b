// Learns to play 2048, with an actor on every core. Run it with:
//
//   npx tsx examples/actors/main.ts 2               # two threads
//   npx coll run -n 2 examples/actors/main.ts 1     # two processes with one thread each
import { availableParallelism } from 'node:os';
import { MultiWorkerMirroredStrategy } from '@coll/strategy';
import type { Times } from './replica.ts';

const [threads = availableParallelism(), lessons = 5, gamesPerLesson = 2000] = process.argv.slice(2).map(Number);

/** The share of each activity, in percent. */
function sharesOf({ learning, playing, gatheringGames, sendingWeights }: Times): string {
  const parts = { learning, playing, 'gathering games': gatheringGames, 'sending weights': sendingWeights };
  const total = learning + playing + gatheringGames + sendingWeights;
  return Object.entries(parts)
    .map(([name, seconds]) => `${name} ${((100 * seconds) / total).toFixed(0)} %`)
    .join(', ');
}

await using strategy = new MultiWorkerMirroredStrategy({
  devices: Array.from({ length: threads }, (_, index) => `cpu:${index}`),
});
for (let lesson = 1; lesson <= lessons; lesson++) {
  const results = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
    args: [gamesPerLesson],
  });
  for (const { replica, games, score, times } of strategy.experimentalLocalResults(results)) {
    if (replica === 0) console.log(`lesson ${lesson}: ${games} games with ${score.toFixed(0)} points on average`);
    console.log(`  replica ${replica}: ${sharesOf(times)}`);
  }
}
