import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Launcher } from './launcher.ts';
import { describe } from './traced-faults/fault.ts';
import { availableModes } from './traced-faults/run-fault.ts';
import { type Finding, traceFaults } from './traced-faults/trace-faults.ts';

const launcher = new Launcher();
beforeAll(() => launcher.build([path.join(import.meta.dirname, 'traced-faults/rank.ts')]));
afterAll(() => launcher.remove());

const seeds = Array.from({ length: 48 }, (_, seed) => seed);

it('the records of a job name the rank that went wrong, and no other', async () => {
  const findings: Finding[] = [];
  for await (const finding of traceFaults(launcher, seeds, availableModes())) findings.push(finding);
  const texts = (some: readonly Finding[]) =>
    some.map(({ scenario, sentence }) => `${describe(scenario)}: ${sentence}`);
  const unjust = findings.filter(({ isUnjust }) => isUnjust);
  const missed = findings.filter(({ isFound }) => !isFound);
  expect(texts(unjust)).toEqual([]);
  // The published share is measured over more jobs.
  expect(missed.length, texts(missed).join('\n')).toBeLessThanOrEqual(1);
});
