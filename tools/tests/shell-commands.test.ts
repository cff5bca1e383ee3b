import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { settingsFrom } from '../../examples/train/options.mjs';
import { parseArguments as parseColl } from '../../packages/cli/src/arguments.ts';
import { parseArguments as parseBench } from '../bench/src/arguments.ts';
import { markdownFiles } from '../docs/src/markdown-files.ts';
import { fencesOf } from './page-blocks.ts';
import { after, commandsIn } from './shell-commands.ts';

const root = path.resolve(import.meta.dirname, '../..');

interface Manifest {
  readonly name: string;
  readonly private?: true;
  readonly scripts?: Readonly<Record<string, string>>;
}
const manifests = ['.', 'examples', ...['packages', 'native', 'tools', 'examples'].flatMap(foldersIn)]
  .map((folder) => path.join(root, folder, 'package.json'))
  .filter((file) => existsSync(file))
  .map((file): Manifest => JSON.parse(readFileSync(file, 'utf8')));

function foldersIn(folder: string): readonly string[] {
  return readdirSync(path.join(root, folder)).map((name) => `${folder}/${name}`);
}

/** The fault of a command; undefined if it has none. */
function faultOf(words: readonly string[]): string | undefined {
  const [npm = '', ...rest] = words;
  if (npm === 'npm') return faultOfNpm(rest);
  const coll = after(words, 'npx', 'coll') ?? after(words, '--no-install', 'coll');
  if (coll) return faultOfColl(coll);
  const node = after(words, 'node');
  const file = node?.find((word) => !word.startsWith('-'));
  if (file) return faultOfFile(file);
  return undefined;
}

function faultOfNpm(args: readonly string[]): string | undefined {
  const options = args.indexOf('--');
  const [own, passed] = options < 0 ? [args, []] : [args.slice(0, options), args.slice(options + 1)];
  const workspace = after(own, '-w')?.[0] ?? after(own, '--workspace')?.[0];
  const [command, ...names] = own.filter((word) => !word.startsWith('-') && word !== workspace);
  if (command === 'i' || command === 'install') return faultOfPackages(names);
  const script = command === 'run' ? names[0] : command;
  if (script === undefined || !['run', 'start', 'test'].includes(command as string)) return undefined;
  const { scripts } = manifests.find(({ name }) => name === (workspace ?? 'coll')) ?? {};
  if (scripts?.[script] === undefined) return `there is no script ${script} of ${workspace ?? 'the repository'}`;
  if (workspace) return undefined;
  if (script === 'start') return thrownBy(() => settingsFrom(passed));
  if (script === 'bench') return thrownBy(() => parseBench(passed));
  return undefined;
}

/** Packages whose names begin with @coll must exist, and must not be private. */
function faultOfPackages(names: readonly string[]): string | undefined {
  const published = manifests.filter((manifest) => manifest.private !== true).map(({ name }) => name);
  const unknown = names.filter((name) => name.startsWith('@coll/') && !published.includes(name));
  return unknown.length > 0 ? `there is no package ${unknown.join(', ')}` : undefined;
}

function faultOfColl(args: readonly string[]): string | undefined {
  return thrownBy(() => {
    const request = parseColl(args);
    if (!('program' in request)) return;
    const fault = request.isCommand ? undefined : faultOfFile(request.program);
    if (fault) throw new Error(fault);
    if (request.program === 'examples/train/main.ts') settingsFrom(request.args);
  });
}

/** Files in folders of the repository must exist; a file without a folder is the reader's own. */
function faultOfFile(file: string): string | undefined {
  const isOurs = /^(docs|examples|native|packages|tools)\//.test(file) && !file.includes('/build/');
  // Examples also exist as compiled JavaScript.
  const found = [file, file.replace(/\.js$/, '.ts')].some((name) => existsSync(path.join(root, name)));
  return isOurs && !found ? `there is no ${file}` : undefined;
}

function thrownBy(run: () => unknown): string | undefined {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const print = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    run();
  } catch (error) {
    // --help and --version end a command with exit code 0.
    if ((error as { exitCode?: unknown }).exitCode !== 0) return String(error);
  } finally {
    write.mockRestore();
    print.mockRestore();
  }
  return undefined;
}

describe('commandsIn', () => {
  it('reads words without comments, assignments and redirections, and joins lines', () => {
    const lines = ['# all', "A=1 B='x y' npx coll run \\", '  -n 2 train.ts > out # two', 'npm test && node "a b.js"'];
    expect(commandsIn(lines).map(({ words }) => words)).toEqual([
      ['npx', 'coll', 'run', '-n', '2', 'train.ts'],
      ['npm', 'test'],
      ['node', '"a b.js"'],
    ]);
  });
});

describe('faults of commands', () => {
  it.each([
    ['npm run nothing', 'there is no script nothing of the repository'],
    ['npm run -w @coll/docs nothing', 'there is no script nothing of @coll/docs'],
    ['npm i @coll/nothing', 'there is no package @coll/nothing'],
    ['npm i @coll/bench', 'there is no package @coll/bench'],
    ['npm start -- --nothing', '--nothing'],
    ['npm run bench -- --nothing', '--nothing'],
    ['npx coll walk', 'unknown command'],
    ['npx coll run --nothing x.ts', '--nothing'],
    ['npx coll run examples/nothing.ts', 'there is no examples/nothing.ts'],
    ['node examples/nothing.mjs', 'there is no examples/nothing.mjs'],
  ])('%s', (line, fault) => {
    expect(faultOf(commandsIn([line])[0]?.words ?? [])).toContain(fault);
  });
});

const pages = markdownFiles().filter((file) => !/^\.changeset\/|^\.github\/|CHANGELOG/.test(file));

it('the shell blocks of all pages name scripts, commands, options, packages and files that exist', () => {
  const shown = pages.flatMap(fencesOf).filter(({ language }) => language === 'sh');
  const faults = shown.flatMap(({ file, line, lines }) =>
    commandsIn(lines).flatMap((command) => {
      const fault = faultOf(command.words);
      return fault ? [`${file}:${line + 2 + command.line}: ${fault}`] : [];
    }),
  );
  expect(faults).toEqual([]);
});

it('the commands in the text of all pages name scripts, commands, options, packages and files that exist', () => {
  const faults = pages.flatMap((file) =>
    readFileSync(path.join(root, file), 'utf8')
      .split('\n')
      .flatMap((text, index) => {
        const commands = [...text.matchAll(/`((?:npm|npx|node) [^`…]+)`/g)].map(([, command = '']) => command);
        return commands
          .flatMap((command) => commandsIn([command]))
          .map(({ words }) => faultOf(words))
          .filter((fault) => fault !== undefined)
          .map((fault) => `${file}:${index + 1}: ${fault}`);
      }),
  );
  expect(faults).toEqual([]);
});
