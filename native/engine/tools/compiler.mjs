// Which compiler and which CMake are here, and whether they will do.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { flagsOf, kernelsWithFlags } from './flags.mjs';

const oldestCMake = [3, 19];

// What the sources lean on and an old compiler or a half-installed one lacks.
const probe = `
#include <atomic>
#include <optional>
#include <string_view>
#include <thread>
static_assert(__cplusplus >= 201703L && std::atomic<int>::is_always_lock_free);
`;

/** A C++ compiler that takes all our flags, or the reason why there is none. */
export function findCompiler() {
  const names = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++'];
  const found = names.find((name) => answers(name, ['--version']));
  if (found === undefined) return { refused: `no C++ compiler was found (looked for ${names.join(', ')})` };
  return { command: found, version: firstLine(found, ['--version']) };
}

/** Why the compiler cannot build the sources, or undefined if it can. */
export function refusalOf(compiler) {
  const flags = [...flagsOf('everywhere'), ...flagsOf('kernels')];
  const args = [...flags, '-x', 'c++', '-fsyntax-only', '-'];
  const { status, stderr } = spawnSync(compiler.command, args, { input: probe, encoding: 'utf8' });
  if (status === 0) return undefined;
  return `${compiler.command} (${compiler.version}) cannot compile our C++17: ${stderr.trim().split('\n')[0]}`;
}

/** The files of cpp/kernels whose instructions this processor has, of those that have flags; all if that cannot be found out. */
export function runnableKernels(compiler) {
  if (kernelsWithFlags.length === 0) return [];
  const scratch = mkdtempSync(path.join(tmpdir(), 'coll-processor-'));
  try {
    const program = path.join(scratch, 'processor');
    spawnSync(compiler.command, [path.join(import.meta.dirname, 'processor.cc'), '-o', program]);
    const { status, stdout } = spawnSync(program, { encoding: 'utf8' });
    return status === 0 ? stdout.split('\n').filter((line) => line !== '') : kernelsWithFlags;
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** CMake with something it can drive, or undefined. */
export function findCMake() {
  const version = /cmake version (\d+)\.(\d+)/.exec(firstLine('cmake', ['--version']));
  if (version === null) return undefined;
  const [major, minor] = version.slice(1).map(Number);
  if (major < oldestCMake[0] || (major === oldestCMake[0] && minor < oldestCMake[1])) return undefined;
  if (answers('ninja', ['--version'])) return { generator: 'Ninja' };
  return answers('make', ['--version']) ? { generator: 'Unix Makefiles' } : undefined;
}

const answers = (command, args) => spawnSync(command, args).status === 0;
const firstLine = (command, args) => (spawnSync(command, args, { encoding: 'utf8' }).stdout ?? '').split('\n')[0];
