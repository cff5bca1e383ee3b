import { appendFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { MeasureRequest } from '../arguments.js';
import { sessionsFor, settingsOf, tell, warnOfLoad } from '../measure-cases.js';
import { caseRowOf } from '../report/row.js';
import { buildOfCommit } from './commit-build.js';
import { compareBuilds } from './compare-builds.js';
import { type ComparedRow, comparisonTables } from './report.js';

const root = path.resolve(import.meta.dirname, '../../../..');
// The compiled program is part of a build.
const ownBuild = path.resolve(import.meta.dirname, '..');

/** Compares this checkout with the build of a commit, and prints the result. @throws UsageError, Error */
export async function measureAgainst(request: MeasureRequest, commit: string): Promise<void> {
  const { format, out } = request;
  const builds = { before: buildOfCommit(commit, root, tell), after: ownBuild };
  const settings = settingsOf(request);
  const { machine } = settings;
  if (out !== undefined) writeFileSync(out, '');
  const rows: ComparedRow[] = [];
  for (const session of sessionsFor(request)) {
    for await (const { trial, foreignLoad, outcome } of compareBuilds(session, builds, settings)) {
      const row: ComparedRow = { ...caseRowOf(trial, { machine, foreignLoad }), ...outcome };
      rows.push(row);
      const line = `${JSON.stringify(row)}\n`;
      if (format === 'json') process.stdout.write(line);
      if (out !== undefined) appendFileSync(out, line);
    }
  }
  if (format === 'table') process.stdout.write(`${comparisonTables(rows, commit)}\n`);
  warnOfLoad(rows);
}
