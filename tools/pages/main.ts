// Measures a MirroredStrategy in pages, and beside them in Node.js.
import { parseArgs } from 'node:util';
import { tolerableLoad } from '../bench/src/foreign-load.js';
import { measure } from './measure.ts';
import { speedTables, writeFigures } from './table.ts';

const usage = `npm run pages -- [options]

Measures all-reduces and a training of two replicas in a page, in Chromium and Firefox if /usr/bin/chromium and
/usr/bin/firefox-esr are there, and in Node.js, in turn, and the sizes of bundles. Prints tables in Markdown. Takes less than
two minutes.

  --quick  one short round, in which times mean little
  --json   prints one line of JSON instead
  --docs   also writes docs/figures/pages.jsonl, and the tables of docs/guides/pages.md, if other programs used at most 5 % of
           the machine; not with --quick`;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit();
}
if (values.docs && values.quick) fail('--docs needs all rounds: omit --quick', 2);

const figures = await measure(values.quick);
console.log(values.json ? JSON.stringify(figures) : speedTables(figures));
if (figures.places.some(({ hasSameWeights }) => !hasSameWeights)) fail('some replicas ended with other weights', 1);
const { foreignLoad = 0 } = figures;
if (values.docs && foreignLoad > tolerableLoad)
  fail(`other programs used ${Math.round(100 * foreignLoad)} % of the machine: end them, and measure again`, 1);
if (values.docs) writeFigures(figures);

function fail(message: string, code: number): never {
  console.error(message);
  process.exit(code);
}
