// Draws sentences of documents, comments, error messages and test titles, for readers who have not seen the code.
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
  comments of C++              of the native addons, each with the line below it
  comments of tools            and of the benchmarks, each with the line below it
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

/** The names of the files of the repository that fit the patterns. */
function filesOf(...patterns) {
  const { stdout } = spawnSync('git', ['ls-files', '--deduplicate', ...patterns], { cwd: root, encoding: 'utf8' });
  return stdout.split('\n').filter((name) => name !== '');
}

const textOfFile = (name) => readFileSync(path.join(root, name), 'utf8');

const isTest = (name) => /\.test(-d)?\.ts$|\/test\//.test(name);
const isProduct = (name) => /^(packages|native)\/[^/]+\/src\//.test(name) && !isTest(name);
const scripts = filesOf('packages', 'native', 'tools', 'examples').filter((name) => /(?<!\.d)\.ts$/.test(name));
const parsed = (names) =>
  names.map((name) => ts.createSourceFile(name, textOfFile(name), ts.ScriptTarget.Latest, true));

/** All nodes of a source, parents first. */
function* nodesOf(node) {
  yield node;
  const children = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesOf(child);
}

/** The text of a string, with embedded expressions in angle brackets; undefined for other expressions. */
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

/** The value of the constant with this name in the enclosing functions or the file. */
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

/** The comments on lines of their own, each with the line of code below it. */
function commentsIn(name) {
  const blocks = textOfFile(name).matchAll(/^[ \t]*(\/\*[\s\S]*?\*\/|\/\/.*(?:\n[ \t]*\/\/.*)*)\n(.*)/gm);
  return [...blocks].flatMap(({ 1: comment, 2: below, index }) => {
    const text = comment.replace(/^[ \t]*(\/\*\*?|\*\/|\*|\/\/+) ?|\s*\*\/$/gm, '').trim();
    if (!/\w+ \w+ \w+/.test(text) || /^(biome-ignore|@ts-|eslint-|#region|clang-format)/.test(text)) return [];
    const line = textOfFile(name).slice(0, index).split('\n').length;
    return [{ isDoc: comment.startsWith('/**'), text: `${text}\n-- ${below.trim()}`, where: `${name}:${line}` }];
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

/** The texts with the lowest lots. A lot is a number of the seed and the text. */
function draw(kind, found) {
  const lotOf = (text) => createHash('sha256').update(`${values.seed} ${kind} ${text}`).digest('hex');
  const lots = found.map((each) => ({ ...each, lot: lotOf(each.text) }));
  return lots.sort((one, other) => one.lot.localeCompare(other.lot)).slice(0, Number(values.count));
}

function print(kind, found) {
  console.log(`\n# ${kind}: ${values.count} of ${found.length}\n`);
  for (const [index, { text, where }] of draw(kind, found).entries()) {
    console.log(`${index + 1}. ${text.replace(/\n/g, '\n   ')}${values.where ? `\n   (${where})` : ''}`);
  }
}

/** The texts that `find` returns for nodes of these sources. */
function textsIn(names, find) {
  return parsed(names).flatMap((source) =>
    find(source)
      .filter(([, text]) => text)
      .map(([node, text]) => ({ text, where: `${source.fileName}:${lineOf(node, source)}` })),
  );
}

function lineOf(node, source) {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** The sentences of a page's paragraphs, lists and tables, without code, headings, short cells and figures. */
function sentencesIn(page) {
  const text = textOfFile(page)
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
const pages = filesOf('docs/*.md', '*README.md').filter((file) => !generated.includes(file));
const commentsOf = (names) => names.flatMap(commentsIn);
const cpp = filesOf('native').filter((name) => /\/cpp\/.*\.(cc|cpp|cu|h)$/.test(name));
const tools = filesOf('tools').filter((name) => /(?<!\.d)\.(ts|mjs|js|c|cc|h)$/.test(name));

print(
  'Sentences of the documents',
  pages.flatMap((page) => sentencesIn(page).map((text) => ({ text: text.trim(), where: page }))),
);
print(
  'Doc comments',
  commentsOf(scripts.filter(isProduct)).filter(({ isDoc }) => isDoc),
);
print('Comments of C++', commentsOf(cpp));
print('Comments of tools and benchmarks', commentsOf(tools));
print('Error messages', textsIn(scripts.filter(isProduct), messagesIn));
print('Test titles', textsIn(scripts.filter(isTest), titlesIn));
