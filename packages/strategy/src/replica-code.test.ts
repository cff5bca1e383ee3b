import { expect, it } from 'vitest';
import { requireModule } from './replica-code.js';

it.each(['./replica.js', undefined, {}])('requireReplicaCode refuses %j and names the operation', (code) => {
  const refused = { name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'run' };
  expect(() => requireModule(code)).toThrow(expect.objectContaining(refused));
});
