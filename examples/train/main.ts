import '@coll/direct/register';
import '@coll/reduction-to-one/register';
import '@coll/ring/register';
import { MirroredStrategy, type StrategyExplanation } from '@coll/strategy';
import { CommanderError } from 'commander';
import { type Course, Progress } from './progress.ts';
import type { ReplicaResult, StepReport, Task } from './replica.ts';
import { type Settings, settingsFrom } from './settings.ts';
import { summary, weightsAreIdentical } from './summary.ts';

const testSamples = 1000;

// Enough to measure one replica on the whole batch, and no more: it learns nothing new.
const stepsOfOneReplica = 15;

const exitCodes = { failed: 1, badUsage: 2, interrupted: 130 };

let progress: Progress | undefined;

process.once('SIGINT', () => {
  progress?.stop();
  process.exit(exitCodes.interrupted);
});

try {
  process.exitCode = await main(settingsFrom(process.argv.slice(2)));
} catch (error) {
  progress?.stop();
  process.exitCode = exitCodeOf(error);
}

/** Commander has printed what was wrong; other errors are printed here. */
function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.badUsage;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  return exitCodes.failed;
}

async function main(settings: Settings): Promise<number> {
  const { replicas, epochs, batchSize, samples, seed } = settings;
  const stepsPerEpoch = Math.floor(samples / batchSize);
  const task = { seed, epochs, stepsPerEpoch, batchSize, testSamples };
  const short = {
    ...task,
    epochs: 1,
    stepsPerEpoch: Math.min(stepsOfOneReplica, epochs * stepsPerEpoch),
  };
  const [single] =
    replicas === 1 ? [] : await train('one replica, to compare with', { ...settings, replicas: 1 }, short);
  const title = `${replicas} replicas by ${settings.ops}, ${batchSize / replicas} of ${batchSize} digits each`;
  const results = await train(title, settings, task);
  const identical = weightsAreIdentical(results);
  const all = replicas === 2 ? 'both replicas' : `all ${replicas} replicas`;
  process.stdout.write(`${summary(single, results)}\nweights identical on ${all}: ${identical ? 'yes' : 'no'}\n`);
  return identical ? 0 : exitCodes.failed;
}

/** Trains on as many threads as replicas and shows how it goes; one result a replica. */
async function train(title: string, settings: Settings, task: Task): Promise<readonly ReplicaResult[]> {
  const { replicas, ops, engine } = settings;
  const devices = Array.from({ length: replicas }, (_, index) => `cpu:${index}`);
  await using strategy = new MirroredStrategy({ devices, crossDeviceOps: ops, engine });
  process.stdout.write(`${title}, ${engineOf(await strategy.explain())}\n`);
  const course: Course = { ...task, replicas };
  progress = new Progress(course, process.stdout);
  const results = await strategy.run(new URL('./replica.ts', import.meta.url), {
    args: [task],
    onReport: (_replica, value) => progress?.add((value as StepReport).loss),
  });
  progress.stop();
  return strategy.experimentalLocalResults(results) as readonly ReplicaResult[];
}

/** What adds the gradients up, and why that and nothing faster. */
function engineOf({ threadEngine, engines }: StrategyExplanation): string {
  const [fastest] = engines;
  const why = fastest?.refused === undefined ? '' : ` (${fastest.name}: ${fastest.refused})`;
  return `${threadEngine} engine${why}`;
}
