import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { ourEntryPoints, readReference } from './reference.ts';

describe('the reference', () => {
  it('reports exports, methods and options without a comment, and broken links', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const fixtures = path.join(import.meta.dirname, 'fixtures');
    const entryPoints = [
      { name: '@coll/fixture', source: path.join(fixtures, 'silent.ts') },
      { name: '@coll/fixture/documented', source: path.join(fixtures, 'documented.ts'), description: 'A fixture' },
    ];
    const { faults } = await readReference(entryPoints, path.join(fixtures, 'tsconfig.fixtures.json'));
    const silent = [
      'SilentOptions',
      'SilentOptions.silent',
      'Place.mute',
      'Parent.quiet',
      'Child.quiet',
      'answer',
      'Alias',
      'act',
    ];
    expect(faults.toSorted()).toEqual(
      [
        ...silent.map((name) => `@coll/fixture.${name} has no docstring`),
        '@coll/fixture has no description',
        'TypeDoc complains, see above',
      ].sort(),
    );
    expect(warn.mock.calls.flat().join('\n')).toContain('Nowhere');
  });

  it('has one entry for each import path that is meant for users', () => {
    const names = ourEntryPoints().map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        '@coll/core',
        '@coll/core/plugin',
        '@coll/core/schedule',
        '@coll/strategy',
        '@coll/native',
      ]),
    );
    expect(new Set(names).size).toBe(names.length);
    expect(names.filter((name) => /[/](internal|internal-node|register)$/.test(name))).toEqual([]);
  });
});
