// Draws sentences of the documents, doc comments, error messages and test titles for readers who have not seen the code.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import ts from 'typescript';

const usage = `Usage: npm run -s prose -- [options]

Draws at random, for readers who judge the language:
  sentences of the documents   docs/**/*.md and README files, without code, generated pages and tables of figures
  doc comments                 of the packages, each with the first line of its declaration
  error messages               of the packages
  test titles                  with the titles of the groups around them

  --seed SEED     the seed (1); the same seed draws the same texts
  --count COUNT   how many texts of each kind (60)
  --where         print the file of each text
  --help          print this text
`;

const root = path.resolve(import.meta.dirname, '../..');
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    count: { type: 'string', default: '60' },
    where: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  process.stdout.write(usage);
  process.exit(0);
}

const { stdout } = spawnSync('git', ['ls-files', '--deduplicate', 'packages', 'native', 'tools', 'examples'], {
  cwd: root,
  encoding: 'utf8',
});
const sources = stdout
  .split('\n')
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
  .map((name) => ts.createSourceFile(name, readFileSync(path.join(root, name), 'utf8'), ts.ScriptTarget.Latest, true));
const isTest = ({ fileName }) => /\.test(-d)?\.ts$|\/test\//.test(fileName);
const isProduct = (source) => /^(packages|native)\/[^/]+\/src\//.test(source.fileName) && !isTest(source);

/** All nodes of a source, parents first. */
function* nodesOf(node) {
  yield node;
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

/** A text as it is written, with the expressions in it in angle brackets; undefined for other expressions. */
function textOf(node, source) {
  if (!node) return undefined;
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    const spans = node.templateSpans.map(({ expression, literal }) => {
      return `<${textOf(constantOf(expression), source) ?? expression.getText(source)}>${literal.text}`;
    });
    return node.head.text + spans.join('');
  }
  if (ts.isIdentifier(node)) return textOf(constantOf(node), source);
  if (ts.isBinaryExpression(node)) {
    const parts = [node.left, node.right].map((part) => textOf(part, source) ?? `<${part.getText(source)}>`);
    return node.operatorToken.kind === ts.SyntaxKind.PlusToken ? parts.join('') : undefined;
  }
  return undefined;
}

/** What a name stands for: the constant of that name in the functions around it. */
function constantOf(node) {
  if (!ts.isIdentifier(node)) return node;
  for (let scope = node.parent; scope; scope = scope.parent) {
    if (!ts.isBlock(scope) && !ts.isSourceFile(scope)) continue;
    for (const statement of scope.statements) {
      if (!ts.isVariableStatement(statement)) continue;
      const found = statement.declarationList.declarations.find(({ name }) => name.getText() === node.text);
      if (found?.initializer) return found.initializer;
    }
  }
  return undefined;
}

function commentsIn(source) {
  const found = [...nodesOf(source)].flatMap((node) => ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc));
  return [...new Set(found)].map((comment) => {
    const text = comment
      .getText(source)
      .replace(/^\s*\* ?/gm, '')
      .replace(/^\/\*\*\s*|\s*\*?\/$/g, '')
      .trim();
    const [declaration] = comment.parent.getText(source).split('\n');
    return [comment, `${text}\n-- ${declaration}`];
  });
}

function messagesIn(source) {
  const made = [...nodesOf(source)].filter(
    (node) => ts.isNewExpression(node) && /Error$/.test(node.expression.getText(source)),
  );
  return made.map((node) => {
    const message = node.arguments?.find((each) => !/^['"]ERR_/.test(each.getText(source)));
    return [node, textOf(message, source)];
  });
}

function titlesIn(source) {
  const titled = (node) => {
    if (!ts.isCallExpression(node)) return undefined;
    const callee = node.expression.getText(source);
    const [, name] = /^(it|test|describe)\b/.exec(callee) ?? [];
    return name && node.arguments.length > 1 ? [name, textOf(node.arguments[0], source)] : undefined;
  };
  return [...nodesOf(source)].flatMap((node) => {
    const [name, title] = titled(node) ?? [];
    if (!title || name === 'describe') return [];
    const around = [];
    for (let parent = node.parent; parent; parent = parent.parent) {
      const [kind, outer] = titled(parent) ?? [];
      if (kind === 'describe' && outer) around.unshift(outer);
    }
    return [[node, [...around, title].join(' > ')]];
  });
}

/** Those with the lowest lots, each of which is a number of the seed and the text. */
function draw(kind, found) {
  const lotOf = (text) => createHash('sha256').update(`${values.seed} ${kind} ${text}`).digest('hex');
  const lots = found.map((each) => ({ ...each, lot: lotOf(each.text) }));
  return lots.sort((one, other) => one.lot.localeCompare(other.lot)).slice(0, Number(values.count));
}

function print(kind, from, find) {
  const found = from.flatMap((source) =>
    find(source)
      .filter(([, text]) => text)
      .map(([node, text]) => ({ text, where: `${source.fileName}:${lineOf(node, source)}` })),
  );
  printDrawn(kind, found);
}

function printDrawn(kind, found) {
  console.log(`\n# ${kind}: ${values.count} of ${found.length}\n`);
  for (const [index, { text, where }] of draw(kind, found).entries()) {
    console.log(`${index + 1}. ${text.replace(/\n/g, '\n   ')}${values.where ? `\n   (${where})` : ''}`);
  }
}

function lineOf(node, source) {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** The sentences of paragraphs, lists and tables of a page: no code, no headings, and no cells of a few words or figures. */
function sentencesIn(page) {
  const text = readFileSync(path.join(root, page), 'utf8')
    .replaceAll(/<!-- (made|file): [\s\S]*?<!-- (\/made|end) -->|<!-- figures -->[\s\S]*?<!-- \/figures -->/g, '')
    .replaceAll(/^( *)(```|~~~)[\s\S]*?^\1\2 *$/gm, '')
    .replaceAll(/<!--[\s\S]*?-->|^#.*$/gm, '');
  const blocks = text.split(/\n\s*\n|\n(?=\s*(?:[-*|]|\d+\.) ?)/);
  const parts = blocks.flatMap((block) => {
    const line = block.replaceAll(/\s+/g, ' ').trim();
    if (!line.startsWith('|')) return [line.replace(/^([-*]|\d+\.) /, '')];
    return line.split(/(?<!\\)\|/).filter((cell) => cell.trim().split(' ').length >= 8);
  });
  return parts
    .flatMap((part) => part.split(/(?<=[.!?]) (?=[A-Z`*[])/))
    .filter((sentence) => /\w+ \w+ \w+/.test(sentence));
}

/** Programs write these from docstrings. */
const generated = ['docs/reference/options.md'];

function pages() {
  const files = spawnSync('git', ['ls-files', '--deduplicate', 'docs/*.md', '*README.md'], {
    cwd: root,
    encoding: 'utf8',
  }).stdout.split('\n');
  return files.filter((file) => file !== '' && !generated.includes(file));
}

printDrawn(
  'Sentences of the documents',
  pages().flatMap((page) => sentencesIn(page).map((text) => ({ text: text.trim(), where: page }))),
);
print('Doc comments', sources.filter(isProduct), commentsIn);
print('Error messages', sources.filter(isProduct), messagesIn);
print('Test titles', sources.filter(isTest), titlesIn);
