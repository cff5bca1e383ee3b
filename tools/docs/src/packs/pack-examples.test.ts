import { expect, it } from 'vitest';
import { packsTable } from './pack-examples.ts';

it('pack examples show packs in the order in which they start, with the ranges of split tensors', () => {
  const lines = packsTable().split('\n');
  expect(lines).toContain('| nothing said: `numPacks: 1` | (a b c d e) |');
  expect(lines).toContain('| `numPacks: 3` | (a[0…12]), then (a[13…14] b c[0…0]), then (c[1…1] d e) |');
  expect(lines).toContain('| `bytesPerPack: 60` | (e d c b), then (a) |');
});
