import { casesAmong } from '../catalogue.ts';
import { readRows } from '../json-lines.ts';
import { type PriceRow, priceOf } from '../prices/price-rows.ts';
import { presentFingerprint, type SimulatedRow, simulatedRanks } from './simulated-rows.ts';

/** The checked-in times of the simulator for a case, and the times that `cost` computes. */
export interface Comparison {
  readonly simulated: SimulatedRow;
  readonly priced: PriceRow['seconds'];
}

/** The comparisons of all cases. @throws Error if the checked-in rows lack a case, or are about a different schedule */
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

/** The largest difference between the two, as a share of the simulated time. */
export function largestDifference({ simulated, priced }: Comparison): number {
  const differences = simulated.seconds.flatMap((byBuffer, network) =>
    byBuffer.map((seconds, buffer) => Math.abs((priced[network]?.[buffer] ?? Number.NaN) / seconds - 1)),
  );
  return Math.max(...differences);
}
