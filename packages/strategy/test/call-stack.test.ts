import '@coll/native/register';
import '@coll/ring/register';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import type { Arrays, CalledFunctions, Hop } from './fixtures/call-stack.js';
import { replica } from './fixtures/call-stack-replica.js';
import { runWorkers } from './worker-processes.js';

const page = readFileSync(path.join(process.cwd(), 'docs/internals/call-path.md'), 'utf8');

/** The functions that the documentation lists under a heading. */
function documented(heading: string): Hop[] {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const [list = ''] = section.split('\n#');
  return Array.from(list.matchAll(/^\d+\. `(?<name>[^`]+)`[^(]*\(`(?<file>[^`]+)`\)/gm), ({ groups }) => [
    groups?.['name'] as string,
    groups?.['file'] as string,
  ]);
}

// Arrays of up to 64 KiB are copied, larger ones are passed to the engine.
const [small, large] = [4, 2 ** 20];
const kinds: readonly Arrays[] = ['known', small, large];

interface Called {
  readonly known: CalledFunctions;
  readonly small: CalledFunctions;
  readonly large: CalledFunctions;
}

/** What the first local replica has counted, and the stack of the last one, which performs the call. */
function calledIn(texts: readonly unknown[]): Called {
  const [first, last] = [texts[0], texts.at(-1)].map((text) => JSON.parse(String(text)) as readonly CalledFunctions[]);
  const [known, small, large] = (first as readonly CalledFunctions[]).map(({ entered }, index) => ({
    entered,
    hops: last?.[index]?.hops ?? [],
  })) as unknown as [CalledFunctions, CalledFunctions, CalledFunctions];
  return { known, small, large };
}

async function found(module: typeof replica | URL): Promise<Called> {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: 'ring' });
  const results = await strategy.run(module as typeof replica, { args: kinds as Arrays[] });
  return calledIn(strategy.experimentalLocalResults(results));
}

const here = found(replica);
const inThreads = found(new URL('./fixtures/call-stack-replica.js', import.meta.url));
const inProcesses = foundInProcesses();

describe('the functions between an all-reduce of a replica and the engine', () => {
  it('are the documented functions for replicas in one thread', async () => {
    const { hops } = (await here).known;
    expect(hops).toEqual(documented('In one thread'));
    expect(hops.length).toBeLessThanOrEqual(9);
  });

  it('are the documented functions for replicas in worker threads', async () => {
    const { hops } = (await inThreads).known;
    expect(hops).toEqual(documented('In worker threads'));
    expect(hops.length).toBeLessThanOrEqual(6);
  });

  it('are the documented functions for processes, including the choice by size', async () => {
    const { hops } = (await inProcesses).known;
    expect(hops).toEqual(documented('Between processes'));
    expect(hops.length).toBeLessThanOrEqual(11);
  });
});

describe('an all-reduce of new arrays', () => {
  it.each([
    ['in one thread', here],
    ['in worker threads', inThreads],
    ['between processes', inProcesses],
  ] as const)('calls the documented functions, as many as documented at most, %s', async (where, finding) => {
    const { known, small, large } = await finding;
    // A small new array is copied to known memory.
    expect(small.hops).toEqual(known.hops);
    expect(large.hops).toEqual(documented(`New arrays, ${where}`));
    const most = mostEntered(where);
    for (const [index, { entered }] of [known, small, large].entries()) {
      expect(entered).toBeLessThanOrEqual(most[index] as number);
      // A ceiling that is too high guards nothing.
      expect(entered).toBeGreaterThan((most[index] as number) - 10);
    }
  });
});

/** The ceilings that the documentation states: functions entered for known, small new and large new arrays. */
function mostEntered(where: string): readonly number[] {
  const row = new RegExp(`^\\| ${where} \\|(?<cells>.*)\\|$`, 'm').exec(page)?.groups?.['cells'];
  return (row ?? '').split('|').map(Number);
}

async function foundInProcesses(): Promise<Called> {
  const ends = await runWorkers('call-stack-worker.js', 2, [JSON.stringify(kinds)]);
  expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ]);
  return calledIn([ends[0]?.stdout]);
}
