import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { CollError } from '@coll/core';
import { MirroredStrategy } from '@coll/strategy';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const fixture = (name: string) => new URL(`./fixtures/${name}`, import.meta.url);
const one = new MirroredStrategy({ devices: ['cpu:0'] });
const two = new MirroredStrategy({ devices: ['cpu:0', 'cpu:1'] });
const text = (source: string) => new URL(`data:text/javascript,${encodeURIComponent(source)}`);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'coll-modules-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** A module outside of the repository. */
function written(name: string, source: string): URL {
  const file = path.join(folder, name);
  writeFileSync(file, source);
  return pathToFileURL(file);
}

describe('a replica module', () => {
  it('may be TypeScript that imports further TypeScript', async () => {
    expect(two.experimentalLocalResults(await two.run(fixture('typed.ts'), { args: [20] }))).toEqual([40, 41]);
  });

  it('may be TypeScript outside any project with a loader', async () => {
    const module = written('typed.mts', 'export default (replica: unknown, value: number): number => value + 1;');
    expect(await one.run(module, { args: [1] })).toBe(2);
  });

  it('may be CommonJS, or a data URL', async () => {
    expect(await one.run(fixture('common.cjs'))).toBe('common 0');
    expect(await one.run(text('export default (replica, x) => x + 1'), { args: [1] })).toBe(2);
  });

  it('exports `default`, or else `replica`, or the requested name', async () => {
    const module = text(
      'export default () => "default"; export const replica = () => "replica"; export const other = () => "other"',
    );
    expect(await one.run(module)).toBe('default');
    expect(await one.run(module, { exportName: 'other' })).toBe('other');
    expect(await one.run(text('export default 5; export const replica = () => "replica"'))).toBe('replica');
  });

  it('has its replica context at its top level too', async () => {
    expect(await one.run(fixture('top-level.mjs'))).toBe(true);
  });

  it('cannot set a strategy at its top level, which runs inside a replica', async () => {
    expect(await one.run(fixture('sets-strategy.mjs'))).toEqual({
      name: 'RuntimeError',
      code: 'ERR_COLL_CONTEXT',
      message: 'experimentalSetStrategy must not be called inside a strategy scope or a replica',
    });
  });

  it.each([
    [undefined, /exports no function called default or replica: export default async function/],
    ['train', /exports no function called train/],
    ['answer', /exports no function called answer/],
  ])('that does not export %s is refused', async (exportName, message) => {
    const failing = one.run(text('export const answer = 42'), exportName === undefined ? {} : { exportName });
    await expect(failing).rejects.toBeInstanceOf(CollError);
    await expect(failing).rejects.toMatchObject({
      code: 'ERR_COLL_MODULE',
      rank: 0,
      message: expect.stringMatching(message),
    });
  });

  it('that does not exist is refused', async () => {
    const failing = two.run(fixture('nowhere.mjs'));
    await expect(failing).rejects.toMatchObject({
      name: 'CollError',
      code: 'ERR_COLL_MODULE',
      message: expect.stringMatching(/^replica [01]: file:.*nowhere.mjs cannot be loaded .*: Cannot find module/),
      cause: { code: 'ERR_MODULE_NOT_FOUND' },
    });
  });

  it('that is not JavaScript is refused', async () => {
    const failing = one.run(written('broken.mjs', 'export default (replica) => replica..oops;'));
    await expect(failing).rejects.toBeInstanceOf(SyntaxError);
    await expect(failing).rejects.toThrow(/^replica 0: /);
  });

  it('that throws when it is imported fails the run', async () => {
    const failing = one.run(text('throw new RangeError("at the top")'));
    await expect(failing).rejects.toBeInstanceOf(RangeError);
    await expect(failing).rejects.toThrow(/^replica 0: at the top$/);
  });
});
