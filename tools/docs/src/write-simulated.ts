import { parseArgs } from 'node:util';
import { casesAmong } from './catalogue.ts';
import { readRows, writeRows } from './json-lines.ts';
import { priceOf } from './prices/price-rows.ts';
import { largestDifference } from './simulation/comparison.ts';
import { installSimgrid } from './simulation/install.ts';
import { type SimulatedRow, simulatedRanks, simulatedRow } from './simulation/simulated-rows.ts';

try {
  const { values } = parseArgs({
    options: {
      install: { type: 'boolean' },
      anew: { type: 'boolean' },
      ranks: { type: 'string' },
      algorithm: { type: 'string' },
    },
  });
  if (values.install) installSimgrid();
  if (values.ranks === undefined) recordAll(values.anew ? [] : readRows('simulated'));
  else compare(Number(values.ranks), values.algorithm);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 2;
}

/**
 * Simulates all cases that have changed. Each row is written at once, because large groups take long and
 * the program may be interrupted.
 */
function recordAll(known: readonly SimulatedRow[]): void {
  const rows: SimulatedRow[] = [];
  for (const each of casesAmong(simulatedRanks)) {
    rows.push(simulatedRow(each, known));
    const isLeft = ({ fingerprint }: SimulatedRow) => !rows.some((row) => row.fingerprint === fingerprint);
    writeRows('simulated', [...rows, ...known.filter(isLeft)]);
  }
}

/** Compares `cost` with the simulator for one size of groups, and prints the result without recording it. */
function compare(ranks: number, algorithm?: string): void {
  for (const each of casesAmong([ranks])) {
    if (algorithm !== undefined && each.name !== algorithm) continue;
    const comparison = { simulated: simulatedRow(each), priced: priceOf(each).seconds };
    const percent = (largestDifference(comparison) * 100).toFixed(3);
    console.log(
      `${each.setting.name} ${each.name} with ${ranks} ranks: cost and SimGrid differ by at most ${percent} %`,
    );
  }
}
