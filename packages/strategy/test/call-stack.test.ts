import '@coll/native/register';
import '@coll/ring/register';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { MirroredStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import type { Hop } from './fixtures/call-stack.js';
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

/** What the last local replica, which performs the call, has found. */
async function found(module: typeof replica | URL): Promise<readonly Hop[]> {
  await using strategy = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'], crossDeviceOps: 'ring' });
  const results = strategy.experimentalLocalResults(await strategy.run(module as typeof replica));
  return JSON.parse(String(results.at(-1))) as readonly Hop[];
}

describe('the functions between an all-reduce of a replica and the engine', () => {
  it('are the documented functions for replicas in one thread', async () => {
    const hops = await found(replica);
    expect(hops).toEqual(documented('In one thread'));
    expect(hops.length).toBeLessThanOrEqual(9);
  });

  it('are the documented functions for replicas in worker threads', async () => {
    const hops = await found(new URL('./fixtures/call-stack-replica.js', import.meta.url));
    expect(hops).toEqual(documented('In worker threads'));
    expect(hops.length).toBeLessThanOrEqual(6);
  });

  it('are the documented functions for processes, including the choice by size', async () => {
    const ends = await runWorkers('call-stack-worker.js', 2, []);
    expect(ends.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const hops = JSON.parse(ends[0]?.stdout as string) as readonly Hop[];
    expect(hops).toEqual(documented('Between processes'));
    expect(hops.length).toBeLessThanOrEqual(11);
  });
});
