import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { deserialize } from 'node:v8';
import { memberSuite } from '@coll/testing';
import { describe, expect, it } from 'vitest';
import { type Launcher, launch, mpiruns } from './launchers.ts';

const program = fileURLToPath(new URL('./fixtures/scenario.ts', import.meta.url));

/** What each rank of a job has found, by rank. */
async function resultsOf(launcher: Launcher, scenario: string, size: number): Promise<readonly unknown[]> {
  const child = launch(launcher, size, [process.execPath, program, scenario]);
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout as NonNullable<typeof child.stdout>),
    text(child.stderr as NonNullable<typeof child.stderr>),
    once(child, 'close'),
  ]);
  expect(code, errors).toBe(0);
  const told = [...output.matchAll(/^result (\S+)/gm)].map(
    ([, encoded = '']) => deserialize(Buffer.from(encoded, 'base64')) as [rank: number, result: unknown],
  );
  return told.sort(([one], [other]) => one - other).map(([, result]) => result);
}

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))('under %s', (_, launcher) => {
  const test = it.skipIf(launcher.missing !== undefined);

  memberSuite({
    test,
    name: `ranks under ${launcher.name}`,
    sizes: [1, 3],
    run: (scenario, size) => resultsOf(launcher, scenario, size),
  });

  test('the plug-in makes ops over all ranks of the job', async () => {
    expect(await resultsOf(launcher, 'plug-in', 2)).toEqual([Float32Array.of(0.5, 1), Float32Array.of(0.5, 1)]);
  });
});
