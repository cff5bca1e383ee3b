import { parseArgs } from 'node:util';
import { type Alteration, alterBit } from './alter-bit.ts';

// npm run faults -- --altered --seeds 1000 --first 0 --at-once 4

const { values } = parseArgs({
  options: {
    altered: { type: 'boolean', default: true },
    seeds: { type: 'string', default: '200' },
    first: { type: 'string', default: '0' },
    'at-once': { type: 'string', default: '4' },
  },
});
const first = Number(values.first);
const waiting = Array.from({ length: Number(values.seeds) }, (_, index) => first + index);
const found: Alteration[] = [];

async function work(): Promise<void> {
  for (let seed = waiting.shift(); seed !== undefined; seed = waiting.shift()) {
    const alteration = await alterBit(seed);
    found.push(alteration);
    for (const problem of alteration.problems) console.log(`seed ${seed}: WRONG: ${problem}`);
    if (alteration.outcome === 'error on one rank') console.log(`seed ${seed}: ${alteration.outcome}`);
    if (found.length % 50 === 0) console.log(`${found.length} groups: ${summary()}`);
  }
}

function summary(): string {
  const counts = new Map<string, number>();
  for (const { outcome } of found) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  const parts = [...counts].sort().map(([outcome, count]) => `${outcome}: ${count}`);
  return parts.join(', ');
}

await Promise.all(Array.from({ length: Number(values['at-once']) }, work));
const wrong = found.filter(({ problems }) => problems.length > 0);
console.log(`\n${found.length} groups, one changed bit each: ${summary()}; ${wrong.length} with problems`);
process.exitCode = wrong.length > 0 ? 1 : 0;
