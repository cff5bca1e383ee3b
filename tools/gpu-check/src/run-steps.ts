import { fork } from 'node:child_process';
import { constants } from 'node:os';
import { probe } from '@coll/nccl';
import { print } from './report.js';
import { type ErrorTold, type Findings, inWords, type Step, type StepResult } from './step.js';

/** What a step's process says when it ends. */
interface Told {
  readonly found?: Findings;
  readonly notHere?: string;
  readonly error?: ErrorTold;
  /** How it ended without a word. */
  readonly gone?: string;
}

/** After SIGKILL. Only a call that hangs in the driver keeps a process for so long. */
const secondsToDie = 10;
const interruptions = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** How steps are run. */
export interface Running {
  /** What measures runs on test doubles, too, and leaves no figures. */
  readonly isDry: boolean;
  /** All steps together. */
  readonly mostSeconds: number;
  /** Told after each step. */
  readonly keep: (results: readonly StepResult[]) => void;
}

/** Runs all steps, one after another, each in a process of its own and for so long. One that fails stops no other, but the first. */
export async function runSteps(
  steps: Readonly<Record<string, Step>>,
  { isDry, mostSeconds, keep }: Running,
): Promise<readonly StepResult[]> {
  const { isDouble } = probe();
  const begin = performance.now();
  const results: StepResult[] = [];
  for (const [name, step] of Object.entries(steps)) {
    const left = mostSeconds - (performance.now() - begin) / 1000;
    const obstacle = obstacleOf(step, isDouble && !isDry, results[0], left);
    const notRun = { step: name, claim: step.claim, outcome: 'not run', seconds: 0, reason: obstacle ?? '' } as const;
    const ran = obstacle === undefined ? await run(name, step, left) : notRun;
    const result = isDouble && step.isBenchmark ? withoutFigures(ran) : ran;
    results.push(result);
    print(result);
    keep(results);
  }
  return results;
}

function obstacleOf(step: Step, refusesFigures: boolean, first: StepResult | undefined, left: number) {
  if (first && first.outcome !== 'passed') return `${first.step} failed`;
  if (step.isBenchmark && refusesFigures) return 'figures of a test double mean nothing';
  return left <= 0 ? 'the time for all checks is over' : undefined;
}

async function run(name: string, { claim, seconds: own }: Step, left: number): Promise<StepResult> {
  const begin = performance.now();
  const most = Math.min(own, left);
  const { found, error, notHere, gone = 'gone' } = await inProcess(name, most);
  const seconds = (performance.now() - begin) / 1000;
  const about = { step: name, claim, seconds };
  if (notHere !== undefined) return { ...about, outcome: 'not run', reason: notHere };
  if (error) return { ...about, outcome: 'failed', reason: inWords(error) };
  if (!found) return { ...about, outcome: 'failed', reason: gone };
  const due = found.expectations ?? [];
  const missed = due.filter(({ isMet }) => !isMet).length;
  if (missed === 0) return { ...about, outcome: 'passed', ...found };
  const told = `${missed} of ${due.length} expectations ${missed === 1 ? 'is' : 'are'} not met`;
  return { ...about, outcome: 'failed', reason: told, ...found };
}

/** That it ran is all that a double can say. */
function withoutFigures({ step, claim, outcome, seconds, reason, facts, expectations }: StepResult): StepResult {
  if (!facts) return { step, claim, outcome, seconds, ...(reason === undefined ? {} : { reason }) };
  return { step, claim, outcome: 'dry', seconds, reason: `${expectations?.length ?? 0} expectations, not judged` };
}

/**
 * A step may hang in native code: it gets a process group of its own, which is ended when its time is over, or when somebody interrupts the checks.
 */
function inProcess(step: string, seconds: number): Promise<Told> {
  const child = fork(process.argv[1] as string, ['step', step, String(seconds)], { detached: true });
  const endAll = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // There is none any more.
    }
  };
  const interrupt = (signal: (typeof interruptions)[number]) => {
    endAll();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of interruptions) process.once(signal, interrupt);
  const late = `not done after ${Math.ceil(seconds)} seconds`;
  return new Promise((resolve) => {
    let told: Told = {};
    let isLate = false;
    const settle = (gone: string) => {
      clearTimeout(timer);
      for (const signal of interruptions) process.off(signal, interrupt);
      // Processes that it started and left behind would hold memory of the GPU.
      endAll();
      resolve({ gone, ...told });
    };
    const giveUp = () => {
      child.disconnect();
      child.unref();
      settle(`${late}, and its process cannot be ended: it hangs in the driver`);
    };
    let timer = setTimeout(() => {
      isLate = true;
      endAll();
      timer = setTimeout(giveUp, secondsToDie * 1000);
    }, seconds * 1000);
    child.on('message', (message) => {
      told = message as Told;
    });
    child.on('close', (code, signal) => {
      const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
      settle(isLate ? late : `its process ${how} before it reported`);
    });
  });
}
