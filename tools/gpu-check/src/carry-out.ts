import { reportIn } from './report.js';
import { runSteps } from './run-steps.js';
import { NotHere, type Step } from './step.js';

/** The time limit of all steps together. Machines with a GPU are often available for minutes only. */
const usualSeconds = 460;

/**
 * Runs the checks. `[--doubles] [folder]` runs all steps and writes a dated report. `step NAME SECONDS` and
 * `rank NAME RANK STORE` are the arguments of its own child processes. With `--doubles`, benchmarks also
 * run on test doubles, and their figures are dropped.
 */
export async function carryOut(
  steps: Readonly<Record<string, Step>>,
  args: readonly string[],
  mostSeconds = usualSeconds,
): Promise<void> {
  const [command = '', name = '', number = '', store = ''] = args;
  const step = steps[name] as Step;
  if (command === 'step') return answer(async () => ({ found: await step.run(Number(number)) }));
  if (command === 'rank') return answer(async () => ({ facts: await step.rank?.(Number(number), store) }));
  const isDry = command === '--doubles';
  if (command.startsWith('-') && !isDry) {
    console.error('usage: gpu-check.mjs [--doubles] [folder for the report]');
    process.exitCode = 2;
    return;
  }
  const keep = reportIn((isDry ? name : command) || 'docs/gpu');
  const results = await runSteps(steps, { isDry, mostSeconds, keep });
  const counted = (wanted: string) => results.filter(({ outcome }) => outcome === wanted).length;
  console.log(`${counted('passed')} passed, ${counted('failed')} failed, ${counted('not run')} not run`);
  process.exitCode = counted('failed') > 0 ? 1 : 0;
}

/** Sends the result to the parent process, and exits. */
async function answer(run: () => Promise<object>): Promise<void> {
  const message = await run().catch((failure: Error & { code?: string }) => {
    const { name, code, message: words } = failure;
    return failure instanceof NotHere ? { notHere: words } : { error: { name, code, message: words } };
  });
  process.send?.(message, () => process.exit());
}
