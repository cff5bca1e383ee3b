// Runs the tables of docs/reference/runtimes.md, and writes them.
import { execFileSync } from 'node:child_process';
import { constants } from 'node:os';
import { parseArgs } from 'node:util';
import { machineName, thisMachine } from '../bench/src/report/machine.js';
import { type ColumnRun, readRuns, writeRuns } from './page.ts';
import type { Outcome, Table, Workplace } from './table.ts';
import { tables } from './tables.ts';
import { openWorkplace } from './workplace.ts';

const usage = `npm run doors -- [options]

Installs each runtime, runs the programs of tools/doors/fixtures with the packed packages, and writes the tables of
docs/reference/runtimes.md. Exits with 1 if a program fails. Needs Linux x64 and the npm registry.

  --table NAME   only this table; may be given again
  --column NAME  only this column; may be given again
  --row TEXT     only rows that contain the text; prints them, and writes nothing
  --tarballs FOLDER  the packages that \`npm run pack\` has packed; default: packs them
  --drawn        one column of the first table, which the hash of the last commit determines; writes nothing, and exits with 1
                 if a cell differs from the page`;

const packages = ['strategy', 'direct', 'ring', 'reduction-to-one', 'processes', 'rendezvous', 'cli', 'jax-js', 'tfjs'];

const { values } = parseArgs({
  options: {
    table: { type: 'string', multiple: true },
    column: { type: 'string', multiple: true },
    row: { type: 'string' },
    tarballs: { type: 'string' },
    drawn: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log(usage);
  process.exit();
}
if (process.platform !== 'linux' || process.arch !== 'x64') fail('npm run doors needs Linux x64');

// A signal would end this process at once, without removing its folders.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]));

const wanted = wantedColumns();
if (wanted.length === 0) fail(`no table or column has this name: ${listOf(tables)}`);
const workplace = openWorkplace(values.tarballs ?? packages);
process.once('exit', () => workplace[Symbol.dispose]());

const runs: ColumnRun[] = [];
for (const { table, column } of wanted) runs.push(await runColumn(table, column, workplace));
const outcomes = runs.flatMap(({ cells }) => Object.values(cells));
const failed = outcomes.filter(({ result }) => result === 'failed').length;
const changed = values.drawn ? runs.flatMap(changesOf) : [];
for (const line of changed) console.log(line);
if (!values.drawn && values.row === undefined) writeRuns(runs, tables);
console.log(`${outcomes.length - failed} cells, ${failed} failed`);
// Also ends the registry, which would keep this process alive.
process.exit(failed + changed.length > 0 ? 1 : 0);

function wantedColumns(): { readonly table: Table; readonly column: string }[] {
  const isWanted = (names: readonly string[] | undefined, name: string) => names === undefined || names.includes(name);
  const named = tables.flatMap((table) => table.columns.map((column) => ({ table, column })));
  const chosen = named.filter(
    ({ table, column }) => isWanted(values.table, table.name) && isWanted(values.column, column),
  );
  if (!values.drawn) return chosen;
  const first = chosen.filter(({ table }) => table === chosen[0]?.table);
  const hash = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return first.slice(Number.parseInt(hash.slice(0, 8), 16) % first.length).slice(0, 1);
}

async function runColumn(table: Table, column: string, place: Workplace): Promise<ColumnRun> {
  const rows = table.rows.filter((row) => values.row === undefined || row.includes(values.row));
  const door = await table.open(column, place);
  console.log(`${column}, ${door.version}`);
  const cells: Record<string, Outcome> = {};
  for (const row of rows) {
    const begin = performance.now();
    const outcome = await door.run(row);
    cells[row] = outcome;
    const seconds = ((performance.now() - begin) / 1000).toFixed(1);
    console.log(
      `  ${seconds.padStart(5)} s  ${row}: ${[outcome.result, outcome.code, outcome.note].filter(Boolean).join(' ')}`,
    );
  }
  const machine = thisMachine();
  return {
    table: table.name,
    column,
    version: door.version,
    date: machine.date.slice(0, 10),
    machine: machineName(machine),
    cells,
  };
}

/** The cells that differ from the page. */
function changesOf({ table, column, cells }: ColumnRun): string[] {
  const known = readRuns().find((run) => run.table === table && run.column === column);
  const text = (outcome: Outcome | undefined) =>
    outcome ? [outcome.result, outcome.code].filter(Boolean).join(' ') : 'not run';
  return Object.entries(cells)
    .filter(([row, outcome]) => text(outcome) !== text(known?.cells[row]))
    .map(
      ([row, outcome]) =>
        `${column}, ${row}: ${text(outcome)}, but the page has ${text(known?.cells[row])}: npm run doors`,
    );
}

function listOf(all: readonly Table[]): string {
  return all.map(({ name, columns }) => `${name}: ${columns.join(', ')}`).join('; ');
}

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}
