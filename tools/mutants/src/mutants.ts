import type { Location } from '@stryker-mutator/api/core';
import type { Logger } from '@stryker-mutator/api/logging';
import { type File, Instrumenter } from '@stryker-mutator/instrumenter';
import ts from 'typescript';

/** One change of one source file: the text from `start` to `end` becomes `replacement`. */
export interface Mutant {
  readonly file: string;
  /** Lines and columns from 0. */
  readonly location: Location;
  readonly start: number;
  readonly end: number;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
}

export interface Source {
  readonly name: string;
  readonly content: string;
}

/** All mutants of the sources, except mutants of message texts. */
export async function mutantsOf(sources: readonly Source[]): Promise<Mutant[]> {
  const { mutants } = await instrument(sources.map((source) => ({ ...source, mutate: true })));
  const contents = new Map(sources.map(({ name, content }) => [name, content]));
  return mutants
    .map(({ fileName, location, mutatorName, replacement }) => {
      const content = contents.get(fileName) ?? '';
      const start = offsetOf(content, location.start);
      const end = offsetOf(content, location.end);
      return {
        file: fileName,
        location,
        start,
        end,
        mutator: mutatorName,
        original: content.slice(start, end),
        replacement,
      };
    })
    .filter((mutant) => !isMessageText(mutant));
}

/**
 * The files of the mutants, with a call of `stryCov_9fa48(id, …)` at each place that a mutant would change.
 * @returns the files, and the ids of the mutants in their order
 */
export async function marked(sources: readonly Source[], mutants: readonly Mutant[]) {
  const files = sources
    .map((source) => ({
      ...source,
      mutate: mutants.filter(({ file }) => file === source.name).map(({ location }) => location),
    }))
    .filter(({ mutate }) => mutate.length > 0);
  const result = await instrument(files);
  const key = (file: string, { start, end }: Mutant['location'], mutator: string, replacement: string) =>
    JSON.stringify([file, start, end, mutator, replacement]);
  const ids = new Map(
    result.mutants.map((mutant) => [
      key(mutant.fileName, mutant.location, mutant.mutatorName, mutant.replacement),
      mutant.id,
    ]),
  );
  return {
    files: result.files,
    ids: mutants.map(({ file, location, mutator, replacement }) => ids.get(key(file, location, mutator, replacement))),
  };
}

const instrument = (files: readonly File[]) =>
  new Instrumenter(silent).instrument(files, { plugins: null, excludedMutations: [], ignorers: [] });

/** Texts with spaces are messages for people. Their wording is not mutated. */
const isMessageText = ({ mutator, original }: Mutant) => mutator === 'StringLiteral' && /\s/.test(original);

/** Draws `count` of the items by `seed`, in their order. Returns all items if there are fewer. */
export function draw<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = mulberry32(seed);
  return items
    .map((item, index) => ({ item, index, key: random() }))
    .sort((a, b) => a.key - b.key)
    .slice(0, count)
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), state | 1);
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @throws Error if the mutated source is not valid TypeScript, because every test would fail then */
export function applied(mutant: Mutant, content: string): string {
  // Blocks, cases and loops are not expressions. Expressions get parentheses, which preserve the order of evaluation.
  const isExpression = mutant.mutator !== 'BlockStatement' && !/^(case|default|for)\b/.test(mutant.replacement);
  const text = isExpression ? `(${mutant.replacement})` : mutant.replacement;
  const changed = content.slice(0, mutant.start) + text + content.slice(mutant.end);
  const { diagnostics = [] } = ts.transpileModule(changed, {
    reportDiagnostics: true,
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  });
  const [first] = diagnostics;
  if (first === undefined) return changed;
  const reason = ts.flattenDiagnosticMessageText(first.messageText, ' ');
  throw new Error(`${mutant.file}: ${mutant.original} cannot be replaced by ${mutant.replacement}: ${reason}`);
}

function offsetOf(content: string, { line, column }: Location['start']): number {
  let offset = 0;
  for (let passed = 0; passed < line; passed++) offset = content.indexOf('\n', offset) + 1;
  return offset + column;
}

const no = () => false;
const nothing = () => {};
const silent: Logger = {
  isTraceEnabled: no,
  isDebugEnabled: no,
  isInfoEnabled: no,
  isWarnEnabled: no,
  isErrorEnabled: no,
  isFatalEnabled: no,
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
};
