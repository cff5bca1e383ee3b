// Lines of the product that are neither blank nor comments, at commits: `npm run -s lines -- cc725c9 HEAD`.
// Counted are the TypeScript sources of packages and the C++ of the native ones, without tests, doubles, @coll/testing and the player
// that goes transfer by transfer, which is a reference for tests.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '../..');
const languages = {
  TypeScript: {
    files: /^(packages|native)\/[^/]+\/src\/.*\.ts$/,
    except: /(\.test|\.test-d)\.ts$|^packages\/testing\/|^packages\/core\/src\/(testing|portable)\//,
    linesOf: linesOfTypeScript,
  },
  'C++': { files: /^native\/[^/]+\/cpp\/.*\.(cc|cpp|cu|h)$/, except: /\/(test|doubles)\//, linesOf: linesOfCpp },
};

/** @returns the numbers of the lines that hold a token */
function linesOfTypeScript(text, name) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const lines = new Set();
  const visit = (node) => {
    if (ts.isJSDoc(node)) return;
    const children = node.getChildren(source);
    if (children.length > 0) return children.forEach(visit);
    const { line: first } = source.getLineAndCharacterOfPosition(node.getStart(source));
    const { line: last } = source.getLineAndCharacterOfPosition(node.getEnd());
    if (node.getEnd() > node.getStart(source)) for (let line = first; line <= last; line++) lines.add(line);
  };
  visit(source);
  return lines;
}

/** The same for C++. Text in quotes is no comment, whatever it holds. */
function linesOfCpp(text) {
  const quoted = /R"([^(\s]*)\([\s\S]*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'/;
  const comment = /\/\/[^\n]*|\/\*[\s\S]*?\*\//;
  const code = text.replace(new RegExp(`(${quoted.source})|${comment.source}`, 'g'), (found, inQuotes) =>
    inQuotes === undefined ? found.replace(/[^\n]/g, ' ') : found,
  );
  const lines = code.split('\n');
  return new Set([...lines.keys()].filter((line) => /\S/.test(lines[line])));
}

function git(args, input) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, input, maxBuffer: 2 ** 30 });
  if (status === 0) return stdout;
  console.error(stderr.toString().trim());
  process.exit(1);
}

/** The texts of files of a commit, in their order. */
function textsOf(commit, names) {
  const batch = git(['cat-file', '--batch'], names.map((name) => `${commit}:${name}\n`).join(''));
  let at = 0;
  return names.map(() => {
    const head = batch.indexOf('\n', at);
    const size = Number(batch.subarray(at, head).toString().split(' ')[2]);
    at = head + 1 + size + 1;
    return batch.subarray(head + 1, head + 1 + size).toString();
  });
}

const commits = process.argv.length > 2 ? process.argv.slice(2) : ['cc725c9', 'HEAD'];
const rows = commits.map((commit) => {
  const all = git(['ls-tree', '-r', '--name-only', commit]).toString().split('\n');
  const counts = Object.entries(languages).map(([language, { files, except, linesOf }]) => {
    const names = all.filter((name) => files.test(name) && !except.test(name));
    const texts = textsOf(commit, names);
    return [language, names.reduce((sum, name, index) => sum + linesOf(texts[index], name).size, 0)];
  });
  return { commit, ...Object.fromEntries(counts), together: counts.reduce((sum, [, lines]) => sum + lines, 0) };
});
console.table(rows);
