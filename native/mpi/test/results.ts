import { deserialize } from 'node:v8';
import { expect } from 'vitest';
import { type Launcher, run } from './launchers.ts';

/** The results that the ranks of a job have printed (`fixtures/tell.ts`), by rank. */
export async function resultsOf(
  launcher: Launcher,
  size: number,
  program: readonly string[],
): Promise<readonly unknown[]> {
  const { code, lines, errors } = await run(launcher, size, program);
  expect(code, errors).toBe(0);
  const results = lines.flatMap((line) => {
    const [, encoded] = /^result (\S+)/.exec(line) ?? [];
    return encoded ? [deserialize(Buffer.from(encoded, 'base64')) as [rank: number, result: unknown]] : [];
  });
  return results.sort(([one], [other]) => one - other).map(([, result]) => result);
}
