import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { diagnose } from './diagnose.ts';
import { type Face, namesOfTable, readFace, textsForUsers } from './faces.ts';
import { UserProject } from './user-project.ts';

describe('the entry points of @coll/core', () => {
  let project: UserProject;
  const faces = new Map<string, Face>();
  const faceOf = (entry: string) => faces.get(entry) as Face;
  beforeAll(() => {
    project = new UserProject(['core']);
    for (const [entry, file] of [
      ['@coll/core', 'index'],
      ['@coll/core/plugin', 'plugin'],
    ] as const) {
      const declarations = path.join(project.folder, 'node_modules/@coll/core/types', `${file}.d.ts`);
      faces.set(entry, readFace(declarations, entry));
    }
    return () => project.remove();
  });

  it.each([
    ['@coll/core', 70],
    ['@coll/core/plugin', 60],
  ])('%s exports at most %d classes, functions and constants', (entry, most) => {
    const texts = [...textsForUsers().values()].join('\n');
    const isElsewhere = (name: string) => new RegExp(`\\b${name}\\b`).test(texts);
    const table = new Set(namesOfTable().filter((name) => !isElsewhere(name)));
    const counted = faceOf(entry).values.filter((name) => !table.has(name));
    expect(counted.length, counted.join(' ')).toBeLessThanOrEqual(most);
  });

  it.each(['@coll/core', '@coll/core/plugin'])('%s exports every type that its exported values use', (entry) => {
    const file = project.write('signatures.ts', faceOf(entry).consumer);
    expect(
      diagnose(file, { types: ['node'], declaration: true, lib: ['lib.es2024.d.ts', 'lib.esnext.disposable.d.ts'] }),
    ).toEqual([]);
  });

  it('do not export the same value twice', () => {
    const both = faceOf('@coll/core').values.filter((name) => faceOf('@coll/core/plugin').values.includes(name));
    expect(both).toEqual([]);
  });

  it('export every name of the TensorFlow table from @coll/core', () => {
    const { values, types } = faceOf('@coll/core');
    expect(namesOfTable().filter((name) => ![...values, ...types].includes(name))).toEqual([]);
  });

  it('suffice for guides, READMEs and examples, without the internal entries', () => {
    const inside = [...textsForUsers()].filter(([, text]) => /from '@coll\/[\w-]+\/internal(-node)?'/.test(text));
    expect(inside.map(([file]) => file)).toEqual([]);
  });
});
