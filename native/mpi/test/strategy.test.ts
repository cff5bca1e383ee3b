// The programs of MultiWorkerMirroredStrategy's own tests: their workers find by MPI what they find by the transport of coll.
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Launcher, mpiruns, registered, run } from './launchers.ts';

const program = fileURLToPath(new URL('../../../packages/strategy/test/fixtures/worker.ts', import.meta.url));

type Found = Readonly<Record<string, unknown>>;

/** What each of two workers has printed, in any order. */
async function found(launcher: Launcher, scenario: readonly string[], env: Readonly<Record<string, string>>) {
  const { code, lines, errors } = await run(launcher, 2, [program, ...scenario], env);
  expect(code, errors).toBe(0);
  return lines.toSorted().map((line) => JSON.parse(line) as Found);
}

describe.each(mpiruns.map((launcher) => [launcher.name, launcher] as const))(
  'MultiWorkerMirroredStrategy under %s',
  (_, launcher) => {
    const test = it.skipIf(launcher.missing !== undefined);

    test.each([['variables'], ['numbers', '2'], ['blocking'], ['threads', '1'], ['threads', '2'], ['leaves']])(
      '%s %s: the same as by the transport of coll',
      async (...scenario) => {
        const withoutLinks = (each: Found) => ({ ...each, links: undefined });
        const byMpi = await found(launcher, scenario, registered);
        const own = await found(launcher, scenario, {});
        expect(byMpi.map(withoutLinks)).toEqual(own.map(withoutLinks));
        if (scenario[0] === 'variables') expect(byMpi.map(({ links }) => links)).toEqual([[[1, 'mpi']], [[0, 'mpi']]]);
      },
    );

    test.each(['differs', 'shapes', 'throws', 'throwsInThread'])(
      '%s: the same errors as by the transport of coll',
      async (scenario) => {
        const fields = ({ name, code, rank }: Found) => ({ name, code, rank });
        const byMpi = await found(launcher, [scenario], registered);
        const own = await found(launcher, [scenario], {});
        expect(byMpi.map(fields), JSON.stringify(byMpi)).toEqual(own.map(fields));
      },
    );
  },
);
