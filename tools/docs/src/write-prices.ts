import { writeRows } from './json-lines.ts';
import { type PriceRow, pricedRanks, priceRows } from './prices/price-rows.ts';

const rows: PriceRow[] = [];
for (const row of priceRows(pricedRanks)) {
  rows.push(row);
  process.stderr.write(`${row.setting} ${row.algorithm}: ${row.ranks} ranks\n`);
}
writeRows('prices', rows);
