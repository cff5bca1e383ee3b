import { readFileSync } from 'node:fs';
import path from 'node:path';
import { openMembers } from '@coll/core';
import { directAlgorithm } from '@coll/direct';
import * as strategy from '@coll/strategy';
import { expect, it } from 'vitest';

const reference = path.resolve(import.meta.dirname, '../../docs/reference');
const [member] = openMembers({ size: 1, algorithm: directAlgorithm() });
const replica = strategy.getReplicaContext();

it.each(['pytorch-names.md', 'jax-names.md'])('%s names methods that exist', (name) => {
  const page = readFileSync(path.join(reference, name), 'utf8');
  const calls = [...page.matchAll(/\b(group|context)\.(\w+)/g)];
  expect(calls.length).toBeGreaterThan(0);
  const owners = { group: member, context: replica } as unknown as Record<string, object>;
  expect(calls.filter(([, owner = '', property = '']) => !(property in (owners[owner] as object)))).toEqual([]);
  const classes = [...page.matchAll(/\bnew (\w+Strategy)\(/g)].map(([, found = '']) => found);
  expect(classes.filter((found) => !(found in strategy))).toEqual([]);
});
