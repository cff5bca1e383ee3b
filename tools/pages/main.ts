// Measures a MirroredStrategy in pages, and beside them in Node.js.
import { parseArgs } from 'node:util';
import { measure } from './measure.ts';
import { speedTables, writeFigures } from './table.ts';

const usage = `npm run pages -- [options]

Measures all-reduces and a training of two replicas in a page, in Chromium and Firefox if /usr/bin/chromium and
/usr/bin/firefox-esr are there, and in Node.js, in turn, and the sizes of bundles. Prints tables in Markdown. Takes less than
two minutes.

  --quick  one short round, in which times mean little
  --json   prints one line of JSON instead
  --docs   also writes docs/figures/pages.jsonl, and the tables of docs/guides/pages.md`;

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
const figures = await measure(values.quick);
if (values.docs) writeFigures(figures);
console.log(values.json ? JSON.stringify(figures) : speedTables(figures));
if (figures.places.some(({ hasSameWeights }) => !hasSameWeights)) {
  console.error('some replicas ended with other weights');
  process.exitCode = 1;
}
