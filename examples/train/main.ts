import '@coll/direct/register';
import { cpuTime } from '@coll/native/machine';
import '@coll/reduction-to-one/register';
import '@coll/ring/register';
import type { MirroredStrategy, MultiWorkerMirroredStrategy } from '@coll/strategy';
import { loadWarning } from './load.ts';
import { frameworks, type Settings, settingsOrExit } from './options.mjs';
import { Progress } from './progress.ts';
import type { ReplicaResult, StepReport, Task } from './replica.ts';
import { mirrored, multiWorker } from './strategies.ts';
import {
  otherFramework,
  type Runs,
  record,
  summary,
  weightsAreIdentical,
  weightsAreIdenticalAcross,
} from './summary.ts';

const testSamples = 1000;

// Just enough steps to measure one process with the whole batch, and another framework.
const stepsToCompare = { same: 15, other: 7 };

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
  const { framework, replicas, json } = settings;
  const before = cpuTime();
  const isShown = !json;
  const single =
    replicas === 1 ? undefined : await trainBriefly({ ...settings, replicas: 1 }, stepsToCompare.same, isShown);
  const results = await trainHere(settings, taskOf(settings), isShown);
  const identical = weightsAreIdentical(results);
  const warning = single && loadWarning(before, cpuTime());
  const runs: Runs = { single, results, replicas };
  if (json) {
    process.stdout.write(`${JSON.stringify(record(settings, runs, { identical, warning }))}\n`);
    return identical ? 0 : exitCodes.failed;
  }
  const all = replicas === 2 ? 'both replicas' : `all ${replicas} replicas`;
  process.stdout.write(
    `${summary(runs)}\n${warning === undefined ? '' : `${warning}\n`}weights identical on ${all}: ${identical ? 'yes' : 'no'}\n`,
  );
  const other = { ...settings, framework: frameworks.find((name) => name !== framework) ?? framework };
  const isTerminal = process.stdout.isTTY === true;
  const alone = await trainBriefly({ ...other, replicas: 1 }, stepsToCompare.other, isTerminal);
  const together = replicas === 1 ? undefined : await trainBriefly(other, stepsToCompare.other, isTerminal);
  process.stdout.write(`${otherFramework(other, alone, together)}\n`);
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
  const isShown = isFirst && !settings.json;
  if (isShown) {
    const all = { ...settings, replicas: numReplicasInSync };
    const count = all.replicas === 1 ? '1 replica' : `${all.replicas} replicas`;
    const where = workers === 1 ? 'one worker' : `${workers} workers by ${by}`;
    process.stdout.write(`${count} in ${settings.framework} on ${where}, ${shares(all)}\n`);
  }
  const results = await train(strategy, taskOf(settings), isShown);
  const identical = await weightsAreIdenticalAcross(strategy, results);
  const runs: Runs = { single: undefined, results, replicas: numReplicasInSync };
  if (isFirst && settings.json)
    process.stdout.write(`${JSON.stringify(record(settings, runs, { identical, warning: undefined }))}\n`);
  if (isShown) {
    process.stdout.write(`${summary(runs)}\n`);
    const all = workers === 1 ? 'all replicas' : `all ${workers} workers`;
    if (workers > 1) process.stdout.write(`${workers} workers, connected by ${by}\n`);
    process.stdout.write(`weights identical on ${all}: ${identical ? 'yes' : 'no'}\n`);
  }
  return identical ? 0 : exitCodes.failed;
}

function taskOf({ framework, epochs, batchSize, samples, seed }: Settings): Task {
  return { framework, seed, epochs, stepsPerEpoch: Math.floor(samples / batchSize), batchSize, testSamples };
}

function shares({ batchSize, replicas }: Pick<Settings, 'batchSize' | 'replicas'>): string {
  return `${batchSize / replicas} of ${batchSize} digits each`;
}

/** Trains for no more than these steps. Returns the result of one replica. */
async function trainBriefly(settings: Settings, steps: number, isShown: boolean): Promise<ReplicaResult> {
  const task = taskOf(settings);
  const all = task.epochs * task.stepsPerEpoch;
  const short = { ...task, epochs: 1, stepsPerEpoch: Math.min(steps, all) };
  const [result] = await trainHere(settings, short, isShown);
  return result as ReplicaResult;
}

async function trainHere(settings: Settings, task: Task, isShown: boolean): Promise<readonly ReplicaResult[]> {
  await using strategy = mirrored(settings);
  if (isShown) process.stdout.write(`${await titleOf(strategy, settings)}\n`);
  return train(strategy, task, isShown);
}

async function titleOf(strategy: MirroredStrategy, settings: Settings): Promise<string> {
  const { framework, replicas, batchSize, ops } = settings;
  if (replicas === 1) return `one process in ${framework}, ${batchSize} digits in a step`;
  const { threadEngine, engines } = await strategy.explain();
  const [fastest] = engines;
  const why = fastest?.refused === undefined ? '' : ` (${fastest.name}: ${fastest.refused})`;
  return `${replicas} replicas in ${framework} by ${ops}, ${shares(settings)}, ${threadEngine} engine${why}`;
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
  progress = undefined;
  return strategy.experimentalLocalResults(results);
}
