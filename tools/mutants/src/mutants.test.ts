import { describe, expect, it } from 'vitest';
import { findListed, lineOf, short } from './listed.ts';
import { applied, draw, marked, mutantsOf, type Source } from './mutants.ts';

const source: Source = {
  name: 'sum.ts',
  content: `export function sum(a: number, b: number): number {
  if (a < 0) throw new RangeError('a must not be negative');
  return (a + b) * 2;
}
`,
};

describe('mutantsOf', () => {
  it('returns the changes of an expression with their text and position', async () => {
    const mutants = await mutantsOf([source]);
    expect(mutants.find(({ original }) => original === 'a + b')).toMatchObject({
      file: 'sum.ts',
      location: { start: { line: 2, column: 10 } },
      mutator: 'ArithmeticOperator',
      replacement: 'a - b',
    });
  });

  it('changes string literals, but not the texts of error messages', async () => {
    const content = `export const f = () => { throw new Error('must be a number'); };\nexport const g = 'code';\n`;
    const mutants = await mutantsOf([{ name: 'f.ts', content }]);
    const texts = mutants.filter(({ mutator }) => mutator === 'StringLiteral').map(({ original }) => original);
    expect(texts).toEqual([`'code'`]);
  });
});

describe('marked', () => {
  it('records an id at the place of each mutant in the source, and returns these ids', async () => {
    const mutants = (await mutantsOf([source])).filter(({ mutator }) => mutator === 'ArithmeticOperator');
    const { files, ids } = await marked([source], mutants);
    expect(ids).toHaveLength(mutants.length);
    for (const id of ids) expect(files[0]?.content).toMatch(new RegExp(`stryCov_9fa48\\([^)]*"${id}"`));
  });
});

describe('applied', () => {
  it('changes one position and keeps the order of evaluation', async () => {
    const [mutant] = (await mutantsOf([source])).filter(({ original }) => original === 'a + b');
    if (mutant === undefined) throw new Error('no mutant of a + b');
    expect(applied(mutant, source.content)).toBe(source.content.replace('(a + b)', '((a - b))'));
  });

  it('returns valid TypeScript for mutants of blocks, cases, objects and chains', async () => {
    const content = `export function f(kind: string, a: { b?: number[] } = { b: [1] }) {
  switch (kind) {
    case 'x':
      for (let i = 0; i < 3; i++) a.b?.push(i);
      for (;;) if (kind !== 'x') break;
      break;
    default:
      return a.b?.slice(1).map((n) => -n || { n, kind });
  }
  return kind === 'y' && a.b !== undefined ? /^a+$/.test(kind) : [];
}
`;
    const mutants = await mutantsOf([{ name: 'f.ts', content }]);
    for (const mutant of mutants) expect(applied(mutant, content)).not.toBe(content);
    expect(mutants.map(({ mutator }) => mutator)).toEqual(expect.arrayContaining(['Regex', 'OptionalChaining']));
  });

  it('refuses a change that makes the source unparsable', () => {
    const broken = {
      file: 'a.ts',
      location,
      start: 10,
      end: 11,
      mutator: 'BlockStatement',
      original: '1',
      replacement: ')',
    };
    expect(() => applied(broken, 'const a = 1;\n')).toThrow('a.ts: 1 cannot be replaced by )');
  });
});

const location = { start: { line: 0, column: 10 }, end: { line: 0, column: 11 } };

describe('draw', () => {
  const items = Array.from({ length: 1000 }, (_, index) => index);

  it('returns the same items in the same order for the same seed, and others for another seed', () => {
    const drawn = draw(items, 100, 1);
    expect(drawn).toHaveLength(100);
    expect(drawn).toEqual(draw(items, 100, 1));
    expect(drawn).toEqual(drawn.toSorted((a, b) => a - b));
    expect(drawn).not.toEqual(draw(items, 100, 2));
  });

  it('returns all items if there are fewer than requested', () => {
    expect(draw([3, 1, 2], 10, 1)).toEqual([3, 1, 2]);
  });
});

describe('findListed', () => {
  it('finds a mutant by its text after lines were inserted above it', async () => {
    const [mutant] = (await mutantsOf([source])).filter(({ original }) => original === 'a + b');
    if (mutant === undefined) throw new Error('no mutant of a + b');
    const entry = {
      file: mutant.file,
      line: lineOf(mutant, source.content),
      original: short(mutant.original),
      replacement: short(mutant.replacement),
      reason: 'an example',
    };
    const moved = { name: source.name, content: `// above\n\n${source.content}` };
    const found = (await mutantsOf([moved])).filter((each) => findListed([entry], each, moved.content) === entry);
    expect(found.map(({ replacement }) => replacement)).toEqual(['a - b']);
  });
});
