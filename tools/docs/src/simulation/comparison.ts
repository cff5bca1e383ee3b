import { casesAmong } from '../catalogue.ts';
import { readRows } from '../json-lines.ts';
import { type PriceRow, priceOf } from '../prices/price-rows.ts';
import { presentFingerprint, type SimulatedRow, simulatedRanks } from './simulated-rows.ts';

/** What the simulator said, as far as it is checked in and about schedules as they are, with what `cost` says. */
export interface Comparison {
  readonly simulated: SimulatedRow;
  readonly priced: PriceRow['seconds'];
}

/** All that should have been simulated. @throws Error where the checked-in rows lack something, or are about other schedules */
export function comparisons(): Comparison[] {
  const rows = readRows<SimulatedRow>('simulated');
  return [...casesAmong(simulatedRanks)].map((each) => {
    const { setting, name, ranks } = each;
    const simulated = rows.find((row) => row.setting === setting.name && row.algorithm === name && row.ranks === ranks);
    if (simulated?.fingerprint !== presentFingerprint(each)) {
      throw new Error(`${name}, ${setting.name}, ${ranks} ranks: simulate again, npm run simulate -w @coll/docs`);
    }
    return { simulated, priced: priceOf(each).seconds };
  });
}

/** By how much the two differ at most, as a share of what is simulated. */
export function largestDifference({ simulated, priced }: Comparison): number {
  const differences = simulated.seconds.flatMap((byBuffer, network) =>
    byBuffer.map((seconds, buffer) => Math.abs((priced[network]?.[buffer] ?? Number.NaN) / seconds - 1)),
  );
  return Math.max(...differences);
}
