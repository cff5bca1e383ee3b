import { createHash } from 'node:crypto';
import { CollError, setLogSink } from '@coll/core';
import { experimentalSetStrategy } from '@coll/strategy';
import { describe, expect, it } from 'vitest';
import { Random } from '../../packages/processes/test/faults/random.ts';
import { DrawnValues, shown } from './drawn-values.ts';
import { type PublicCall, publicCalls, sensible } from './public-calls.ts';

const callsPerFunction = process.env['COLL_TESTS'] === 'rest' ? 200 : 20;

/** The untyped errors of a function that is called with drawn arguments. The arguments are the same in each run. */
async function bareErrors({ name, parameters, example, call }: PublicCall): Promise<string[]> {
  const found: string[] = [];
  const random = new Random(createHash('sha256').update(name).digest().readUInt32LE());
  const values = new DrawnValues(random, sensible);
  for (let count = 0; count < callsPerFunction; count++) {
    setLogSink(() => {});
    experimentalSetStrategy(null);
    const args = example && random.next() < 0.7 ? values.spoilt(example()) : values.list(parameters);
    const collect = (error: unknown) => {
      if (error instanceof CollError) return;
      const words = error instanceof Error ? error.stack : shown(error);
      found.push(`${name}(${args.map((arg) => shown(arg)).join(', ')}) throws ${words}`);
    };
    try {
      const result = call(args);
      if (result instanceof Promise) result.catch(collect);
      else if (typeof result === 'object' && result !== null) endOf(result);
    } catch (error) {
      collect(error);
    }
  }
  // By then, calls that wait for nothing have ended. Calls that wait for other members never end.
  await new Promise((resolve) => setImmediate(resolve));
  return found;
}

/** Leaves a scope that a call has entered. */
function endOf(result: Partial<Disposable>): void {
  result[Symbol.dispose]?.();
}

describe.each([...new Set(publicCalls.map(({ folder }) => folder))])('@coll/%s', (folder) => {
  it.each(publicCalls.filter((call) => call.folder === folder))(
    '$name refuses invalid arguments with a CollError',
    async (call) => {
      expect(await bareErrors(call)).toEqual([]);
    },
  );
});
