import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../usage-error.js';
import {
  type CompiledProgram,
  type PeerName,
  type Program,
  type ProgramName,
  programOf,
  programs,
  type Script,
} from './peers.js';

const sources = path.resolve(import.meta.dirname, '../../peers');
const build = path.resolve(import.meta.dirname, '../../build');

/** The first words of the command line of a peer's program. Its arguments follow. */
export function programLine(peer: PeerName | 'bound'): string[] {
  const name = peer === 'bound' ? peer : programOf[peer];
  const program = programs[name];
  if (isCompiled(program)) return [path.join(build, name)];
  return [interpreterOf(program) ?? (program.interpreters[0] as string), path.join(sources, program.source)];
}

/** Why a peer cannot be measured on this machine, with the command that installs it; undefined if it can. */
export function whyMissing(peer: PeerName): string | undefined {
  const name = programOf[peer];
  if (isInstalled(name)) return undefined;
  const packages = programs[name].packages.join(' ');
  return `not installed; run: apt-get install --no-install-recommends ${packages} (or add --install-peers)`;
}

/** Installs peers with apt-get, which needs root. @throws UsageError if apt-get fails */
export function install(peers: readonly PeerName[]): void {
  const packages = programsOf(peers)
    .filter((name) => !isInstalled(name))
    .flatMap((name) => programs[name].packages);
  if (packages.length === 0) return;
  const lines = [['update'], ['install', '--yes', '--no-install-recommends', ...packages]];
  for (const line of lines) {
    // Its output goes to stderr, because stdout belongs to the figures.
    const { status } = spawnSync('apt-get', line, { stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new UsageError(`apt-get ${line.join(' ')} failed; it needs Debian or Ubuntu, and root`);
  }
}

/** Compiles programs that are older than their sources. @throws Error with the compiler's output */
export function compilePeers(peers: readonly PeerName[]): void {
  for (const name of programsOf(peers)) compile(name);
}

/** Compiles the program of the memory bound. @returns false if there is no C compiler */
export function compileBound(): boolean {
  if (!isInstalled('bound')) return false;
  compile('bound');
  return true;
}

function compile(name: ProgramName): void {
  mkdirSync(build, { recursive: true });
  const program = programs[name];
  if (!isCompiled(program)) return;
  const source = path.join(sources, program.source);
  const binary = path.join(build, name);
  if (isNewer(binary, [source, path.join(sources, 'trial.h')])) return;
  const [compiler, ...flags] = program.compile as [string, ...string[]];
  const line = [...flags, source, '-o', binary, ...program.link];
  const { status, stderr } = spawnSync(compiler, line, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${compiler} ${line.join(' ')} failed:\n${stderr}`);
}

function programsOf(peers: readonly PeerName[]): ProgramName[] {
  return [...new Set(peers.map((peer) => programOf[peer]))];
}

/**
 * Whether the commands of a program are installed, and also its compiler and headers, or its interpreter
 * and modules.
 */
export function isInstalled(name: ProgramName): boolean {
  const program = programs[name];
  if (!program.needs.every(isCommand)) return false;
  return isCompiled(program) ? canCompile(program) : interpreterOf(program) !== undefined;
}

function isCompiled(program: Program): program is CompiledProgram {
  return 'compile' in program;
}

function interpreterOf({ interpreters, modules }: Script): string | undefined {
  const line = ['-c', `import ${modules.join(', ')}`];
  return interpreters.find((interpreter) => spawnSync(interpreter, line, { stdio: 'ignore' }).status === 0);
}

function canCompile({ header, compile: command, source }: CompiledProgram): boolean {
  const [compiler, ...flags] = command as [string, ...string[]];
  const language = source.endsWith('.c') ? 'c' : 'c++';
  const line = [...flags, '-x', language, '-fsyntax-only', '-include', header, '/dev/null'];
  return spawnSync(compiler, line, { stdio: 'ignore' }).status === 0;
}

function isCommand(command: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter);
  return folders.some((folder) => existsSync(path.join(folder, command)));
}

function isNewer(file: string, than: readonly string[]): boolean {
  if (!existsSync(file)) return false;
  return than.every((other) => statSync(other).mtimeMs < statSync(file).mtimeMs);
}
