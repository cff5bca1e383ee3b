import { fork } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { probe } from '@coll/nccl';
import type { Facts, Step, StepResult } from './step.js';
import { steps } from './steps.js';

/** `main [folder]` runs all steps and writes a dated report; `step NAME` and `rank NAME RANK STORE` are its own processes. */
const [command = 'docs/gpu', name = '', rank = '', store = ''] = process.argv.slice(2);

if (command === 'step') await answer(() => stepOf(name).run());
else if (command === 'rank') await answer(() => stepOf(name).rank?.(Number(rank), store) as Promise<Facts>);
else await report(command);

function stepOf(wanted: string): Step {
  return steps[wanted] as Step;
}

/** Tells the process that started this one what came of it, and ends. */
async function answer(run: () => Promise<Facts>): Promise<void> {
  const message = await run().then(
    (facts) => ({ facts }),
    ({ name: kind, code, message: told }: Error & { code?: string }) => ({
      error: { name: kind, code, message: told },
    }),
  );
  process.send?.(message, () => process.exit());
}

async function report(folder: string): Promise<void> {
  const { isDouble, driver, nccl, devices } = probe();
  const backend = isDouble ? 'test double (no GPU)' : (devices[0]?.name ?? 'no GPU');
  console.log(`backend: ${backend}`);
  const results: StepResult[] = [];
  for (const [step, definition] of Object.entries(steps)) {
    const hasProbed = results.length === 0 || results[0]?.outcome === 'passed';
    const result = hasProbed ? await run(step, definition, isDouble) : notRun(step, definition, 'the probe failed');
    results.push(result);
    const { outcome, seconds, reason = '' } = result;
    console.log(`${outcome.padEnd(7)} ${step.padEnd(18)} ${seconds.toFixed(1).padStart(6)} s  ${reason}`);
  }
  const date = new Date().toISOString();
  const file = path.join(folder, `${date.slice(0, 10)}-${isDouble ? 'double' : slug(backend)}.json`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${JSON.stringify({ date, backend, isDouble, driver, nccl, devices, results }, undefined, 2)}\n`);
  console.log(file);
  process.exitCode = results.some(({ outcome }) => outcome === 'failed') ? 1 : 0;
}

async function run(step: string, { claim, seconds: most, isBenchmark }: Step, isDouble: boolean): Promise<StepResult> {
  if (isBenchmark && isDouble) return notRun(step, stepOf(step), 'figures of a test double mean nothing');
  const begin = performance.now();
  const { facts, error } = await inProcess(step, most);
  const seconds = (performance.now() - begin) / 1000;
  if (facts) return { step, claim, outcome: 'passed', seconds, facts };
  return { step, claim, outcome: 'failed', seconds, reason: error ?? `not done after ${most} seconds, or gone` };
}

function notRun(step: string, { claim }: Step, reason: string): StepResult {
  return { step, claim, outcome: 'not run', seconds: 0, reason };
}

/** A step may hang in native code: it gets a process group of its own, which is ended when its time is over. */
function inProcess(step: string, seconds: number): Promise<{ readonly facts?: Facts; readonly error?: string }> {
  const child = fork(process.argv[1] as string, ['step', step], { detached: true });
  return new Promise((resolve) => {
    let told: { facts?: Facts; error?: string } = {};
    const end = () => process.kill(-(child.pid as number), 'SIGKILL');
    const timer = setTimeout(end, seconds * 1000);
    child.on('message', (message: { facts?: Facts; error?: Error & { code?: string } }) => {
      const { facts, error } = message;
      told = facts ? { facts } : { error: `${error?.name} ${error?.code ?? ''}: ${error?.message}` };
    });
    child.on('exit', () => {
      clearTimeout(timer);
      resolve(told);
    });
  });
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
