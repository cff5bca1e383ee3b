import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { UsageError } from '../usage-error.js';
import { type PeerName, type ProgramName, programOf, programs } from './peers.js';

const sources = path.resolve(import.meta.dirname, '../../peers');
const build = path.resolve(import.meta.dirname, '../../build');

export function binaryOf(name: PeerName | 'bound'): string {
  return path.join(build, name === 'bound' ? name : programOf[name]);
}

/** @throws UsageError with the line that installs what is missing */
export function requireInstalled(peers: readonly PeerName[]): void {
  const missing = programsOf(peers).filter((name) => !isInstalled(name));
  if (missing.length === 0) return;
  const packages = missing.flatMap((name) => programs[name].packages).join(' ');
  throw new UsageError(
    `not installed: ${missing.join(', ')}; run: apt-get install --no-install-recommends ${packages} (or add --install-peers)`,
  );
}

/** Runs apt-get, which needs root. @throws UsageError where it fails */
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

/** Compiles the programs that are older than their sources. @throws Error with what the compiler says */
export function compilePeers(peers: readonly PeerName[]): void {
  for (const name of programsOf(peers)) compile(name);
}

/** Whether the memory bound can be measured: that takes a C compiler. Compiles its program. */
export function compileBound(): boolean {
  if (!isInstalled('bound')) return false;
  compile('bound');
  return true;
}

function compile(name: ProgramName): void {
  mkdirSync(build, { recursive: true });
  const program = programs[name];
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

/** Whether its compiler, its headers and its commands are there. */
export function isInstalled(name: ProgramName): boolean {
  const { needs, header, compile: command, source } = programs[name];
  if (!needs.every(isCommand)) return false;
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
