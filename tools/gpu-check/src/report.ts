import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { probe } from '@coll/nccl';
import type { StepResult } from './step.js';

/** Prints a line for a step, and a line for each of its expectations. */
export function print({ step, outcome, seconds, reason = '', expectations = [] }: StepResult): void {
  console.log(`${outcome.padEnd(7)} ${step.padEnd(20)} ${seconds.toFixed(1).padStart(6)} s  ${reason}`.trimEnd());
  for (const { what, figure, bound, limit, unit, isMet } of expectations)
    console.log(`  ${isMet ? 'met   ' : 'MISSED'} ${what}: ${figure} ${unit}, due: ${bound} ${limit}`);
}

/**
 * Makes a function that writes the report file, and is called after each step. The file is named after the
 * date and the GPU or test double.
 */
export function reportIn(folder: string): (results: readonly StepResult[]) => void {
  const { isDouble, driver, nccl, devices } = probe();
  const backend = isDouble ? 'test double (no GPU)' : (devices[0]?.name ?? 'no GPU');
  const date = new Date().toISOString();
  const file = path.join(folder, `${date.slice(0, 10)}-${isDouble ? 'double' : slug(backend)}.json`);
  mkdirSync(folder, { recursive: true });
  console.log(`backend: ${backend}\nreport: ${file}`);
  return (results) => {
    const report = { date, backend, isDouble, driver, nccl, devices, results };
    writeFileSync(file, `${JSON.stringify(report, undefined, 2)}\n`);
  };
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
