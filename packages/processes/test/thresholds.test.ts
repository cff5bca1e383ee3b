import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findCalibration, listOf, usualThresholds } from '@coll/native/addon';
import { MemoryStore } from '@coll/rendezvous';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type GroupExplanation, openProcessGroup } from '../src/index.js';
import { Members } from './members.js';

const sum = { kind: 'all-reduce', op: 'sum' } as const;
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-cache-'));
  vi.stubEnv('XDG_CACHE_HOME', folder);
  vi.stubEnv('COLL_THRESHOLDS', '');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Opens a group of two processes, checks its sums, and returns what each member explains. */
async function explained(): Promise<readonly GroupExplanation['calibration'][]> {
  await using members = await Members.start(2);
  await members.open({ transport: 'shared-memory' });
  for (const length of [1, 60, 256, 500, 5000, 300_000]) {
    const results = await Promise.all(members.all.map((member) => member.ask({ do: 'run', collective: sum, length })));
    for (const result of results) expect(result).toEqual(Array(Math.min(length, 4)).fill(3));
  }
  const all = await Promise.all(members.all.map((member) => member.ask<GroupExplanation>({ do: 'explain' })));
  return all.map(({ calibration }) => calibration);
}

it('two processes use the thresholds that are cached for this machine', async () => {
  const thresholds = { ...usualThresholds, smallBytes: 256, blockBytes: 65536 };
  const { detail } = findCalibration({ measure: () => listOf(thresholds), mayMeasure: true });
  const [first, second] = await explained();
  expect(first).toEqual({ thresholds, source: 'measured', detail });
  expect(second).toEqual(first);
});

it('rank 0 measures a machine that is not cached, and both processes use its result', async () => {
  const [first, second] = await explained();
  expect(second).toEqual(first);
  // A machine that is busy with other tests is not measured.
  expect(['measured', 'usual']).toContain(first?.source);
  const kept = first?.source === 'measured' ? 1 : 0;
  expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).endsWith('.json'))).toHaveLength(kept);
});

it('COLL_THRESHOLDS states the thresholds of two processes', async () => {
  vi.stubEnv('COLL_THRESHOLDS', 'smallBytes=64,streamedBytes=4096');
  const [first, second] = await explained();
  expect(first).toMatchObject({ source: 'COLL_THRESHOLDS', thresholds: { smallBytes: 64, streamedBytes: 4096 } });
  expect(second).toEqual(first);
});

it('a value of COLL_THRESHOLDS that is not valid is refused before the store is used', async () => {
  vi.stubEnv('COLL_THRESHOLDS', 'smallBytes=9999');
  const store = new MemoryStore();
  const use = vi.spyOn(store, 'set');
  const opening = openProcessGroup({ store, rank: 1, size: 2, jobKey: 'tests-only-4kQz9XvB7mLwR2' });
  await expect(opening).rejects.toMatchObject({ name: 'ValueError', code: 'ERR_COLL_VALUE' });
  expect(use).not.toHaveBeenCalled();
});
