import { expect, it } from 'vitest';
import { strategyOf } from '../../test/strategies.js';
import { getStrategy } from '../index.js';
import { requireModule } from './replica-code.js';

it.each(['./replica.js', undefined, {}])('requireReplicaCode refuses %j and names the operation', (code) => {
  const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'run' };
  expect(() => requireModule(code)).toThrow(expect.objectContaining(refused));
});

it.each([
  ['threads', { threads: 'own' } as const],
  ['transfer', { transfer: false }],
])('run refuses the option %s for a function, which runs in no thread of its own', async (name, options) => {
  for (const strategy of [strategyOf(1), getStrategy()])
    await expect(strategy.run(() => 1, options)).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'run' },
      message: `run: the option ${name} is for modules, but the code is a function, which runs in this thread: omit ${name}, or pass the URL of a module`,
    });
});
