import '@coll/direct/register';
import '@coll/reduction-to-one/register';
import '@coll/ring/register';
import type { MirroredStrategy, MultiWorkerMirroredStrategy } from '@coll/strategy';
import { cpuTime, loadWarning } from './load.ts';
import { type Settings, settingsOrExit } from './options.mjs';
import { Progress } from './progress.ts';
import type { ReplicaResult, StepReport, Task } from './replica.ts';
import { mirrored, multiWorker } from './strategies.ts';
import { summary, weightsAreIdentical, weightsAreIdenticalAcross } from './summary.ts';

const testSamples = 1000;

// Just enough steps to measure one replica with the whole batch.
const stepsOfOneReplica = 15;

const exitCodes = { failed: 1, interrupted: 130 };

let progress: Progress | undefined;

process.once('SIGINT', () => {
  progress?.stop();
  process.exit(exitCodes.interrupted);
});

try {
  const settings = settingsOrExit(process.argv.slice(2));
  await using several = multiWorker(settings);
  process.exitCode = several ? await trainTogether(several, settings) : await main(settings);
} catch (error) {
  progress?.stop();
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = exitCodes.failed;
}

async function main(settings: Settings): Promise<number> {
  const { replicas, epochs } = settings;
  const task = taskOf(settings);
  const { stepsPerEpoch } = task;
  const short = {
    ...task,
    epochs: 1,
    stepsPerEpoch: Math.min(stepsOfOneReplica, epochs * stepsPerEpoch),
  };
  const before = cpuTime();
  const [single] =
    replicas === 1 ? [] : await trainHere('one replica, to compare with', { ...settings, replicas: 1 }, short);
  const results = await trainHere(`${replicas} replicas by ${settings.ops}, ${shares(settings)}`, settings, task);
  const identical = weightsAreIdentical(results);
  const all = replicas === 2 ? 'both replicas' : `all ${replicas} replicas`;
  const warning = single && loadWarning(before, cpuTime());
  process.stdout.write(
    `${summary(single, results)}\n${warning === undefined ? '' : `${warning}\n`}weights identical on ${all}: ${identical ? 'yes' : 'no'}\n`,
  );
  return identical ? 0 : exitCodes.failed;
}

/** Trains as one of several workers, which all run this program. Worker 0 prints the progress. */
async function trainTogether(strategy: MultiWorkerMirroredStrategy, settings: Settings): Promise<number> {
  const { workers, worker, links } = await strategy.explain();
  const isFirst = worker === 0;
  const { numReplicasInSync } = strategy;
  if (settings.batchSize % numReplicasInSync !== 0)
    throw new Error(`a batch of ${settings.batchSize} cannot be split evenly among ${numReplicasInSync} replicas`);
  const by = [...new Set(links.map(({ transport }) => transport))].join(' and ');
  if (isFirst) {
    const all = { ...settings, replicas: numReplicasInSync };
    const count = all.replicas === 1 ? '1 replica' : `${all.replicas} replicas`;
    const where = workers === 1 ? 'one worker' : `${workers} workers by ${by}`;
    process.stdout.write(`${count} on ${where}, ${shares(all)}\n`);
  }
  const results = await train(strategy, taskOf(settings), isFirst);
  const identical = await weightsAreIdenticalAcross(strategy, results);
  if (isFirst) {
    process.stdout.write(`${summary(undefined, results, numReplicasInSync)}\n`);
    const all = workers === 1 ? 'all replicas' : `all ${workers} workers`;
    if (workers > 1) process.stdout.write(`${workers} workers, connected by ${by}\n`);
    process.stdout.write(`weights identical on ${all}: ${identical ? 'yes' : 'no'}\n`);
  }
  return identical ? 0 : exitCodes.failed;
}

function taskOf({ epochs, batchSize, samples, seed }: Settings): Task {
  return { seed, epochs, stepsPerEpoch: Math.floor(samples / batchSize), batchSize, testSamples };
}

function shares({ batchSize, replicas }: Pick<Settings, 'batchSize' | 'replicas'>): string {
  return `${batchSize / replicas} of ${batchSize} digits each`;
}

async function trainHere(title: string, settings: Settings, task: Task): Promise<readonly ReplicaResult[]> {
  await using strategy = mirrored(settings);
  const { threadEngine, engines } = await strategy.explain();
  const [fastest] = engines;
  const why = fastest?.refused === undefined ? '' : ` (${fastest.name}: ${fastest.refused})`;
  process.stdout.write(`${title}, ${threadEngine} engine${why}\n`);
  return train(strategy, task, true);
}

/** Trains in one thread per replica, and returns one result per replica. Shows the progress if it is visible. */
async function train(
  strategy: MirroredStrategy | MultiWorkerMirroredStrategy,
  task: Task,
  isShown: boolean,
): Promise<readonly ReplicaResult[]> {
  if (isShown) progress = new Progress(task, process.stdout);
  const results = await strategy.run<typeof import('./replica.ts')>(new URL('./replica.ts', import.meta.url), {
    args: [task],
    onReport: (_replica, value) => progress?.add((value as StepReport).loss),
  });
  progress?.stop();
  return strategy.experimentalLocalResults(results);
}
