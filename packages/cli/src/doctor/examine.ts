import type { DoctorRequest } from '../arguments.js';
import { checks } from './checks.js';
import { type Line, linesOf } from './line.js';
import { exitCodeOf, jsonOf, reportOf, textOf } from './report.js';

/** Prints what coll finds in this folder and on this machine. Returns the exit code. */
export async function examine({ isJson, isStrict }: DoctorRequest): Promise<number> {
  const place = { folder: process.cwd(), environment: process.env };
  const lines: Line[] = [];
  // One after the other, because some measure.
  for (const check of checks) lines.push(...(await linesOf(check, place)));
  const report = reportOf(lines);
  const isColoured = process.stdout.isTTY && process.stdout.getColorDepth() > 1;
  process.stdout.write(`${isJson ? jsonOf(report) : textOf(report, isColoured)}\n`);
  return exitCodeOf(report, isStrict);
}
