// Fits a line in several processes. After a process was lost, the restarted program continues from the latest checkpoint. Run it with:
//
//   npx coll run -n 2 --max-restarts 3 examples/checkpoints.ts line.json
import { readFile, rename, writeFile } from 'node:fs/promises';
import { openProcessGroup } from '@coll/processes';

const steps = 300;
const [file = 'checkpoint.json', failAt] = process.argv.slice(2);

await using group = await openProcessGroup();

// Only rank 0 reads and writes the file, so hosts need not share a disk.
const state = group.rank === 0 ? await load() : new Float64Array(3);
await group.broadcast(0, state, { into: state });
if (group.rank === 0) console.log(`starts at step ${state[0]}`);

for (let step = state[0] as number; step < steps; step++) {
  const gradient = gradientOf(state, group.rank);
  await group.allReduce('mean', gradient, { into: gradient });
  state.set([step + 1, (state[1] as number) - (gradient[0] as number), (state[2] as number) - (gradient[1] as number)]);
  if (group.rank === 0 && (step + 1) % 50 === 0) await save();
  // A crash for demonstration: the last rank ends in the middle of the first attempt.
  if (String(step) === failAt && process.env['COLL_RESTART'] === '0' && group.rank === group.size - 1) process.exit(1);
}
if (group.rank === 0) console.log(`y = ${state[1]?.toFixed(2)} x + ${state[2]?.toFixed(2)}`);

/** The number of steps done, then the slope and the offset. */
async function load(): Promise<Float64Array> {
  try {
    return Float64Array.from(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return new Float64Array(3);
  }
}

/** A rename is atomic, so the file always contains a whole checkpoint, even if the process ends during a write. */
async function save(): Promise<void> {
  await writeFile(`${file}.new`, JSON.stringify([...state]));
  await rename(`${file}.new`, file);
}

/** The gradient of the squared distance to y = 2 x + 1, at the points of this rank. */
function gradientOf([, slope = 0, offset = 0]: Float64Array, rank: number): Float64Array {
  const xs = [0, 0.5, 1].map((x) => x + rank / 4);
  const errors = xs.map((x) => slope * x + offset - (2 * x + 1));
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  return Float64Array.of(mean(errors.map((error, index) => error * (xs[index] as number))), mean(errors));
}
