import path from 'node:path';
import type { MeasureRequest } from '../arguments.js';
import { collect, note, sessionsFor, settingsOf, warnOfLoad } from '../measure-cases.js';
import { caseRowOf } from '../report/row.js';
import { buildOfCommit } from './commit-build.js';
import { compareBuilds } from './compare-builds.js';
import { type ComparedRow, comparisonTables } from './report.js';

const root = path.resolve(import.meta.dirname, '../../../..');
// The compiled program is part of a build.
const ownBuild = path.resolve(import.meta.dirname, '..');

/** Compares this checkout with the build of a commit, and prints the result. @throws UsageError, Error */
export async function measureAgainst(request: MeasureRequest, commit: string): Promise<void> {
  const rows = await collect(comparedRows(request, commit), request);
  if (request.format === 'table') process.stdout.write(`${comparisonTables(rows, commit)}\n`);
  warnOfLoad(rows);
}

async function* comparedRows(request: MeasureRequest, commit: string): AsyncGenerator<ComparedRow> {
  const builds = { before: buildOfCommit(commit, root, note), after: ownBuild };
  const settings = settingsOf(request);
  const { machine } = settings;
  for (const session of sessionsFor(request)) {
    for await (const { trial, foreignLoad, outcome } of compareBuilds(session, builds, settings))
      yield { ...caseRowOf(trial, { machine, foreignLoad }), ...outcome };
  }
}
