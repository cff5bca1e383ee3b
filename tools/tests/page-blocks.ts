import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type CodeBlock, lackedBy, printedBy } from './code-blocks.ts';

const root = path.resolve(import.meta.dirname, '../..');

/** A fenced block of a page. */
export interface Fence {
  readonly file: string;
  /** The line of the fence, from 0. */
  readonly line: number;
  readonly language: string;
  readonly lines: readonly string[];
  /** Whether the block embeds a file of the repository, which has its own tests. */
  readonly embedded: boolean;
  /** The comments before the block, such as `not run`, with the text after the colon. */
  readonly marks: ReadonlyMap<string, Mark>;
}

interface Mark {
  readonly line: number;
  readonly text: string;
}

const known = ['given', 'beside', 'not run', 'continues', 'prints'];
const markBegin = /^\s*<!-- ([a-z ]+?)(?:: ?(.*?))?(?: ?-->)?$/;

/** All fenced blocks of a page. */
export function fencesOf(file: string): readonly Fence[] {
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n');
  const fences: Fence[] = [];
  let marks = new Map<string, Mark>();
  let embedded = false;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string;
    const [, indent, language] = /^(\s*)(?:```|~~~)(\w*)/.exec(line) ?? [];
    if (language !== undefined) {
      const end = lines.findIndex((other, index) => index > at && /^\s*(```|~~~)$/.test(other));
      if (end < 0) throw new Error(`${file}:${at + 1} has no end`);
      const inside = lines.slice(at + 1, end).map((each) => each.slice((indent as string).length));
      fences.push({ file, line: at, language, lines: inside, embedded, marks });
      marks = new Map();
      at = end;
      continue;
    }
    if (/^<!-- (file|diff): /.test(line)) embedded = true;
    if (line === '<!-- end -->') embedded = false;
    const [, name = '', text = ''] = markBegin.exec(line) ?? [];
    if (known.includes(name)) {
      const end = lines.findIndex((other, index) => index >= at && other.endsWith('-->'));
      const rest = lines.slice(at + 1, end + 1).map((each) => each.replace(/ ?-->$/, ''));
      marks.set(name, { line: at, text: [text, ...rest].join('\n') });
      at = end;
    } else if (line.trim() !== '') {
      if (marks.size > 0)
        throw new Error(`${file}:${at + 1}: <!-- ${[...marks.keys()]} --> must stand before a code block`);
    }
  }
  return fences;
}

/**
 * The programs of a page. A fragment has a comment before it:
 * `<!-- given: CODE -->` holds what stands before it in the program, and the program is not run if this code declares anything;
 * `<!-- continues -->` appends it to the program of the block before it;
 * `<!-- beside: FOLDER -->` names the folder of the repository that its relative imports are taken from;
 * `<!-- not run: REASON -->` says why it is only compiled.
 * A block of text with `<!-- prints -->` is the output of the program before it.
 */
export function pageBlocks(file: string): readonly CodeBlock[] {
  const blocks: (CodeBlock & { readonly lines: string[] })[] = [];
  for (const fence of fencesOf(file)) {
    if (fence.embedded) continue;
    const last = blocks.at(-1);
    if (fence.marks.has('prints')) {
      if (!last) throw new Error(`${file}:${fence.line + 1}: no program prints this`);
      blocks[blocks.length - 1] = { ...last, prints: fence.lines };
    } else if (fence.language === 'diff') {
      for (const sign of ['-', '+']) blocks.push(programOf(fence, sideOf(fence.lines, sign)));
    } else if (['ts', 'js'].includes(fence.language)) {
      const before = fence.marks.has('continues') ? blocks.pop() : undefined;
      blocks.push(programOf(fence, fence.lines, before));
    }
  }
  return blocks;
}

/** One side of a diff, with an empty line for each line of the other side. */
function sideOf(lines: readonly string[], sign: string): readonly string[] {
  return lines.map((line) => (line.startsWith(sign) || line.startsWith(' ') ? line.slice(1) : ''));
}

function programOf(fence: Fence, shown: readonly string[], before?: CodeBlock & { readonly lines: string[] }) {
  const { file, line, marks, language } = fence;
  const lines = [...(before?.lines ?? [])];
  const put = (at: number, code: readonly string[]) => {
    while (lines.length < at) lines.push('');
    lines.splice(at, code.length, ...code);
  };
  const given = marks.get('given');
  if (given) put(given.line, given.text.split('\n'));
  put(line + 1, shown);
  const code = lines.join('\n');
  const printed = printedBy(code);
  const declares = /^ *declare /m.test(given?.text ?? '') ? 'what it declares' : undefined;
  return {
    ...{ file, lines, code, untyped: language === 'js' },
    place: before?.place ?? `${file}:${line + 1}`,
    beside: marks.get('beside')?.text ?? before?.beside,
    prints: printed.length > 0 ? printed : undefined,
    lacks: marks.get('not run')?.text ?? declares ?? before?.lacks ?? lackedBy(code),
  };
}
