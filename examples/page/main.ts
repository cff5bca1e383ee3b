// The program of the page.
import { MirroredStrategy } from '@coll/strategy';

const points = Array.from({ length: 64 }, (_, index) => [index / 64, (2 * index) / 64 + 1] as const);
const strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const lines = await strategy.run<typeof import('./replica.js')>(new URL('./replica.js', import.meta.url), {
  args: [points, 200],
  onReport: (_, report) => console.log(report),
});
for (const { slope, offset } of strategy.experimentalLocalResults(lines))
  console.log(`y = ${slope.toFixed(2)} x + ${offset.toFixed(2)}`);
await strategy.close();
