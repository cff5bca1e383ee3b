import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { setLogSink } from '@coll/core';
import { restoreCheckpoint, saveCheckpoint } from '@coll/tfjs/node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { memoryFolder } from '../../strategy/test/memory-folder.ts';
import { alone, plainState } from './fixtures/plain-state.ts';

const program = fileURLToPath(new URL('./fixtures/killed-save.js', import.meta.url));
let folder: string;

beforeAll(async () => {
  folder = await memoryFolder();
});

afterAll(async () => {
  setLogSink(undefined);
  await rm(folder, { recursive: true, force: true });
});

const namesIn = async (place: string) => (await readdir(place)).sort();

/** Saves step 3 in another process, which is killed at an operation. */
const save = (place: string, killAt: number) =>
  promisify(execFile)(process.execPath, [program, place, '3', String(killAt)]);

describe('a save', () => {
  it('that is killed at any file operation leaves the checkpoint before it or a whole new one', async () => {
    const before = path.join(folder, 'before');
    for (const step of [1, 2]) await saveCheckpoint(before, plainState(step), alone);
    const leftover = path.join(before, '.checkpoint-000003-0123abcd');
    await mkdir(leftover);
    await writeFile(path.join(leftover, 'weights.bin'), 'half');

    const whole = path.join(folder, 'whole');
    await cp(before, whole, { recursive: true });
    const operations = Number((await save(whole, 0)).stdout);
    expect(await namesIn(whole)).toEqual(['checkpoint-000002', 'checkpoint-000003']);
    expect(operations).toBeGreaterThan(20);

    const warnings: string[] = [];
    setLogSink((_, message) => warnings.push(message));
    const stepAfter = async (killAt: number) => {
      const place = path.join(folder, `killed at ${killAt}`);
      await cp(before, place, { recursive: true });
      await expect(save(place, killAt)).rejects.toMatchObject({ signal: 'SIGKILL' });
      const restored = plainState(0);
      const { step = 0 } = (await restoreCheckpoint(place, restored, alone)) ?? {};
      expect([2, 3], `killed at operation ${killAt}`).toContain(step);
      expect(new Set(restored.values)).toEqual(new Set([step]));
      // The next save removes what is left.
      await saveCheckpoint(place, plainState(4), alone, { keep: 1 });
      expect(await namesIn(place)).toEqual([`checkpoint-00000${step + 1}`]);
      return step;
    };
    const steps: number[] = [];
    for (let killAt = 1; killAt <= operations; killAt += 4) {
      const four = [0, 1, 2, 3].map((more) => killAt + more).filter((at) => at <= operations);
      steps.push(...(await Promise.all(four.map(stepAfter))));
    }
    expect(steps).toEqual(steps.toSorted());
    expect(new Set(steps)).toEqual(new Set([2, 3]));
    expect(warnings).toEqual([]);
  });
});
