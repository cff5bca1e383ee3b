import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { CollError, DeadlineExceededError, RuntimeError } from '@coll/core';
import { cpuTime, foreignPart } from '@coll/native/machine';
import type { RunRecords } from '@coll/strategy/internal';
import { endOwnGroup } from './process-group.js';
import type { RunOutcome, RunResult, TriedRun } from './try-outcome.js';

// The process of one run of `coll try`. It has its own, so that memory and compiled code are those of one run.

const lookMillis = 50;
/** The part of the time that is not measured, as in `RunRecords`. */
const warmUp = 1 / 5;
/** A slow program runs for longer, until it has made this many measured steps. */
const leastSteps = 3;

process.once('disconnect', endOwnGroup);
process.once('message', (run: TriedRun) => void measured(run).then(send));

function send(outcome: RunOutcome): void {
  // A replica that is blocked in native code would keep the process alive.
  process.send?.(outcome, () => process.exit());
}

async function measured(run: TriedRun): Promise<RunOutcome> {
  try {
    return { result: await resultOf(run) };
  } catch (error) {
    if (!(error instanceof CollError)) console.error(error);
    return { failure: textOf(error) };
  }
}

/** Runs the module until the time is over, or it has returned. @throws the error of a replica; CollError without steps */
async function resultOf({ module, args, replicas, seconds, timeoutSeconds }: TriedRun): Promise<RunResult> {
  const { strategy: library, internal } = await librariesOf(module);
  const records = new internal.RunRecords(replicas);
  const devices = Array.from({ length: replicas }, (_, replica) => `cpu:${replica}`);
  const strategy = new library.MirroredStrategy({ devices });
  const end = new AbortController();
  const options: object = {
    args,
    signal: end.signal,
    [internal.onRecords]: (replica: number, rows: Float64Array) => records.add(replica, rows),
  };
  const returned = strategy.run(new URL(module), options).then(() => true);
  const clock = new RunClock(records, { seconds, timeoutSeconds });
  const endedEarly = await Promise.race([returned, clock.isOver.then(() => false)]).finally(() => clock.stop());
  const figures = records.figures();
  const usage = clock.usage();
  const memoryBytes = 1024 * process.resourceUsage().maxRSS;
  end.abort();
  // What the run made before the abort is measured already, and the abort is what it rejects with.
  await returned.catch(() => {});
  if (!figures) throw tooFewSteps(records, endedEarly, timeoutSeconds);
  return { replicas, ...figures, ...usage, memoryBytes, endedEarly };
}

/** Decides when a run has taken long enough, and what it has used of the cores. */
class RunClock {
  readonly isOver: Promise<void>;
  readonly #records: RunRecords;
  readonly #limits: Pick<TriedRun, 'seconds' | 'timeoutSeconds'>;
  readonly #begin = performance.now();
  #firstStep: number | undefined;
  /** When the measurement began. */
  #from = usageNow();
  #isWarm = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(records: RunRecords, limits: Pick<TriedRun, 'seconds' | 'timeoutSeconds'>) {
    this.#records = records;
    this.#limits = limits;
    this.isOver = new Promise((resolve) => {
      this.#timer = setInterval(() => this.#look() && resolve(), lookMillis);
    });
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  usage(): Pick<RunResult, 'coresBusy' | 'foreign'> {
    const now = usageNow();
    const coresBusy = (now.cpu.own - this.#from.cpu.own) / (now.at - this.#from.at);
    return { coresBusy, foreign: foreignPart(this.#from.cpu, now.cpu) };
  }

  /** Whether the run is over. */
  #look(): boolean {
    const now = performance.now();
    const { seconds, timeoutSeconds } = this.#limits;
    if (this.#firstStep === undefined) {
      if (!this.#records.hasSteps) return now - this.#begin > 1000 * timeoutSeconds;
      this.#firstStep = now;
      this.#from = usageNow();
    }
    const stepping = (now - this.#firstStep) / 1000;
    if (!this.#isWarm && stepping >= warmUp * seconds) {
      this.#isWarm = true;
      this.#from = usageNow();
    }
    if (stepping < seconds) return false;
    return stepping >= seconds + timeoutSeconds || (this.#records.figures()?.steps ?? 0) >= leastSteps;
  }
}

function usageNow() {
  return { at: performance.now(), cpu: cpuTime() };
}

/** The strategies as the module under test imports them, so that both share one copy; else as this package does. */
async function librariesOf(module: string) {
  const { resolve } = createRequire(fileURLToPath(module));
  const addressOf = (name: string) => pathToFileURL(resolve(name)).href;
  try {
    const [strategy, internal] = [addressOf('@coll/strategy'), addressOf('@coll/strategy/internal')];
    return {
      strategy: (await import(strategy)) as typeof import('@coll/strategy'),
      internal: (await import(internal)) as typeof import('@coll/strategy/internal'),
    };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    return { strategy: await import('@coll/strategy'), internal: await import('@coll/strategy/internal') };
  }
}

const whatCounts =
  'steps of distributedOptimizer, reduceGradients and dataParallel count, and each call of context.report({ samples }) ' +
  'with the number of samples that this replica has handled since the call before';

function tooFewSteps({ hasSteps }: RunRecords, endedEarly: boolean, timeoutSeconds: number): CollError {
  const operation = 'try';
  if (endedEarly) {
    const message = hasSteps
      ? 'the module returned after too few steps: of each replica, the first three are not measured; make it train for longer'
      : `the module returned, but no step was counted: ${whatCounts}`;
    return new RuntimeError('ERR_COLL_REPLICA', message, { operation });
  }
  const message = hasSteps
    ? 'some replica made too few steps: the first three of each are not measured; pass larger --seconds, or make steps smaller'
    : `no step was counted within ${timeoutSeconds} s: ${whatCounts}; if the first step takes longer, pass larger --timeout`;
  return new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation });
}

function textOf(error: unknown): string {
  const text = error instanceof CollError ? `${error.code}: ${error.message}` : String(error);
  return isProgram.test(text) ? `${text}; ${aboutPrograms}` : text;
}

const isProgram = /exports no function called|Mixing different strategies/;
const aboutPrograms =
  'pass the module of the replica function, the one whose URL strategy.run gets, instead of the program that makes a strategy';
