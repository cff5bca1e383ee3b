import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BadUsage, createProject } from './create-project.js';
import { type Kind, kinds } from './kinds.js';

const badUsage = 2;
const names = Object.keys(kinds);
const list = Object.entries(kinds).map(([name, { title }]) => `  ${name.padEnd(10)}  ${title}\n`);
const usage = `Usage: npm create coll FOLDER -- --kind KIND

Writes a project into a new folder. In a terminal, it asks for what is missing.

Kinds:
${list.join('')}`;

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BadUsage)) throw error;
  process.stderr.write(`create-coll: ${error.message}\n`);
  process.exitCode = badUsage;
}

async function main(args: readonly string[]): Promise<void> {
  const { kind: givenKind, folder: givenFolder, help } = read(args);
  if (help) {
    process.stdout.write(usage);
    return;
  }
  if (givenKind !== undefined) kindOf(givenKind);
  const name = givenKind ?? (await ask(`Kinds:\n${list.join('')}Kind`, 'tfjs', '--kind must be given'));
  const kind = kindOf(name);
  const folder = givenFolder ?? (await ask('Folder', `coll-${name}`, 'a folder must be given'));
  const { version, homepage } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
    version: string;
    homepage: string;
  };
  const templates = fileURLToPath(new URL(`./templates/${name}`, import.meta.url));
  createProject({ kind, folder, templates, version, home: homepage.replace(/\/tree\/main\/.*$/, '') });
  const manager = /^\w+/.exec(process.env['npm_config_user_agent'] ?? '')?.[0] ?? 'npm';
  process.stdout.write(`${folder} has ${kind.title}. Next:

  cd ${path.relative('.', folder)}
  ${manager} install
  ${manager} ${manager === 'npm' ? '' : 'run '}start
`);
}

function read(args: readonly string[]) {
  try {
    const options = { kind: { type: 'string' }, help: { type: 'boolean', short: 'h' } } as const;
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    if (positionals.length > 1) throw new BadUsage(`one folder must be given, got ${positionals.join(', ')}`);
    return { ...values, folder: positionals[0] };
  } catch (error) {
    if (error instanceof BadUsage) throw error;
    throw new BadUsage(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}

function kindOf(name: string): Kind {
  const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
  if (kind === undefined) throw new BadUsage(`--kind must be one of ${names.join(', ')}, got ${JSON.stringify(name)}`);
  return kind;
}

/** Asks in a terminal. An empty answer is the default. */
async function ask(question: string, fallback: string, missing: string): Promise<string> {
  if (!process.stdin.isTTY) throw new BadUsage(`${missing}\n\n${usage}`);
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await lines.question(`${question} (${fallback}): `);
  lines.close();
  return answer.trim() || fallback;
}
