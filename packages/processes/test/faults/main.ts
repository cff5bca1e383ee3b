import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { injectFaults } from './inject-faults.ts';
import { describeScenario, type Scenario, scenarioOf } from './scenario.ts';
import { tableOf, withTable } from './table.ts';

// npm run faults -- --seeds 200 --first 0 --write; --transport tcp or --fault kill for some of them
// only; --encrypt always for all of them over encrypted connections

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    transport: { type: 'string' },
    fault: { type: 'string' },
    encrypt: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const first = Number(values.first);
const seeds = Array.from({ length: Number(values.seeds) }, (_, index) => first + index).filter((seed) => {
  const { transport, fault } = scenarioOf(seed);
  return transport === (values.transport ?? transport) && fault === (values.fault ?? fault);
});

const findings = [];
for await (const finding of injectFaults(seeds, { encrypt: values.encrypt as Scenario['encrypt'] | undefined })) {
  findings.push(finding);
  const { scenario, problems, millis } = finding;
  const slowest = millis.length > 0 ? `, seen within ${Math.max(...millis).toFixed(1)} ms` : '';
  console.log(`${describeScenario(scenario)}${slowest}`);
  for (const problem of problems) console.log(`  WRONG: ${problem}`);
}

const wrong = findings.filter(({ problems }) => problems.length > 0);
console.log(`\n${tableOf(findings)}\n`);
console.log(`${findings.length} scenarios, ${wrong.length} of them with problems`);
if (values.write) {
  const page = path.resolve(import.meta.dirname, '../../../../docs/explanation/failure-model.md');
  writeFileSync(page, withTable(readFileSync(page, 'utf8'), findings));
}
process.exitCode = wrong.length > 0 ? 1 : 0;
