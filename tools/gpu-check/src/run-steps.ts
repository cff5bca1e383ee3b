import { fork } from 'node:child_process';
import { constants } from 'node:os';
import { probe } from '@coll/nccl';
import { print } from './report.js';
import { type Findings, inWords, type ReportedError, type Step, type StepResult } from './step.js';

/** The message of a step's process. */
interface StepMessage {
  readonly found?: Findings;
  readonly notHere?: string;
  readonly error?: ReportedError;
  /** How the process ended, if it sent no message. */
  readonly gone?: string;
}

/** The longest wait after SIGKILL. Only a call that hangs in the driver keeps a process alive that long. */
const secondsToDie = 10;
const interruptions = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Options of a run. */
export interface Running {
  /** Run benchmarks on test doubles, too, and drop their figures. */
  readonly isDry: boolean;
  /** The time limit of all steps together. */
  readonly mostSeconds: number;
  /** Called with all results after each step. */
  readonly keep: (results: readonly StepResult[]) => void;
}

/**
 * Runs all steps one after another, each in its own process with its own time limit. If the first step
 * fails, the others do not run; any other failure stops nothing.
 */
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
  const words = `${missed} of ${due.length} expectations ${missed === 1 ? 'is' : 'are'} not met`;
  return { ...about, outcome: 'failed', reason: words, ...found };
}

/** The result of a benchmark on a test double: its figures are meaningless. */
function withoutFigures({ step, claim, outcome, seconds, reason, facts, expectations }: StepResult): StepResult {
  if (!facts) return { step, claim, outcome, seconds, ...(reason === undefined ? {} : { reason }) };
  return { step, claim, outcome: 'dry', seconds, reason: `${expectations?.length ?? 0} expectations, not judged` };
}

/**
 * Runs a step in its own process group, because native code may hang. The group is killed at the time
 * limit, or when the checks are interrupted.
 */
function inProcess(step: string, seconds: number): Promise<StepMessage> {
  const child = fork(process.argv[1] as string, ['step', step, String(seconds)], { detached: true });
  const endAll = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // The group has ended.
    }
  };
  const interrupt = (signal: (typeof interruptions)[number]) => {
    endAll();
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of interruptions) process.once(signal, interrupt);
  const late = `not done after ${Math.ceil(seconds)} seconds`;
  return new Promise((resolve) => {
    let last: StepMessage = {};
    let isLate = false;
    const settle = (gone: string) => {
      clearTimeout(timer);
      for (const signal of interruptions) process.off(signal, interrupt);
      // Processes that the step left behind would hold memory of the GPU.
      endAll();
      resolve({ gone, ...last });
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
      last = message as StepMessage;
    });
    child.on('close', (code, signal) => {
      const how = signal ? `was ended by ${signal}` : `ended with exit code ${code}`;
      settle(isLate ? late : `its process ${how} before it reported`);
    });
  });
}
