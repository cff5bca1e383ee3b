import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { Launcher } from '../launcher.ts';
import { describe, type Fault, faults, type Mode } from './fault.ts';
import { availableModes } from './run-fault.ts';
import { type Finding, traceFaults } from './trace-faults.ts';

// npm run faults -- --trace --seeds 500 --first 0 --write, and --mode threads for some jobs only. --keep keeps the records.

const { values } = parseArgs({
  options: {
    trace: { type: 'boolean' },
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    mode: { type: 'string' },
    jobs: { type: 'string', default: '4' },
    keep: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
});
const modes = availableModes().filter((mode) => mode === (values.mode ?? mode));
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => Number(values.first) + index);
const launcher = new Launcher();
await launcher.build([path.join(import.meta.dirname, 'rank.ts')]);
const findings: Finding[] = [];
try {
  const options = { atOnce: Number(values.jobs), keep: values.keep };
  for await (const finding of traceFaults(launcher, seeds, modes, options)) {
    findings.push(finding);
    const { scenario, isFound, isUnjust, sentence } = finding;
    const mark = isUnjust ? 'WRONG ' : isFound ? '' : 'MISSED ';
    console.log(`${mark}${describe(scenario)}\n  ${sentence}`);
  }
} finally {
  launcher.remove();
}
console.log(`\n${tableOf(findings)}`);
if (values.write) {
  const page = path.resolve(import.meta.dirname, '../../../../docs/explanation/failure-model.md');
  const marks = /(<!-- traced -->\n)[\s\S]*(\n<!-- \/traced -->)/;
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(marks, (_, begin, end) => `${begin}\n${tableOf(findings)}\n${end}`),
  );
}

/** Share of the jobs whose guilty rank was named, and of those in which an innocent one was, by fault and way of running. */
function tableOf(all: readonly Finding[]): string {
  const row = (name: string, some: readonly Finding[]) => {
    const share = (count: number) => `${((100 * count) / some.length).toFixed(1)} %`;
    const found = some.filter(({ isFound }) => isFound).length;
    const unjust = some.filter(({ isUnjust }) => isUnjust).length;
    return `| ${name} | ${some.length} | ${share(found)} | ${share(unjust)} |`;
  };
  const groups: [string, readonly Finding[]][] = [
    ...(Object.keys(faults) as Fault[]).map((fault): [string, readonly Finding[]] => [
      faults[fault],
      all.filter(({ scenario }) => scenario.fault === fault),
    ]),
    ...modes.map((mode: Mode): [string, readonly Finding[]] => [
      `in ${mode}`,
      all.filter(({ scenario }) => scenario.mode === mode),
    ]),
    ['all', all],
  ];
  const rows = groups.filter(([, some]) => some.length > 0).map(([name, some]) => row(name, some));
  return [
    '| fault of a rank | jobs | the rank is named | another rank is named |',
    '| --- | ---: | ---: | ---: |',
    ...rows,
  ].join('\n');
}
